"""TuRBO: Thompson sampling in a trust region that follows the best point.

Eriksson, Pearce, Gardner, Turner and Poloczek (2019), with one region (TuRBO-1). A GP
with Matérn-5/2 kernel is fitted to the observations since the last restart only, and
each suggestion minimizes a draw from it over candidates in the box of `trust_region`.
When the region collapses, it starts anew somewhere else with a space-filling design.

With constraints the center is the best feasible (or least infeasible) point, and the
draw is minimized where the drawn constraints hold: the rules of SCBO, Eriksson and
Poloczek (2021), of which TuRBO is the case without constraints.

Memory (JSON): the region's `length` and counters, `center`, the index of the `restart`,
`begin`, the first row of the data that belongs to the region (and all after it, but the
`strays` that were under way when it began), and the number of rows already `seen`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from botorch.models.model import Model
from jaxtyping import Bool, Float
from torch import Tensor

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import State, check_counts, fitted, one_by_one
from wideopt.search.candidates import distinct, merits, scattered
from wideopt.search.design import seed_from
from wideopt.search.maximize import best_new, score
from wideopt.search.trust_region import Region, Rules, box, perturbed
from wideopt.surrogates.base import outputs_of, quiet
from wideopt.surrogates.gp import GaussianProcess

__all__ = ["Turbo"]

_MAX_CANDIDATES = 2000  # the paper takes up to 5000; these cost less
_SAME = 1e-9


@dataclass(frozen=True)
class Turbo:
    """One trust region.

    Attributes:
        length: side of the box at the start, in the unit cube.
        length_min: the region restarts when its side falls below.
        length_max: the side grows no further.
        n_success: successes in a row that double the side.
        n_failure: evaluations without success that halve it; by default d, at least 4.
        n_candidates: points scored; by default 100 d, at most 2000.
        n_design: points of the design after a restart; by default 2 d, in 5 … 20.
    """

    length: float = 0.8
    length_min: float = 0.5**7
    length_max: float = 1.6
    n_success: int = 3
    n_failure: int | None = None
    n_candidates: int | None = None
    n_design: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.length_min < self.length <= self.length_max:
            raise InputError(
                "Options need 0 < length_min < length <= length_max, but got "
                f"{self.length_min}, {self.length}, {self.length_max}."
            )
        counts = ("n_success", "n_failure", "n_candidates", "n_design")
        check_counts(self, *(k for k in counts if getattr(self, k) is not None))

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Count successes and failures, then sample the region; or begin a new one."""
        state = self._counted(data, state or self._first(data))
        if state["length"] < self.length_min:
            state = self._restarted(data, state, generator)
        own = _own(data, state)
        design = state["design"]
        is_filling = design is not None and design["used"] < design["size"]
        if is_filling or own.n_complete == 0:
            return _fill(data, n, state, generator)
        return self._sample(data, own, n, state, generator)

    def rules(self, n_dims: int) -> Rules:
        """The limits of the region's size in a space of n_dims dimensions."""
        n_failure = self.n_failure or max(4, n_dims)
        return Rules(
            self.length, self.length_min, self.length_max, self.n_success, n_failure
        )

    def _first(self, data: Dataset) -> State:
        return _new_region(self.length, restart=0, begin=0) | {"seen": data.n}

    def _restarted(
        self, data: Dataset, state: State, generator: torch.Generator
    ) -> State:
        size = self.n_design or min(max(5, 2 * len(data.space)), 20)
        design = {"seed": seed_from(generator), "used": 0, "size": size}
        return _new_region(self.length, state["restart"] + 1, begin=data.n) | {
            "seen": data.n,
            "strays": data.X_pending.tolist(),
            "design": design,
        }

    def _counted(self, data: Dataset, state: State) -> State:
        """The state with the rows that came since the last call counted."""
        is_new = torch.arange(data.n, device=data.X.device) >= state["seen"]
        is_own = _is_own(data, state)
        if not bool((is_new & is_own).any()):
            return {**state, "seen": data.n}
        merit = merits(data)
        before, now = merit[is_own & ~is_new], merit[is_own & is_new]
        counted = {**state, "seen": data.n}
        if before.numel() == 0 or self._is_design(state, before.numel()):
            return counted  # a design has nothing to improve on
        region = Region(state["length"], state["successes"], state["failures"])
        is_success = bool(now.min() < before.min())
        rules = self.rules(data.n_dims)
        region = region.after(now.numel(), rules, is_success=is_success)
        return counted | _counters(region)

    def _is_design(self, state: State, n_before: int) -> bool:
        return state["design"] is not None and n_before < state["design"]["size"]

    def _sample(
        self,
        data: Dataset,
        own: Dataset,
        n: int,
        state: State,
        generator: torch.Generator,
    ) -> tuple[Float[Tensor, "n d"], State]:
        model, state = fitted(GaussianProcess("matern"), own, state)
        center = _center(model, own)
        bounds = box(center, state["length"], _length_scales(model))
        n_points = self.n_candidates or min(100 * data.n_dims, _MAX_CANDIDATES)
        X = perturbed(data.space, center, bounds, n_points, generator)

        def choose(data: Dataset) -> Tensor:
            draw = PenalizedDraw.of(model, seed_from(generator))
            with quiet():
                values = score(draw, X)
            known = torch.cat([data.X, data.X_pending])
            point = best_new(X, values, known)[None, :]
            # A region in a discrete space may hold nothing that is new.
            return distinct(data.space, point, known, generator)[0]

        return one_by_one(data, n, choose), {**state, "center": center.tolist()}


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


def _center(model: Model, own: Dataset) -> Float[Tensor, " d"]:
    """The best point: by its mean among feasible ones, as noise asks for."""
    if not bool(own.is_feasible.any()):
        return own.X[int(merits(own).argmin())]
    feasible = own.X[own.is_feasible]
    with torch.no_grad(), quiet():
        posterior: Any = outputs_of(model)[0].posterior(feasible)
    return feasible[int(posterior.mean[:, 0].argmin())]


def _length_scales(model: Model) -> Float[Tensor, " d"]:
    kernel: Any = outputs_of(model)[0].covar_module
    scales: Tensor = kernel.lengthscale.detach().reshape(-1)
    return scales
