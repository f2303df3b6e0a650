"""Acquisitions that value what an evaluation teaches, on a log scale.

- `max_value_entropy`: how much is learned about the minimum *value* y*. Wang and
  Jegelka (2017), with noise as in Takeno et al. (2020); or its analytic lower bound,
  GIBBON, Moss et al. (2021). BoTorch's.
- `predictive_entropy`: how much is learned about the *minimizer* x*. Hernández-Lobato,
  Hoffman and Ghahramani (2014), by expectation propagation. BoTorch's.
- `KnowledgeGradient`: by how much the lowest posterior mean is expected to fall.
  Frazier, Powell and Dayanik (2009); Scott, Frazier and Powell (2011).

BoTorch's one-shot qKnowledgeGradient searches x and the minimizers of all fantasies
jointly, which excludes discrete spaces and products with a feasibility. With the inner
minimum over a finite set A ∪ {x}, the same estimate has a closed form. Observing f at x
moves the means along one direction, z ~ N(0, 1):

    μ'(a) = μ(a) + σ̃(a, x) z,    σ̃(a, x) = k(a, x) / √(k(x, x) + σ_noise²)
    KG(x) = min_a μ(a) - E_z min_a μ'(a)
"""

from __future__ import annotations

from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.max_value_entropy_search import (
    qLowerBoundMaxValueEntropy,
    qMaxValueEntropy,
)
from botorch.acquisition.predictive_entropy_search import qPredictiveEntropySearch
from botorch.models.model import Model
from botorch.utils.sampling import manual_seed
from botorch.utils.transforms import t_batch_mode_transform
from jaxtyping import Float
from torch import Tensor

from wideopt.surrogates.base import quiet

__all__ = [
    "KnowledgeGradient",
    "LogOfPositive",
    "max_value_entropy",
    "predictive_entropy",
]

_N_VALUES = 16  # sampled minima y*
_N_OUTCOMES = 32  # sampled outcomes of an evaluation
_JITTERS = (1e-4, 1e-3, 1e-2)  # expectation propagation fails now and then


class LogOfPositive(AcquisitionFunction):
    """log softplus(a(x) / τ): the log of an acquisition that is positive in theory.

    Monotone, so that the maximizer stays; equal to log a(x) up to a constant where
    a ≫ τ; finite where an estimate came out at zero or below.
    """

    def __init__(self, acqf: AcquisitionFunction, tau: float = 1e-4) -> None:
        super().__init__(model=acqf.model)
        self.acqf, self.tau = acqf, tau

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        u = self.acqf(X) / self.tau
        softplus = torch.nn.functional.softplus(u.clamp_min(-30.0))
        return torch.where(u > -30.0, softplus.log(), u)


def max_value_entropy(
    model: Model,
    A: Float[Tensor, "m d"],
    X_best: Float[Tensor, "k d"],
    seed: int,
    *,
    is_bound: bool = False,
) -> AcquisitionFunction:
    """Information about the minimum value over A and X_best, observed points."""
    settings: Any = {
        "candidate_set": A,
        "train_inputs": X_best,
        "num_mv_samples": _N_VALUES,
        "maximize": False,
    }
    with manual_seed(seed), quiet():
        if is_bound:
            return qLowerBoundMaxValueEntropy(model, **settings)
        return qMaxValueEntropy(model, num_y_samples=_N_OUTCOMES, **settings)


def predictive_entropy(
    model: Model, minimizers: Float[Tensor, "s d"]
) -> AcquisitionFunction | None:
    """Information about the minimizer, given samples of it; None if it cannot be had.

    Expectation propagation may break down on nearly singular matrices; it is tried
    again with more jitter.
    """
    for jitter in _JITTERS:
        try:
            with quiet(), torch.no_grad():
                return _PredictiveEntropy(
                    model,
                    minimizers,
                    maximize=False,
                    max_ep_iterations=25,
                    ep_jitter=jitter,
                    test_jitter=jitter,
                )
        except (RuntimeError, ValueError):
            continue
    return None


class _PredictiveEntropy(qPredictiveEntropySearch):
    """With NaN, which counts as worst, where expectation propagation breaks down."""

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        try:
            value: Tensor = super().forward(X)
        except (RuntimeError, ValueError):
            return torch.full_like(X[..., 0, 0], torch.nan)
        return value


class KnowledgeGradient(AcquisitionFunction):
    """Expected fall of the lowest posterior mean over A ∪ {x}.

    Args:
        model: of the objective, minimized.
        A: where the minimum of the mean may lie.
        n_outcomes: values of z, the quantiles (i - ½)/n of a standard normal. They are
            symmetric, so that KG >= 0 by Jensen's inequality.
    """

    def __init__(
        self, model: Model, A: Float[Tensor, "m d"], n_outcomes: int = 16
    ) -> None:
        super().__init__(model=model)
        levels = (torch.arange(n_outcomes).to(A) + 0.5) / n_outcomes
        self.A, self.z = A, torch.special.ndtri(levels)
        with torch.no_grad():
            noisy: Any = model.posterior(A[:1], observation_noise=True)
            clean: Any = model.posterior(A[:1])
            self.noise = (noisy.variance - clean.variance).clamp_min(0.0).squeeze()

    @t_batch_mode_transform(expected_q=1)  # type: ignore[arg-type] # wants any acqf
    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        points = X.reshape(-1, X.shape[-1])
        n = points.shape[0]
        posterior: Any = self.model.posterior(torch.cat([points, self.A]))
        mean, C = posterior.mean.squeeze(-1), posterior.distribution.covariance_matrix
        variance = C.diagonal()[:n].clamp_min(1e-20)
        mu = torch.cat([mean[n:].expand(n, -1), mean[:n, None]], dim=1)
        k = torch.cat([C[:n, n:], variance[:, None]], dim=1)
        sigma = k / (variance + self.noise).sqrt()[:, None]  # (n, |A| + 1)
        fallen = (mu[:, :, None] + sigma[:, :, None] * self.z).amin(dim=1)
        value: Tensor = mu.amin(dim=1) - fallen.mean(dim=1)
        return value.reshape(X.shape[:-2])
