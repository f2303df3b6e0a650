"""ADMMBO: one problem for the objective and one for each constraint, made to agree.

Ariafar, Coll-Font, Brooks and Dy (2019). The alternating direction method of
multipliers (ADMM) gives each constraint i its own copy z_i of the point x and
alternates, by Bayesian optimization of a few evaluations each,

    x   ← argmin f(x) + Σ_i ρ/2 ‖x - z_i + y_i/ρ‖²                   (optimality)
    z_i ← argmin 1{c_i(z) > 0} + ρ/(2M) ‖x - z + y_i/ρ‖²             (feasibility i)
    y_i ← y_i + ρ (x - z_i)

with the expected improvements of `acquisition.admm`. After each round ρ is doubled if
the primal residual Σ ‖x - z_i‖ is over ten times the dual one, ρ Σ ‖Δz_i‖, and halved
in the opposite case (Boyd et al. 2011, section 3.4.1).

The paper evaluates f or one c_i at a time. Here every evaluation returns them all, so
that all models learn from all observations, and minima are taken over all of them. For
the same reason a feasibility problem whose minimum is already observed (the constraint
holds at x and nothing pulls at it) takes no evaluations.

Memory (JSON), under `admm`: `x`, `z`, `y`, `z_before` (z when the round began), `rho`,
`phase` (0 optimality, i feasibility of constraint i), `spent` evaluations in it, rows
`seen` when it began, and the number of the `round`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.admm import LogFeasibilityImprovement, Quadratic, Shifted
from wideopt.data.dataset import Dataset
from wideopt.methods.base import (
    State,
    check_counts,
    check_positive,
    fitted,
    hallucinated,
    one_by_one,
)
from wideopt.search.candidates import merits
from wideopt.search.maximize import Search, maximize
from wideopt.surrogates.base import outputs_of, quiet
from wideopt.surrogates.gp import GaussianProcess

__all__ = ["ADMMBO"]

_IMBALANCE = 10.0  # of the residuals, at which ρ changes
_SOLVED = 1e-12  # the least value of a feasibility problem is 0


@dataclass(frozen=True)
class ADMMBO:
    """ADMM over GPs.

    Attributes:
        rho: ρ at the start, against an objective of spread 1 on the unit cube.
        big_m: M, the weight of feasibility against closeness.
        n_optimality: evaluations for each optimality problem.
        n_feasibility: evaluations for each feasibility problem.
        kernel: "matern" or "rbf".
        n_candidates: points scored before the gradient search.
        n_restarts: gradient climbs.
    """

    rho: float = 0.1
    big_m: float = 20.0
    n_optimality: int = 2
    n_feasibility: int = 2
    kernel: Literal["matern", "rbf"] = "matern"
    n_candidates: int = 768
    n_restarts: int = 4

    def __post_init__(self) -> None:
        GaussianProcess(self.kernel)
        check_positive(self, "rho", "big_m")
        counts = ("n_optimality", "n_feasibility", "n_candidates", "n_restarts")
        check_counts(self, *counts)

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Move on to the next problem if it is time, then improve on it n times."""
        surrogate = GaussianProcess(self.kernel)
        base, state = fitted(surrogate, data, state)
        step = self._due(_Step.of(base, data, self.big_m), state.get("admm"))
        n_local = self.n_candidates // 3
        search = Search(self.n_candidates - n_local, n_local, self.n_restarts)

        def choose(data: Dataset) -> Tensor:
            model = hallucinated(surrogate, data, base, state)
            acqf = _Step.of(model, data, self.big_m).improvement(step)
            return maximize(acqf, data, generator, search)

        points = one_by_one(data, n, choose)
        return points, {**state, "admm": {**step, "spent": step["spent"] + n}}

    def _due(self, now: _Step, memory: State | None) -> State:
        """The memory, moved on if the problem's evaluations are spent and back."""
        if memory is None or len(memory["z"]) != now.n_constraints:
            return now.first(self.rho)  # a failure adds a constraint: begin anew
        budget = self.n_feasibility if memory["phase"] else self.n_optimality
        is_over = memory["spent"] >= budget and now.n > memory["seen"]
        return now.moved_on(memory) if is_over else memory


@dataclass(frozen=True)
class _Step:
    """What is known when a step is taken: points and their outputs.

    Attributes:
        model: of objective and constraints.
        X: points with an objective, observed and pending.
        f: posterior means of the objective there.
        C: constraints as observed, posterior means where they were not.
        start: the best observed point.
        n: number of observations.
        big_m: M.
    """

    model: Model
    X: Float[Tensor, "m d"]
    f: Float[Tensor, " m"]
    C: Float[Tensor, "m k"]
    start: Float[Tensor, " d"]
    n: int
    big_m: float

    @classmethod
    def of(cls, model: Model, data: Dataset, big_m: float) -> _Step:
        known = ~data.is_failed
        X = torch.cat([data.X[known], data.X_pending])
        with torch.no_grad(), quiet():
            outputs: list[Any] = [o.posterior(X) for o in outputs_of(model)]
            means = torch.cat([p.mean for p in outputs], dim=1)
        seen = torch.cat([data.Z[known], means[int(known.sum()) :]])
        C = torch.where(seen.isnan(), means, seen)[:, 1:]
        start = data.X[int(merits(data).argmin())]
        return cls(model, X, means[:, 0], C, start, data.n, big_m)

    @property
    def n_constraints(self) -> int:
        return self.C.shape[1]

    def first(self, rho: float) -> State:
        """The best observation, and the copies that are then best, unmultiplied."""
        y = [[0.0] * self.X.shape[1]] * self.n_constraints
        memory = {"x": self.start.tolist(), "y": y, "z": y, "rho": rho}
        z = [self._copy(memory, i) for i in range(self.n_constraints)]
        begun = {"phase": 0, "spent": 0, "seen": self.n, "round": 0}
        return {**memory, **begun, "z": z, "z_before": z}

    def moved_on(self, memory: State) -> State:
        """The problem at hand solved as well as it is known, and the next one begun."""
        phase = memory["phase"]
        memory = self._pulled(memory, phase - 1) if phase else self._placed(memory)
        phase += 1
        while phase <= self.n_constraints and self._is_solved(memory, phase - 1):
            memory = self._pulled(memory, phase - 1)
            phase += 1
        if phase > self.n_constraints:
            memory, phase = _balanced(memory), 0
        return {**memory, "phase": phase, "spent": 0, "seen": self.n}

    def improvement(self, memory: State) -> AcquisitionFunction:
        """The expected improvement on the problem at hand, as a log."""
        outputs = outputs_of(self.model)
        phase = memory["phase"]
        if phase == 0:
            shifted = Shifted(outputs[0], self._around_copies(memory))
            best = float(self._u(memory).min())
            return LogExpectedImprovement(shifted, best_f=best, maximize=False)
        best = float(self._h(memory, phase - 1).min())
        around = self._around_point(memory, phase - 1)
        return LogFeasibilityImprovement(outputs[phase], around, best)

    def _placed(self, memory: State) -> State:
        return {**memory, "x": self.X[int(self._u(memory).argmin())].tolist()}

    def _pulled(self, memory: State, i: int) -> State:
        """With the copy z_i and its multipliers y_i updated."""
        z, x, y = self._copy(memory, i), memory["x"], memory["y"][i]
        rho = memory["rho"]
        y = [b + rho * (a - c) for a, b, c in zip(x, y, z, strict=True)]
        copies = [*memory["z"][:i], z, *memory["z"][i + 1 :]]
        multipliers = [*memory["y"][:i], y, *memory["y"][i + 1 :]]
        return {**memory, "z": copies, "y": multipliers}

    def _copy(self, memory: State, i: int) -> list[float]:
        point: list[float] = self.X[int(self._h(memory, i).argmin())].tolist()
        return point

    def _is_solved(self, memory: State, i: int) -> bool:
        return float(self._h(memory, i).min()) <= _SOLVED

    def _u(self, memory: State) -> Float[Tensor, " m"]:
        return self.f + self._around_copies(memory)(self.X)

    def _h(self, memory: State, i: int) -> Float[Tensor, " m"]:
        return (self.C[:, i] > 0).to(self.f) + self._around_point(memory, i)(self.X)

    def _around_copies(self, memory: State) -> Quadratic:
        z = self.X.new_tensor(memory["z"]).reshape(-1, self.X.shape[1])
        y = self.X.new_tensor(memory["y"]).reshape(z.shape)
        return Quadratic(z - y / memory["rho"], memory["rho"] / 2.0)

    def _around_point(self, memory: State, i: int) -> Quadratic:
        x, y = self.X.new_tensor([memory["x"]]), self.X.new_tensor([memory["y"][i]])
        return Quadratic(x + y / memory["rho"], memory["rho"] / (2.0 * self.big_m))


def _balanced(memory: State) -> State:
    """The memory at the end of a round, with ρ moved to keep residuals of one size."""
    rho, z = memory["rho"], torch.tensor(memory["z"])
    if z.numel() > 0:
        primal = float((torch.tensor(memory["x"]) - z).norm(dim=1).sum())
        moved = (z - torch.tensor(memory["z_before"])).norm(dim=1).sum()
        dual = rho * float(moved)
        if primal > _IMBALANCE * dual:
            rho = rho * 2.0
        elif dual > _IMBALANCE * primal:
            rho = rho / 2.0
    return {**memory, "rho": rho, "z_before": memory["z"], "round": memory["round"] + 1}
