"""Longer steps along a slope.

Next to a slope, expected improvement is largest a little beyond the best point, and
again after the next evaluation: a run creeps. As in a line search, a step that goes on
as the last one went may be longer, as long as it may still improve.

Notation: b the last point, which is the best; a the best before it; μ, σ posterior mean
and deviation, y⁺ the incumbent.
"""

from __future__ import annotations

from typing import Any

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset

__all__ = ["lengthened"]

_GROWTH = 2.0  # how many times as long as the last step one may be
_COSINE = 0.98  # of the angle between the two
_DEVIATIONS = 2.0  # by which an improvement may be hoped for
_N_TRIED = 33


def lengthened(
    point: Float[Tensor, " d"], model: Model, data: Dataset, best: float
) -> Float[Tensor, " d"]:
    """The point, or one farther on, up to b + 2 (b - a), with μ - 2σ < y⁺ on the way.

    Steps are cut off at the faces of the cube; the model has one output. Beside points
    that are under way, and among discrete ones, a step stays as it is: it might end on
    one of them.
    """
    y = data.Y[:, 0].nan_to_num(nan=torch.inf)
    is_free = data.space.is_continuous and data.X_pending.shape[0] == 0
    if not is_free or data.n < 3 or int(y.argmin()) != data.n - 1:
        return point
    last, step = data.X[-1] - data.X[y[:-1].argmin()], point - data.X[-1]
    lengths = float(last.norm()), float(step.norm())
    if min(lengths) == 0.0 or float(last @ step) < _COSINE * lengths[0] * lengths[1]:
        return point
    reach = _GROWTH * lengths[0] / lengths[1]
    if reach <= 1.0:
        return point
    t = torch.linspace(1.0, reach, _N_TRIED, dtype=point.dtype, device=point.device)
    X = (data.X[-1] + t.unsqueeze(1) * step).clamp(0.0, 1.0)
    with torch.no_grad():
        posterior: Any = model.posterior(X.unsqueeze(-2))
        least = posterior.mean - _DEVIATIONS * posterior.variance.sqrt()
    n_hopeful = int((least.flatten() < best).long().cumprod(dim=0).sum())
    farthest = X[max(n_hopeful - 1, 0)]
    is_known = bool((farthest == data.X).all(dim=1).any())
    return point if is_known else farthest
