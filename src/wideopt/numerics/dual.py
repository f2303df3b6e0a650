"""The posterior in function space: an n × n factor, for fewer data than features.

Papers: Rasmussen & Williams 2006 eq. 2.25-2.30; Matheron's rule: Wilson et al. 2020.

Notation:
    K (..., n, n) kernel of the data, L Lᵀ = K + λI, α = (K + λI)⁻¹y
    mean = C α,  covariance = k - V V'ᵀ with C = k(A, X), V = C L⁻ᵀ
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.additive import AdditiveKernel
from wideopt.numerics.conditioning import Posterior, Projection
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.factor import Factor
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.kernel import (
    Draw,
    Kernel,
    Side,
    all_targets,
    cat_rows,
    folded_rows,
)
from wideopt.numerics.primal import PrimalPosterior

__all__ = ["DualPosterior"]


@dataclass(frozen=True)
class DualPosterior(Posterior):
    """Posterior given the kernel matrix of the data; costs O(n²) a point.

    With `is_switching`, `extended` returns a `PrimalPosterior` once there are more
    observations than features.
    """

    kernel: Kernel[Any]
    X: Float[Tensor, "... n d"]
    Y: Float[Tensor, "... n"]
    noise: Float[Tensor, "..."]
    side: Side
    factor: Factor
    alpha: Float[Tensor, "... n"]
    is_switching: bool = False

    @classmethod
    def of(
        cls,
        kernel: Kernel[Any],
        X: Float[Tensor, "... n d"],
        Y: Float[Tensor, "... n"],
        noise: Float[Tensor, "..."],
        *,
        is_switching: bool = False,
    ) -> DualPosterior:
        """Fit."""
        side = kernel.represent(X)
        factor = Factor.of(kernel.block_from(side, side), noise)
        alpha = factor.solve(Y)
        return cls(kernel, X, Y, noise, side, factor, alpha, is_switching)

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""
        return self.alpha.shape[:-1]

    @property
    def rank(self) -> int:
        """Number n of observations."""
        return self.n

    @property
    def n(self) -> int:
        """Number of observations."""
        return self.Y.shape[-1]

    def project(self, A: Float[Tensor, "... q d"]) -> Projection:
        """Return mean and V = k(A, X) L⁻ᵀ."""
        side = self.kernel.represent(A)
        C = self.kernel.block_from(side, self.side)
        mean = (C @ self.alpha.unsqueeze(-1)).squeeze(-1)
        return Projection(mean, self.factor.half_solve(C), side)

    def mean(self, A: Float[Tensor, "... q d"]) -> Float[Tensor, "... q"]:
        """Return the mean of every point, in O(n) each."""
        rows, unfold = folded_rows(A, len(self.batch))
        C = self.kernel.block_from(self.kernel.represent(rows), self.side)
        return unfold(C @ self.alpha.unsqueeze(-1)).squeeze(-1)

    def cross(self, a: Projection, b: Projection) -> Float[Tensor, "... q k"]:
        """Return k - V V'ᵀ."""
        return self.kernel.block_from(a.side, b.side) - a.V @ b.V.mT

    def variance(self, a: Projection) -> Float[Tensor, "... q"]:
        """Return k(x, x) - ‖v‖²."""
        return self.kernel.diag_from(a.side) - a.V.square().sum(-1)

    def extended(
        self, X: Float[Tensor, "... q d"], Y: Float[Tensor, "... k"]
    ) -> DualPosterior | PrimalPosterior:
        """Return the posterior with q more observations, in O(n² q).

        Y holds the q new targets, or all n + q if the old ones changed as well.
        """
        X_all = cat_rows(self.X, X)
        Y_all = all_targets(self.Y, Y, X.shape[-2])
        if self.is_switching and _is_outgrown(self.kernel, Y_all.shape[-1]):
            return PrimalPosterior.of(self.kernel, X_all, Y_all, self.noise)
        new = self.kernel.represent(X)
        factor = self.factor.extended(
            self.kernel.block_from(new, self.side), self.kernel.block_from(new, new)
        )
        return replace(
            self,
            X=X_all,
            Y=Y_all,
            side=self.side.joined(new),
            factor=factor,
            alpha=factor.solve(Y_all),
        )

    def selected(self, outputs: list[int]) -> DualPosterior:
        """Return the posterior of some outputs of a batch (o,)."""
        rows = torch.tensor(outputs, device=self.alpha.device)
        kernel = self.kernel.rescaled(self.kernel.scales.selected(outputs), rows)
        return replace(
            self,
            kernel=kernel,
            Y=self.Y[outputs],
            noise=self.noise[outputs],
            side=kernel.represent(self.X),
            factor=self.factor.selected(outputs),
            alpha=self.alpha[outputs],
        )

    def smooth(self) -> DualPosterior:
        """Return the posterior of the trend, where the kernel has a grain."""
        if not isinstance(self.kernel, InfiniteKernel | AdditiveKernel):
            return self
        return replace(self, kernel=replace(self.kernel, is_smooth=True))

    def with_targets(self, Y: Float[Tensor, "... n"]) -> DualPosterior:
        """Return the posterior for other targets at the same points, in O(n²)."""
        return replace(self, Y=Y, alpha=self.factor.solve(Y))

    @property
    def logdet(self) -> Float[Tensor, "..."]:
        """Logarithm of det(K + λI)."""
        return self.factor.logdet

    @property
    def information_gain(self) -> Float[Tensor, "..."]:
        """½ log det(I + K/λ)."""
        return 0.5 * (self.logdet - self.n * self.factor.nugget.log())

    def log_evidence(self) -> Float[Tensor, "..."]:
        """Return the log marginal likelihood of the data."""
        fit = (self.Y * self.alpha).sum(-1)
        return -0.5 * (fit + self.logdet + self.n * math.log(2 * math.pi))

    def draw(
        self, generator: torch.Generator, n_draws: int = 1, nu: float = 1.0
    ) -> Draw:
        """Draw joint posterior functions, of ν times their deviation from the mean.

        Matheron's rule: f = f0 + k(., X)(K + λI)⁻¹(y - f0(X) - ε), with f0 ν times a
        prior draw and ε ~ N(0, ν²λ).
        """
        shape = (n_draws, *self.batch)
        eps = torch.randn(
            (*shape, self.n),
            generator=generator,
            dtype=torch.float64,
            device=generator.device,
        )
        target = self.Y - nu * self.factor.nugget.sqrt().unsqueeze(-1) * eps
        return self.kernel.posterior_draw(
            generator, shape, self.X, lambda f0: self.factor.solve(target - f0), nu
        )


def _is_outgrown(kernel: Kernel[Any], n: int) -> TypeGuard[TangentKernel]:
    """Whether n observations exceed the features, so that primal is the smaller."""
    return isinstance(kernel, TangentKernel) and n > kernel.n_features
