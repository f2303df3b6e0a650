"""A step that changes no more than it must.

Where a model is nearly linear, the best point of a box is one of its corners: every
parameter moves as far as it may, those that hardly matter as well, and what the model
gets wrong about them adds up. So a step keeps the changes that promise most, one after
the other, until they make up a share of what all of them promise together.
"""

from __future__ import annotations

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from wideopt.search.maximize import score
from wideopt.space import Space

__all__ = ["sparing"]


def sparing(
    acqf: AcquisitionFunction,
    space: Space,
    center: Float[Tensor, " d"],
    point: Float[Tensor, " d"],
    share: float,
) -> Float[Tensor, " d"]:
    """The center with the fewest parameters of the point that reach the share.

    The point itself where it does not promise more than the center.
    """
    before, after = score(acqf, torch.stack([center, point])).tolist()
    if not after > before:
        return point
    enough = before + share * (after - before)
    found = center.clone()
    left = [s for s in space.slices if not torch.equal(center[s], point[s])]
    while left:
        tries = found.repeat(len(left), 1)
        for row, s in zip(tries, left, strict=True):
            row[s] = point[s]
        values = score(acqf, tries)
        best = int(values.argmax())
        found = tries[best]
        left.pop(best)
        if float(values[best]) >= enough:
            break
    return found
