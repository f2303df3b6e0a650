"""Whether any point may be feasible, and what is said if none looks so.

Notation: u_i, σ_i mean and deviation of constraint i; the least β at which a point is
within its bounds is max_i u_i/σ_i.
"""

from __future__ import annotations

import math

import torch

from wideopt.acquisition.bounds import LowerBounds, NegativeNeed
from wideopt.data.dataset import Dataset
from wideopt.methods.base import State
from wideopt.search.candidates import candidates
from wideopt.search.maximize import Search, climb, score
from wideopt.surrogates.base import quiet

__all__ = ["NO_POINT", "explained", "least_need", "outside"]

NO_POINT = "No point looks feasible"
_CHUNK = 64  # points whose least β is computed at once


def least_need(
    bounds: LowerBounds,
    data: Dataset,
    generator: torch.Generator,
    search: Search,
    enough: float = -math.inf,
    said: float = math.inf,
) -> float:
    """Min over the space of max_i u_i/σ_i.

    An upper bound will do where one is below `enough`, or one of candidates below the
    β of the bounds and `said`, beyond which no point is said to look feasible.
    """
    need = NegativeNeed(bounds)
    X = candidates(data, search.n_global // 4, search.n_local // 4, generator)
    with quiet():
        values = X.new_zeros(0)
        for part in X.split(_CHUNK):
            values = torch.cat([values, score(need, part)])
            if -float(values.max()) <= enough:
                return -float(values.max())
        is_low = -float(values.max()) <= min(bounds.beta, said)
        if is_low or bool(data.is_feasible.any()):
            return -float(values.max())
        starts = X[values.argsort(descending=True, stable=True)[: search.n_restarts]]
        climbed = climb(need, data, starts, search, generator)
        return -max(float(score(need, climbed).max()), float(values.max()))


def explained(state: State, need: float, confidence: float) -> State:
    """The state with a message, if no point looks feasible; else without."""
    rest = {k: v for k, v in state.items() if k != "message"}
    if need <= confidence:
        return rest
    return {
        **rest,
        "message": (
            f"{NO_POINT}: wherever one searches, some constraint is "
            f"predicted to fail by at least {need:.1f} standard deviations."
        ),
    }


def outside(state: State, beta: float, *, is_outside: bool) -> State:
    """The state with a message, if no candidate is within the bounds; else without."""
    rest = {k: v for k, v in state.items() if k != "message"}
    if not is_outside:
        return rest
    return {
        **rest,
        "message": (
            "No candidate is within the lower bounds of the constraints "
            f"(β = {beta:.3g}): that of least excess was taken."
        ),
    }
