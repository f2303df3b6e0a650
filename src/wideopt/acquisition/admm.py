"""Improvement on the two kinds of subproblem of ADMMBO.

Ariafar, Coll-Font, Brooks and Dy (2019). ADMM gives each constraint a copy z_i of the
point x, and multipliers y_i that pull copies and point together:

    optimality     u(x)   = f(x) + Σ_i ρ/2 ‖x - z_i + y_i/ρ‖²
    feasibility i  h_i(z) = 1{c_i(z) > 0} + ρ/(2M) ‖x - z + y_i/ρ‖²

Both are a modeled function plus a known quadratic q(x) = w Σ_i ‖x - a_i‖² around
anchors a_i: z_i - y_i/ρ with weight ρ/2, and x + y_i/ρ with weight ρ/(2M). With f a
Gaussian process, u is one too, its mean shifted by q: `Shifted`, for which expected
improvement is the usual one. The indicator is a Bernoulli variable with
θ = P(c_i(z) <= 0), hence, with g = h⁺ - q(z) the gap to the best value h⁺,

    E[max(h⁺ - h_i(z), 0)] = θ max(g, 0) + (1 - θ) max(g - 1, 0)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from botorch.utils.transforms import t_batch_mode_transform
from gpytorch.distributions import MultivariateNormal
from jaxtyping import Float
from linear_operator.operators import DiagLinearOperator
from torch import Tensor

__all__ = ["LogFeasibilityImprovement", "Quadratic", "Shifted"]


@dataclass(frozen=True)
class Quadratic:
    """q(x) = w Σ_i ‖x - a_i‖², zero if there are no anchors a_i."""

    anchors: Float[Tensor, "k d"]
    weight: float

    def __call__(self, X: Float[Tensor, "*b d"]) -> Float[Tensor, "*b"]:
        """The value at each point."""
        gaps = X.unsqueeze(-2) - self.anchors
        return self.weight * gaps.square().sum(dim=(-2, -1))


class Shifted(Model):
    """A model of one output plus a known quadratic; answers for single points."""

    def __init__(self, model: Model, quadratic: Quadratic) -> None:
        super().__init__()
        self.model, self.quadratic = model, quadratic

    @property
    def num_outputs(self) -> int:
        """One."""
        return 1

    def posterior(  # type: ignore[override] # options of BoTorch, none of them used
        self, X: Float[Tensor, "*b 1 d"], **kwargs: Any
    ) -> Posterior:
        """The marginals at X."""
        del kwargs
        base: Any = self.model.posterior(X)
        mean = base.mean.squeeze(-1) + self.quadratic(X)
        variance = base.variance.squeeze(-1).clamp_min(1e-20)
        return GPyTorchPosterior(MultivariateNormal(mean, DiagLinearOperator(variance)))


class LogFeasibilityImprovement(AcquisitionFunction):
    """The log of the expected improvement of h_i.

    Args:
        model: of the constraint c_i.
        quadratic: the known part of h_i.
        best: h⁺, the best value so far.
    """

    _share = 1e-3  # of h⁺: below such a gap, the log goes on as its tangent

    def __init__(self, model: Model, quadratic: Quadratic, best: float) -> None:
        super().__init__(model=model)
        self.quadratic, self.best = quadratic, best

    @t_batch_mode_transform(expected_q=1)  # type: ignore[arg-type] # wants any acqf
    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        posterior: Any = self.model.posterior(X)
        mean = posterior.mean.squeeze(-1).squeeze(-1)
        sigma = posterior.variance.clamp_min(1e-20).sqrt().squeeze(-1).squeeze(-1)
        log_theta = torch.special.log_ndtr(-mean / sigma)
        gap = self.best - self.quadratic(X.squeeze(-2))
        # θ g + (1 - θ) (g - 1) = g - 1 + θ, of which the root cannot be hit.
        certain = ((gap - 1.0).clamp_min(0.0) + log_theta.exp()).clamp_min(1e-300)
        return torch.where(gap > 1.0, certain.log(), log_theta + self._logarithm(gap))

    def _logarithm(self, gap: Tensor) -> Tensor:
        """The log of g and, where g is tiny or less, its tangent: a slope to climb."""
        tau = max(self._share * self.best, 1e-12)
        return gap.clamp_min(tau).log() + (gap - tau).clamp_max(0.0) / tau
