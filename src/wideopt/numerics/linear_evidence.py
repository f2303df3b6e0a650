"""Bayesian linear regression: scale and noise of maximal evidence.

Papers: Bishop 2006 sec. 3.5; DNGO, Snoek et al. (2015) eq. 3-5, where α = 1/o², β = 1/λ
are sampled. For a given ratio ρ = λ/o² the best o² has a closed form, so one dimension
is left to search.

Notation:
    H (..., n, p) features, y (..., n) targets, H = U diag(s) Vᵀ with k = min(n, p)
    y ~ N(0, o² (H Hᵀ + ρI)),   λ = o² ρ
    q(ρ) = yᵀ(HHᵀ + ρI)⁻¹y = Σ_i (U_iᵀy)²/(s_i² + ρ) + (‖y‖² - ‖Uᵀy‖²)/ρ,   o² = q/n
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["LinearEvidence", "fit_linear_evidence"]

_SPAN = (1e-8, 1e4)  # of ρ, in mean squares of a row of features
_N_GRID = 49
_N_ROUNDS = 4  # each narrows the search to two steps of the grid


@dataclass(frozen=True)
class LinearEvidence:
    """Spectrum of the features, and what the log evidence needs of the targets."""

    n: int
    s2: Float[Tensor, "... k"]
    u2: Float[Tensor, "... k"]
    rest: Float[Tensor, "..."]

    @classmethod
    def of(
        cls, H: Float[Tensor, "... n p"], y: Float[Tensor, "... n"]
    ) -> LinearEvidence:
        """Return the evidence of targets y as a function of o² and ρ."""
        U, s, _ = torch.linalg.svd(H, full_matrices=False)
        u2 = (U.mT @ y.unsqueeze(-1)).squeeze(-1).square()
        rest = (y.square().sum(-1) - u2.sum(-1)).clamp_min(0.0)
        return cls(y.shape[-1], s.square(), u2, rest)

    def misfit(self, rho: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return q(ρ)."""
        return (self.u2 / (self.s2 + rho.unsqueeze(-1))).sum(-1) + self.rest / rho

    def log_evidence(
        self, variance: Float[Tensor, "..."], rho: Float[Tensor, "..."]
    ) -> Float[Tensor, "..."]:
        """Return log N(y; 0, o² (HHᵀ + ρI)) with o² the variance."""
        logdet = (self.s2 + rho.unsqueeze(-1)).log().sum(-1)
        logdet = logdet + (self.n - self.s2.shape[-1]) * rho.log()
        scale = self.n * (2 * math.pi * variance).log()
        return -0.5 * (self.misfit(rho) / variance + logdet + scale)


def fit_linear_evidence(
    H: Float[Tensor, "... n p"], y: Float[Tensor, "... n"], min_noise: float = 1e-6
) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """Return o² and λ >= min_noise of maximal evidence, for every output."""
    problem = LinearEvidence.of(H, y)
    typical = H.square().sum(-1).mean(-1).clamp_min(1e-12)
    low, high = (math.log(end) + typical.log() for end in _SPAN)
    t = torch.linspace(0.0, 1.0, _N_GRID, dtype=y.dtype, device=y.device)
    t = t.reshape(-1, *(1,) * low.ndim)
    for _ in range(_N_ROUNDS):
        rho = (low + t * (high - low)).exp()
        variance = torch.maximum(problem.misfit(rho) / problem.n, min_noise / rho)
        best = problem.log_evidence(variance, rho).argmax(dim=0, keepdim=True)
        step = (high - low) / (_N_GRID - 1)
        center = rho.gather(0, best).squeeze(0)
        low, high = center.log() - step, center.log() + step
    variance = variance.gather(0, best).squeeze(0)
    return variance, variance * center
