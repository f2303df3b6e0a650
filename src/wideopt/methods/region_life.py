"""The life of a trust region, kept in a method's state: what TuRBO and SCBO share.

Eriksson, Pearce, Gardner, Turner and Poloczek (2019). A region counts the successes and
failures of its own observations, grows and shrinks by the rules of `trust_region`, and
when it collapses starts anew somewhere else with a space-filling design, forgetting
what came before.

Memory (JSON): the region's `length` and counters, `center`, the index of the `restart`,
`begin`, the first row of the data that belongs to the region (and all after it, but the
`strays` that were under way when it began), and the number of rows already `seen`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch
from botorch.models.model import Model
from jaxtyping import Bool, Float
from torch import Tensor

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import State, check_counts, one_by_one
from wideopt.search.candidates import distinct, merits, scattered
from wideopt.search.design import seed_from
from wideopt.search.maximize import best_new
from wideopt.search.trust_region import Region, Rules
from wideopt.surrogates.base import outputs_of, quiet

__all__ = ["Life", "center_of", "check_options", "draw_points", "live"]

_MAX_CANDIDATES = 2000  # the paper takes up to 5000; these cost less
_SAME = 1e-9

# The region's own data and the state → points and the new state.
Sample: TypeAlias = Callable[[Dataset, State], tuple[Tensor, State]]


def check_options(method: Any) -> None:
    """Raise unless the lengths are in order and the counts are positive."""
    if not 0 < method.length_min < method.length <= method.length_max:
        raise InputError(
            "Options need 0 < length_min < length <= length_max, but got "
            f"{method.length_min}, {method.length}, {method.length_max}."
        )
    counts = ("n_success", "n_failure", "n_candidates", "n_design")
    check_counts(method, *(k for k in counts if getattr(method, k) is not None))


@dataclass(frozen=True)
class Life:
    """The numbers that a life follows.

    Attributes:
        rules: when the region changes its size.
        n_design: points of the design after a restart.
        n_candidates: points scored for a suggestion.
    """

    rules: Rules
    n_design: int
    n_candidates: int

    @classmethod
    def of(cls, method: Any, data: Dataset, n_success: int) -> Life:
        """The numbers of a method's options, or those that fit the dimension."""
        n_failure = method.n_failure or max(4, data.n_dims)
        lengths = (method.length, method.length_min, method.length_max)
        return cls(
            Rules(*lengths, n_success, n_failure),
            method.n_design or min(max(5, 2 * len(data.space)), 20),
            method.n_candidates or min(100 * data.n_dims, _MAX_CANDIDATES),
        )


def live(
    life: Life,
    data: Dataset,
    n: int,
    state: State,
    generator: torch.Generator,
    sample: Sample,
) -> tuple[Float[Tensor, "n d"], State]:
    """Count what came since the last call, then sample the region or begin a new one.

    Args:
        life: the numbers to follow.
        data: all observations.
        n: how many points are wanted.
        state: the memory, empty at first.
        generator: of the random numbers.
        sample: chooses points in a region that has data of its own.
    """
    rules = life.rules
    first = _new_region(rules.length, restart=0, begin=0) | {"seen": data.n}
    state = _counted(rules, data, state or first)
    if state["length"] < rules.length_min:
        state = _restarted(life, data, state, generator)
    own = _own(data, state)
    design = state["design"]
    is_filling = design is not None and design["used"] < design["size"]
    if is_filling or own.n_complete == 0:
        return _fill(data, n, state, generator)
    return sample(own, state)


def draw_points(
    model: Model,
    data: Dataset,
    X: Float[Tensor, "m d"],
    n: int,
    generator: torch.Generator,
    values: Callable[[PenalizedDraw, Tensor], Tensor],
) -> Float[Tensor, "n d"]:
    """The best new candidate under each of n posterior draws."""

    def choose(data: Dataset) -> Tensor:
        draw = PenalizedDraw.of(model, seed_from(generator))
        with quiet():
            scores = values(draw, X)
        known = torch.cat([data.X, data.X_pending])
        point = best_new(X, scores, known)[None, :]
        # A region in a discrete space may hold nothing that is new.
        return distinct(data.space, point, known, generator)[0]

    return one_by_one(data, n, choose)


def center_of(model: Model, own: Dataset) -> Float[Tensor, " d"]:
    """The best point: by its mean among feasible ones, as noise asks for."""
    if not bool(own.is_feasible.any()):
        return own.X[int(merits(own).argmin())]
    feasible = own.X[own.is_feasible]
    with torch.no_grad(), quiet():
        # one by one: of points together the covariance would be computed, too
        posterior: Any = outputs_of(model)[0].posterior(feasible.unsqueeze(-2))
    return feasible[int(posterior.mean.flatten().argmin())]


def _restarted(
    life: Life, data: Dataset, state: State, generator: torch.Generator
) -> State:
    design = {"seed": seed_from(generator), "used": 0, "size": life.n_design}
    return _new_region(life.rules.length, state["restart"] + 1, begin=data.n) | {
        "seen": data.n,
        "strays": data.X_pending.tolist(),
        "design": design,
    }


def _counted(rules: Rules, data: Dataset, state: State) -> State:
    """The state with the rows that came since the last call counted."""
    is_new = torch.arange(data.n, device=data.X.device) >= state["seen"]
    is_own = _is_own(data, state)
    if not bool((is_new & is_own).any()):
        return {**state, "seen": data.n}
    merit = merits(data)
    before, now = merit[is_own & ~is_new], merit[is_own & is_new]
    counted = {**state, "seen": data.n}
    if before.numel() == 0 or _is_design(state, before.numel()):
        return counted  # a design has nothing to improve on
    region = Region(state["length"], state["successes"], state["failures"])
    is_success = bool(now.min() < before.min())
    region = region.after(now.numel(), rules, is_success=is_success)
    return counted | _counters(region)


def _is_design(state: State, n_before: int) -> bool:
    return state["design"] is not None and n_before < state["design"]["size"]


def _new_region(length: float, restart: int, begin: int) -> State:
    return {
        "length": length,
        "successes": 0,
        "failures": 0,
        "center": None,
        "restart": restart,
        "begin": begin,
        "strays": [],
        "design": None,
    }


def _counters(region: Region) -> State:
    return {
        "length": region.length,
        "successes": region.n_success,
        "failures": region.n_failure,
    }


def _is_own(data: Dataset, state: State) -> Bool[Tensor, " n"]:
    """Rows that belong to the current region."""
    is_own: Tensor = torch.arange(data.n, device=data.X.device) >= state["begin"]
    for stray in state["strays"]:
        gap = (data.X - data.X.new_tensor(stray)).abs().amax(dim=1)
        is_own &= gap > _SAME
    return is_own


def _own(data: Dataset, state: State) -> Dataset:
    is_own = _is_own(data, state)
    return replace(data, X=data.X[is_own], Y=data.Y[is_own])


def _fill(
    data: Dataset, n: int, state: State, generator: torch.Generator
) -> tuple[Float[Tensor, "n d"], State]:
    """The next points of the region's space-filling design."""
    design = state["design"] or {"seed": seed_from(generator), "used": 0, "size": 0}
    points = scattered(data.space, n, design["seed"], start=design["used"])
    known = torch.cat([data.X, data.X_pending])
    design = {**design, "used": design["used"] + n}
    return distinct(data.space, points.to(data.X), known, generator), {
        **state,
        "design": design,
    }
