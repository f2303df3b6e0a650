"""A bounded data set: the most telling observations stand for thousands.

An exact posterior costs O(n²) an ask and as much memory. Beyond N_MAX observations a
model is given N_MAX of them: a third are the best, a third the nearest to the best
point, where the search is, and a third are spread as far apart as possible, lest the
rest of the space be forgotten. They are chosen anew each time a quarter more has come;
until then, all that is new is seen.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import State
from wideopt.search.candidates import merits

__all__ = ["N_MAX", "condensed", "telling"]

N_MAX = 1000


def condensed(data: Dataset, state: State, n_max: int = N_MAX) -> tuple[Dataset, State]:
    """The data that a model is to see, and the state with their choice.

    A finite space keeps all: what is known must not be proposed again.
    """
    if data.n <= n_max + n_max // 4 or math.isfinite(data.space.n_configs):
        return data, state
    if data.n > state.get("condensed_at", 0) + n_max // 4:
        rows = telling(data, n_max).tolist()
        # the hyper-parameters stay, until the schedule of `fitted` says otherwise
        state = {**state, "condensed_at": data.n, "rows": rows}
        if "fitted_at" in state:
            state = {**state, "fitted_at": n_max, "searched_at": n_max}
    late = torch.arange(state["condensed_at"], data.n)
    return data.selected(torch.cat([torch.tensor(state["rows"]), late])), state


def telling(data: Dataset, n: int) -> Int[Tensor, " n"]:
    """The rows of the n most telling observations, in the order of observation."""
    order = merits(data).argsort(stable=True)
    distances = (data.X - data.X[order[0]]).square().sum(dim=1)
    chosen = torch.zeros(data.n, dtype=torch.bool)
    chosen[order[: n // 3]] = True
    near = distances.masked_fill(chosen, torch.inf).argsort(stable=True)
    chosen[near[: n // 3]] = True
    chosen[_spread(data.X, chosen, n - int(chosen.sum()))] = True
    return chosen.nonzero().squeeze(1)


def _spread(X: Float[Tensor, "n d"], chosen: Tensor, n: int) -> Int[Tensor, " m"]:
    """Further rows, each the farthest from all before it (Gonzalez 1985)."""
    gaps = torch.cdist(X, X[chosen]).min(dim=1).values
    found = []
    for _ in range(n):
        i = int(gaps.argmax())
        found.append(i)
        gaps = torch.minimum(gaps, (X - X[i]).square().sum(dim=1).sqrt())
        gaps[i] = -1.0
    return torch.tensor(found, dtype=torch.long)
