"""Gaussian-process methods that value information: MES, PES and knowledge gradient.

MES: Wang and Jegelka (2017), or its lower bound GIBBON, Moss et al. (2021); PES:
Hernández-Lobato, Hoffman and Ghahramani (2014); KG: Frazier, Powell and Dayanik (2009).
The formulas are in `acquisition.information`. With unknown constraints, minima are
those among points that are more likely feasible than not, and the value is multiplied
by the probability of feasibility (Gardner et al. 2014). Batches are built one by one,
pending points taken at their mean (Desautels, Krause and Burdick 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.draws import drawn_values
from wideopt.acquisition.information import (
    KnowledgeGradient,
    LogOfPositive,
    max_value_entropy,
    predictive_entropy,
)
from wideopt.data.dataset import Dataset
from wideopt.methods.base import (
    State,
    check_counts,
    feasibly,
    fitted,
    hallucinated,
    one_by_one,
)
from wideopt.search.candidates import candidates
from wideopt.search.design import seed_from
from wideopt.search.local import maximize_locally
from wideopt.search.maximize import Search, maximize
from wideopt.surrogates.base import outputs_of, quiet
from wideopt.surrogates.gp import GaussianProcess

__all__ = ["GPInformation"]

_N_MINIMIZERS = 8  # sampled minimizers x* of PES
_N_INNER = 64  # points at which KG looks for the lowest mean


@dataclass(frozen=True)
class GPInformation:
    """A GP per output and an acquisition that values information.

    Attributes:
        acquisition: "mes", "pes" or "kg".
        kernel: "matern" or "rbf".
        bound: whether MES is replaced by its analytic lower bound, GIBBON.
        n_candidates: points scored before the search from the best of them.
        n_restarts: searches from the best candidates.
    """

    acquisition: Literal["mes", "pes", "kg"] = "mes"
    kernel: Literal["matern", "rbf"] = "matern"
    bound: bool = False
    n_candidates: int = 512
    n_restarts: int = 2

    def __post_init__(self) -> None:
        GaussianProcess(self.kernel)
        check_counts(self, "n_candidates", "n_restarts")

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit, then maximize the acquisition n times, each aware of the others."""
        surrogate = GaussianProcess(self.kernel)
        base, state = fitted(surrogate, data, state)
        n_local = self.n_candidates // 3
        search = Search(self.n_candidates - n_local, n_local, self.n_restarts, 20)
        # PES is not differentiable: BoTorch damps its updates case by case.
        climb = maximize_locally if self.acquisition == "pes" else maximize

        def choose(data: Dataset) -> Tensor:
            model = hallucinated(surrogate, data, base, state)
            A = _plausible(model, candidates(data, 512, 128, generator))
            acqf = feasibly(
                model, data, lambda _: self._value(model, data, A, generator)
            )
            return climb(acqf, data, generator, search)

        return one_by_one(data, n, choose), state

    def _value(
        self, model: Model, data: Dataset, A: Tensor, generator: torch.Generator
    ) -> AcquisitionFunction:
        """The log of the acquisition of the objective, with A standing for the cube."""
        objective = outputs_of(model)[0]
        feasible = data.X[data.is_feasible]
        if self.acquisition == "kg":
            inner = _inner(objective, torch.cat([A, feasible]))
            return LogOfPositive(KnowledgeGradient(objective, inner))
        if self.acquisition == "pes":
            value = predictive_entropy(objective, _minimizers(model, A, generator))
            if value is not None:
                return LogOfPositive(value)
        seed = seed_from(generator)
        return LogOfPositive(
            max_value_entropy(objective, A, feasible, seed, is_bound=self.bound)
        )


def _plausible(model: Model, A: Float[Tensor, "m d"]) -> Float[Tensor, "k d"]:
    """The points more likely feasible than not; all of them if there are none."""
    _, *constraints = outputs_of(model)
    is_plausible = torch.ones(A.shape[0], dtype=torch.bool, device=A.device)
    with torch.no_grad(), quiet():
        for constraint in constraints:
            posterior: Any = constraint.posterior(A)
            is_plausible &= posterior.mean[:, 0] <= 0
    return A[is_plausible] if bool(is_plausible.any()) else A


def _inner(objective: Model, A: Float[Tensor, "m d"]) -> Float[Tensor, "k d"]:
    """Where the lowest mean is, or may be after one more evaluation."""
    with torch.no_grad(), quiet():
        posterior: Any = objective.posterior(A.unsqueeze(-2))
        mean, sigma = posterior.mean.reshape(-1), posterior.variance.sqrt().reshape(-1)
    half = _N_INNER // 2
    lowest = [key.argsort(stable=True)[:half] for key in (mean, mean - 2.0 * sigma)]
    return A[torch.cat(lowest).unique()]


def _minimizers(
    model: Model, A: Float[Tensor, "m d"], generator: torch.Generator
) -> Float[Tensor, "s d"]:
    """Minimizers over A of draws of the objective, where drawn constraints hold."""
    with quiet():
        values = drawn_values(model, A, _N_MINIMIZERS, seed_from(generator))
    return A[values.argmax(dim=1)]
