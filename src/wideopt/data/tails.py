"""Which outputs keep their tails: where a smooth function explains them, they count.

Far values are compressed lest one wild one should spoil a scale (`data.robust`). But a
parabola that is searched near its minimum has far values, too, and compressed they are
no parabola any more. For each output a judge compares both (as in `data.warp`).
"""

from __future__ import annotations

from dataclasses import replace

import torch

from wideopt.data.dataset import Dataset
from wideopt.data.robust import log_slope
from wideopt.data.warp import Judge

__all__ = ["whole_columns"]

_N_MIN = 8  # of fewer values there is nothing to learn


def whole_columns(data: Dataset, judge: Judge) -> tuple[int, ...]:
    """The columns of Z that are more likely without compression."""
    n_columns = 1 + len(data.known_constraints)
    whole = replace(data, whole=tuple(range(n_columns))).Z
    squeezed = replace(data, whole=()).Z
    found = []
    for i in range(n_columns):
        is_known = ~whole[:, i].isnan()
        z, s = whole[is_known, i], squeezed[is_known, i]
        if len(z) < _N_MIN or torch.equal(z, s) or not bool(z.isfinite().all()):
            continue
        likely, other = judge(data.X[is_known], torch.stack([z, s]))
        if likely > other + log_slope(z, is_objective=i == 0):
            found.append(i)
    return tuple(found)
