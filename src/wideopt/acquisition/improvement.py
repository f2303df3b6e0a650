"""Acquisitions on a log scale, which add where probabilities multiply.

Notation: μ, σ posterior mean and deviation of the objective (minimized), y⁺ the
incumbent, β the confidence factor, c_i the constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.utils.probability.utils import log_ndtr
from botorch.utils.transforms import t_batch_mode_transform
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.bounds import moments_of

__all__ = ["LogFeasibility", "LogOptimisticImprovement", "SumOfLogs"]


class SumOfLogs(AcquisitionFunction):
    """Sum of acquisitions that are logarithms: the log of their product."""

    def __init__(self, terms: Sequence[AcquisitionFunction]) -> None:
        super().__init__(model=terms[0].model)
        self.terms = torch.nn.ModuleList(terms)

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """Σ term(x)."""
        return torch.stack([term(X) for term in self.terms]).sum(dim=0)


class LogOptimisticImprovement(AcquisitionFunction):
    """log softplus((y⁺ - (μ - √β σ)) / τ): GP-UCB that can be weighted by feasibility.

    A monotone function of the confidence bound, hence with the same maximizer, but
    positive, so that log-probabilities of feasibility can be added to its logarithm.
    """

    tau = 0.1  # in spreads of the objective: where softplus turns into the identity

    def __init__(self, model: Model, best_f: float, beta: float) -> None:
        super().__init__(model=model)
        self.best_f, self.beta = best_f, beta

    @t_batch_mode_transform(expected_q=1)  # type: ignore[arg-type] # wants any acqf
    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        posterior: Any = self.model.posterior(X)
        mean = posterior.mean.squeeze(-1).squeeze(-1)
        sigma = posterior.variance.clamp_min(1e-20).sqrt().squeeze(-1).squeeze(-1)
        u = (self.best_f - mean + self.beta**0.5 * sigma) / self.tau
        # log softplus(u) → u as u → -∞, where softplus itself underflows.
        softplus = torch.nn.functional.softplus(u.clamp_min(-30.0))
        return torch.where(u > -30.0, softplus.log(), u)


class LogFeasibility(AcquisitionFunction):
    """Σ log P(c_i(x) <= 0) over independent constraints.

    BoTorch's own moves all models to the device of X at each call, which takes longer
    than the rest of it.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        super().__init__(model=models[0])
        self.models = models

    @t_batch_mode_transform(expected_q=1)  # type: ignore[arg-type] # wants any acqf
    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        moments = [moments_of(model, X.squeeze(-2)) for model in self.models]
        logs = [log_ndtr(-mean / sigma).sum(dim=-1) for mean, sigma in moments]
        return torch.stack(logs).sum(dim=0)
