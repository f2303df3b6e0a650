"""Optimism about objective and constraints alike: CONFIG and UCB-C.

CONFIG: Xu, Jiang, Svetozarevic and Jones (2023); UCB-C: Nguyen, Chew, Song, Low and
Jaillet (2024). Both evaluate, with a GP for each output,

    x_t = argmin LCB_f(x)   subject to   LCB_i(x) <= 0 for all i = 1, ..., K

Notation: LCB = μ - β σ of the objective f or of constraint i, t the number of
observations, K the number of constraints, γ the information gained so far.

CONFIG takes a constant β = 3 in practice and β = B + √(2 (γ + 1 + log((K + 1) / δ))) in
theory, here with B = 1 and the largest γ of all outputs. Where no point fulfills the
bounds it declares the problem infeasible; here it says so in the state's message and
goes on at the point of least excess, Σ max(LCB_i, 0).

UCB-C lets β grow with t, by a union bound over K + 1 functions, |X| points and all t:
β² = 2 log((K + 1) |X| t² π² / 6δ). The practical form here is that of `gp-ucb` with the
same union, β² = 0.2 d log(2 (K + 1) t). It assumes that the problem is feasible. The
paper's main subject, which of the K + 1 functions to evaluate, is moot here, where an
evaluation returns them all: this is the paper's algorithm for the coupled setting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.bounds import NegativeBound, constraint_bounds
from wideopt.acquisition.gp_at_point import BoundsAtPoint
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import (
    State,
    check_counts,
    fitted,
    hallucinated,
    one_by_one,
)
from wideopt.search.maximize import Search
from wideopt.search.within import Found, maximize_within
from wideopt.surrogates.base import outputs_of, quiet
from wideopt.surrogates.gp import GaussianProcess

__all__ = ["INFEASIBLE", "ConfidenceBounds", "information_gain"]

INFEASIBLE = (
    "the constraints seem infeasible: nowhere do all their lower confidence bounds hold"
)
_CONSTANT = 3.0  # β of CONFIG's experiments
_DELTA = 0.1  # δ: the bounds hold with probability 1 - δ


@dataclass(frozen=True)
class ConfidenceBounds:
    """A GP per output, the lowest bound of the objective within those of constraints.

    Attributes:
        rule: "configopt" or "ucb-c".
        beta: confidence factor β, or "gain" for the one of CONFIG's theory; by default
            3 for CONFIG, √(0.2 d log(2 (K + 1) t)) for UCB-C.
        kernel: "matern" or "rbf".
        n_candidates: points scored before the gradient search.
        n_restarts: gradient climbs.
    """

    rule: Literal["configopt", "ucb-c"] = "configopt"
    beta: float | str | None = None
    kernel: Literal["matern", "rbf"] = "matern"
    n_candidates: int = 768
    n_restarts: int = 4

    def __post_init__(self) -> None:
        GaussianProcess(self.kernel)
        is_positive = isinstance(self.beta, int | float) and self.beta > 0
        if not (is_positive or self.beta in (None, "gain")):
            raise InputError(
                f"Option beta must be positive or 'gain', but got {self.beta!r}."
            )
        check_counts(self, "n_candidates", "n_restarts")

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit, then minimize the bound n times, each aware of the others."""
        surrogate = GaussianProcess(self.kernel)
        base, state = fitted(surrogate, data, state)
        beta = self._factor(base, data)
        n_local = self.n_candidates // 3
        search = Search(self.n_candidates - n_local, n_local, self.n_restarts)

        def find(model: Model, data: Dataset) -> Found:
            acqf = NegativeBound(outputs_of(model)[0], beta)
            bounds = constraint_bounds(model, beta)
            at_point = BoundsAtPoint.of(model, beta)
            return maximize_within(acqf, bounds, data, generator, search, at_point)

        found: list[Found] = []

        def choose(data: Dataset) -> Tensor:
            found.append(find(hallucinated(surrogate, data, base, state), data))
            return found[-1].point

        points = one_by_one(data, n, choose)
        if self.rule == "ucb-c":
            return points, state
        is_hopeless = _is_unknown(data) and not any(f.is_within for f in found)
        if is_hopeless and data.X_pending.shape[0] > 0:  # bounds at pending are tighter
            is_hopeless = not find(base, data).is_within
        return points, {**state, "message": INFEASIBLE if is_hopeless else ""}

    def _factor(self, model: Model, data: Dataset) -> float:
        outputs = outputs_of(model)
        if self.beta == "gain":
            return _theoretical(outputs)
        if isinstance(self.beta, int | float):
            return float(self.beta)
        if self.rule == "configopt":
            return _CONSTANT
        t = max(data.n, 2)
        return math.sqrt(0.2 * data.n_dims * math.log(2 * len(outputs) * t))


def _is_unknown(data: Dataset) -> bool:
    """Whether no observation settles that the problem is feasible."""
    return data.Z.shape[1] > 1 and not bool(data.is_feasible.any())


def _theoretical(outputs: Sequence[Model]) -> float:
    gain = max(information_gain(output) for output in outputs)
    return 1.0 + math.sqrt(2.0 * (gain + 1.0 + math.log(len(outputs) / _DELTA)))


def information_gain(model: Model) -> float:
    """γ = ½ log det(I + K / σ²) of a GP's observations, σ² its noise."""
    gp: Any = model
    with torch.no_grad(), quiet():
        K = gp.covar_module(gp.train_inputs[0]).to_dense()
        K = K / gp.likelihood.noise
        return 0.5 * float(torch.logdet(torch.eye(len(K)).to(K) + K))
