"""Where a search stays in one place amid noise: look at the space evenly.

With noise, the value of a point that has been evaluated k times is uncertain by 1/√k,
and improvement there falls no faster, while in the next valley, of which a model is
sure that it is worse, improvement is as small as the tail of a normal distribution: a
model that is wrong about it never finds out. And the many points in one valley make a
model of that valley rather than of the space.

The outlook is the posterior of a smooth network that is given one of the points that
are close to each other. What it cannot follow, such as ripples, it takes for noise, so
it knows where the trend leads. Points are chosen by joint draws from it (Thompson
sampling): improvement would choose next to the same point again and again.
"""

from __future__ import annotations

from typing import Any

import torch
from botorch.models.model import Model
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import State, fitted
from wideopt.search.candidates import merits
from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.tangent import Tangent

__all__ = ["is_staying", "outlook", "thinned"]

_N_LAST, _MOST, _NEAR = 10, 0.6, 0.05  # of the last points, such a share, so near
_NOISE = 1e-4  # variance; with less, a search that stays in one place converges
_GAP = 0.03  # between points that are seen; distances are in the largest coordinate


def is_staying(model: Model, data: Dataset) -> bool:
    """Whether most of the last points lie next to the best one, amid noise."""
    objective: Any = outputs_of(model)[0]
    noise = getattr(objective, "noise", None)
    if noise is None or data.n < _N_LAST or not bool(data.is_feasible.any()):
        return False
    best = data.X[int(merits(data).argmin())]
    is_near = _gaps(data.X[-_N_LAST:], best) < _NEAR
    return float(noise[0]) > _NOISE and float(is_near.double().mean()) >= _MOST


def outlook(data: Dataset, state: State, bend_spread: float) -> tuple[Model, State]:
    """A smooth model of objective and constraints, and what it remembers."""
    few = data.selected(thinned(data))
    surrogate = Tangent(activation="erf", bend_spread=bend_spread)
    return fitted(surrogate, few, state)


def thinned(data: Dataset) -> Int[Tensor, " m"]:
    """The rows that are farther than a gap from those before them.

    A failure is compared with failures only: next to a success it tells where the edge
    is of what works.
    """
    kinds = [(data.is_failed == kind).nonzero().flatten() for kind in (False, True)]
    rows = torch.cat([rows[_apart(data.X[rows])] for rows in kinds])
    return rows.sort().values


def _apart(X: Float[Tensor, "n d"]) -> Int[Tensor, " m"]:
    kept: list[int] = []
    for i, x in enumerate(X):
        if bool((_gaps(X[kept], x) > _GAP).all()):
            kept.append(i)
    return torch.tensor(kept, dtype=torch.long, device=X.device)


def _gaps(X: Float[Tensor, "m d"], x: Float[Tensor, " d"]) -> Float[Tensor, " m"]:
    return (X - x).abs().amax(dim=1)
