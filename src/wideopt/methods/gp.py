"""Gaussian-process methods: EI, PI, UCB and Thompson sampling, with constraints.

EI: Jones, Schonlau and Welch (1998), in the log form of Ament et al. (2023); PI:
Kushner (1964); UCB: Srinivas et al. (2010) with the practical βₜ = 0.2 d log(2t) of
Kandasamy, Schneider and Póczos (2015); TS: one joint draw by pathwise conditioning,
Wilson et al. (2020). With unknown constraints EI, PI and UCB are multiplied by the
probability of feasibility (Gardner et al. 2014), and TS minimizes its draw where the
drawn constraints hold (Eriksson and Poloczek 2021). Until a feasible point is known,
EI, PI and UCB maximize the probability of feasibility alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import (
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
)
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.acquisition.gp_at_point import FeasiblyAtPoint, Value, ei, pi, ucb
from wideopt.acquisition.improvement import LogOptimisticImprovement
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import (
    State,
    check_counts,
    feasibly,
    fitted,
    hallucinated,
    incumbent,
    one_by_one,
)
from wideopt.search.design import seed_from
from wideopt.search.maximize import Search, maximize
from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.gp import GaussianProcess

__all__ = ["GPMethod"]


@dataclass(frozen=True)
class GPMethod:
    """A GP per output and one of four acquisitions.

    Attributes:
        acquisition: "ei", "pi", "ucb" or "ts".
        kernel: "matern" or "rbf".
        beta: confidence factor β of UCB; by default 0.2 d log(2t).
        n_candidates: points scored before the gradient search.
        n_restarts: gradient climbs.
    """

    acquisition: Literal["ei", "pi", "ucb", "ts"] = "ei"
    kernel: Literal["matern", "rbf"] = "matern"
    beta: float | None = None
    n_candidates: int = 768
    n_restarts: int = 4

    def __post_init__(self) -> None:
        GaussianProcess(self.kernel)
        is_number = isinstance(self.beta, int | float)
        if self.beta is not None and not (is_number and self.beta > 0):
            raise InputError(f"Option beta must be positive, but got {self.beta!r}.")
        check_counts(self, "n_candidates", "n_restarts")

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit, then maximize the acquisition n times, each aware of the others."""
        surrogate = GaussianProcess(self.kernel)
        base, state = fitted(surrogate, data, state)
        n_local = self.n_candidates // 3
        search = Search(self.n_candidates - n_local, n_local, self.n_restarts)

        def choose(data: Dataset) -> Tensor:
            if self.acquisition == "ts":  # draws differ by themselves
                draw = PenalizedDraw.of(base, seed_from(generator))
                return maximize(draw, data, generator, search)
            model = hallucinated(surrogate, data, base, state)
            best = incumbent(outputs_of(model)[0], data)
            acqf = feasibly(model, data, lambda f: self._value(f, data, best))
            is_valued = model.num_outputs == 1 or bool(data.is_feasible.any())
            quick = self._quick_value(data, best) if is_valued else None
            at_point = FeasiblyAtPoint.of(model, quick)
            return maximize(acqf, data, generator, search, at_point)

        return one_by_one(data, n, choose), state

    def _value(
        self, objective: Model, data: Dataset, best: float
    ) -> AcquisitionFunction:
        if self.acquisition == "ei":
            return LogExpectedImprovement(objective, best_f=best, maximize=False)
        if self.acquisition == "pi":
            return LogProbabilityOfImprovement(objective, best_f=best, maximize=False)
        return LogOptimisticImprovement(objective, best, self._beta(data))

    def _quick_value(self, data: Dataset, best: float) -> Value:
        """The same, for climbs."""
        if self.acquisition == "ei":
            return ei(best)
        return pi(best) if self.acquisition == "pi" else ucb(best, self._beta(data))

    def _beta(self, data: Dataset) -> float:
        return self.beta or 0.2 * data.n_dims * math.log(2 * max(data.n, 2))
