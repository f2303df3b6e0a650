"""The posterior in weight space: a p × p factor, for more data than features.

Papers: NeuralBO Alg. 1, Neural-CBO eq. 3-4; Björck 1987 (refined seminormal equations).

Notation:
    G (..., n, p)      features of the data, never stored: only its side is
    U = λI + GᵀG = RᵀR
    w = U⁻¹Gᵀy,  mean = gᵀw,  covariance = λ g U⁻¹ g'ᵀ = λ V V'ᵀ with V = g R⁻¹
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.conditioning import Posterior, Projection
from wideopt.numerics.empirical import TangentDraw, TangentKernel, TangentSide
from wideopt.numerics.factor import PrimalFactor
from wideopt.numerics.kernel import all_targets, cat_rows

__all__ = ["PrimalPosterior"]

_ROWS = 4096  # features of so many points are formed at a time


@dataclass(frozen=True)
class PrimalPosterior(Posterior):
    """Posterior of weights w ~ N(0, I) with f(x) = g(x)ᵀw; costs O(p²) a point."""

    kernel: TangentKernel
    X: Float[Tensor, "... n d"]
    Y: Float[Tensor, "... n"]
    noise: Float[Tensor, "..."]
    side: TangentSide
    factor: PrimalFactor
    w: Float[Tensor, "... p"]

    @classmethod
    def of(
        cls,
        kernel: TangentKernel,
        X: Float[Tensor, "... n d"],
        Y: Float[Tensor, "... n"],
        noise: Float[Tensor, "..."],
    ) -> PrimalPosterior:
        """Fit; noise must be positive."""
        side = kernel.represent(X)
        factor = PrimalFactor.of(kernel.n_features, _chunks(kernel, side), noise)
        return cls(kernel, X, Y, noise, side, factor, _weights(kernel, side, factor, Y))

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""
        return self.w.shape[:-1]

    @property
    def rank(self) -> int:
        """Number p of features."""
        return self.kernel.n_features

    @property
    def n(self) -> int:
        """Number of observations."""
        return self.Y.shape[-1]

    def project(self, A: Float[Tensor, "... q d"]) -> Projection:
        """Return mean and V = g R⁻¹."""
        G = self.kernel.features(A)
        mean = (G @ self.w.unsqueeze(-1)).squeeze(-1)
        return Projection(mean, self.factor.half_solve(G), None)

    def cross(self, a: Projection, b: Projection) -> Float[Tensor, "... q k"]:
        """Return λ V V'ᵀ."""
        return self.factor.noise[..., None, None] * (a.V @ b.V.mT)

    def variance(self, a: Projection) -> Float[Tensor, "... q"]:
        """Return λ‖v‖²."""
        return self.factor.noise.unsqueeze(-1) * a.V.square().sum(-1)

    def extended(
        self, X: Float[Tensor, "... q d"], Y: Float[Tensor, "... k"]
    ) -> PrimalPosterior:
        """Return the posterior with q more observations, in O(p² q).

        Y holds the q new targets, or all n + q if the old ones changed as well.
        """
        if X.requires_grad:
            raise InputError(
                "extended() of a primal posterior is not differentiable in X: "
                "use conditioned()."
            )
        new = self.kernel.represent(X)
        factor = self.factor.extended(self.kernel.features_from(new))
        side = self.side.joined(new)
        Y_all = all_targets(self.Y, Y, X.shape[-2])
        return replace(
            self,
            X=cat_rows(self.X, X),
            Y=Y_all,
            side=side,
            factor=factor,
            w=_weights(self.kernel, side, factor, Y_all),
        )

    def selected(self, outputs: list[int]) -> PrimalPosterior:
        """Return the posterior of some outputs of a batch (o,)."""
        rows = torch.tensor(outputs, device=self.w.device)
        kernel = self.kernel.rescaled(self.kernel.scales.selected(outputs), rows)
        return replace(
            self,
            kernel=kernel,
            Y=self.Y[outputs],
            noise=self.noise[outputs],
            side=kernel.represent(self.X),
            factor=PrimalFactor(self.factor.R[outputs], self.factor.noise[outputs]),
            w=self.w[outputs],
        )

    def with_targets(self, Y: Float[Tensor, "... n"]) -> PrimalPosterior:
        """Return the posterior for other targets at the same points."""
        return replace(self, Y=Y, w=_weights(self.kernel, self.side, self.factor, Y))

    @property
    def logdet(self) -> Float[Tensor, "..."]:
        """Logarithm of det(K + λI) of the n × n matrix."""
        p = self.kernel.n_features
        return self.factor.logdet + (self.n - p) * self.factor.noise.log()

    @property
    def information_gain(self) -> Float[Tensor, "..."]:
        """½ log det(I + K/λ)."""
        return 0.5 * (self.logdet - self.n * self.factor.noise.log())

    def log_evidence(self) -> Float[Tensor, "..."]:
        """Return the log marginal likelihood; yᵀ(K+λI)⁻¹y = (‖y-Gw‖² + λ‖w‖²)/λ."""
        r = self.Y - self.kernel.jvp_from(self.side, self.w)
        noise = self.factor.noise
        fit = r.square().sum(-1) / noise + self.w.square().sum(-1)
        return -0.5 * (fit + self.logdet + self.n * math.log(2 * math.pi))

    def draw(
        self, generator: torch.Generator, n_draws: int = 1, nu: float = 1.0
    ) -> TangentDraw:
        """Draw joint posterior functions: weights w + ν√λ R⁻¹z, z ~ N(0, I)."""
        shape = (n_draws, *self.batch, self.kernel.n_features)
        z = torch.randn(
            shape, generator=generator, dtype=torch.float64, device=generator.device
        )
        spread = self.factor.noise.sqrt().unsqueeze(-1) * self.factor.back_solve(z)
        return TangentDraw(self.kernel, self.w + nu * spread)


def _chunks(kernel: TangentKernel, side: TangentSide) -> Iterator[Tensor]:
    for part in side.split(_ROWS):
        yield kernel.features_from(part)


def _weights(
    kernel: TangentKernel,
    side: TangentSide,
    factor: PrimalFactor,
    Y: Float[Tensor, "... n"],
) -> Float[Tensor, "... p"]:
    """Return w = U⁻¹Gᵀy; one refinement removes the squared condition of Gᵀy."""
    noise = factor.noise.unsqueeze(-1)
    w = factor.solve(kernel.vjp_from(side, Y))
    r = Y - kernel.jvp_from(side, w)
    return w + factor.solve(kernel.vjp_from(side, r) - noise * w)
