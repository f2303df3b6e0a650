"""The joint posterior of values and residuals: a function that obeys equations.

Paper: PINN-BO (Phan-Trong's thesis), Lemma 5.3.4 and 5.3.6, for the network of
`smooth`. Residuals are observed like values: ℓ_j[u] = b_j up to an error of deviation
σ_j = τ sd(ℓ_j[u]), relative to what is believed before any data, so that an equation
may be multiplied by any function without effect. τ is how far the physics may be off.

Notation:
    rows     r residuals, then n values, each divided by its σ_i (√λ for a value)
    K (N, N) their kernel, L Lᵀ = K + I, α = (K + I)⁻¹ targets/σ
    I(f; Y | U) = Σ log L_ii over the values: what they tell beyond the equations U
    I(f; Y; U) = I(f; Y) - I(f; Y | U), the interaction information
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.conditioning import Posterior, Projection
from wideopt.numerics.factor import Factor
from wideopt.numerics.smooth import (
    Functionals,
    Kernel,
    SmoothDraw,
    rows_of_all,
)

__all__ = ["Physics", "PhysicsPosterior", "conditional_nll"]

_DRAW_WIDTH = 2048


@dataclass(frozen=True)
class Physics:
    """Hyper-parameters of one output: kernel, noise λ and tolerance τ."""

    kernel: Kernel
    noise: Float[Tensor, ""]
    tau: Float[Tensor, ""]


@dataclass(frozen=True)
class PhysicsPosterior(Posterior):
    """Posterior of one output given residuals and values, in its dual form."""

    kernel: Kernel
    groups: tuple[Functionals, ...]
    sigma: Float[Tensor, " N"]
    targets: Float[Tensor, " N"]
    factor: Factor
    noise: Float[Tensor, "1"]

    @classmethod
    def of(
        cls,
        physics: Physics,
        residuals: Sequence[Functionals],
        rhs: Float[Tensor, " r"],
        X: Float[Tensor, "n d"],
        y: Float[Tensor, " n"],
    ) -> PhysicsPosterior:
        """Fit; the values come last, so that more of them can follow."""
        kernel = physics.kernel
        groups = (*residuals, Functionals.values(X))
        K = kernel.all_block(groups, groups)
        r = len(rhs)
        sd = _deviation(K[:r, :r]) if r else rhs
        sigma = torch.cat([physics.tau * sd, physics.noise.sqrt().expand(len(y))])
        factor = Factor.of(K / (sigma.unsqueeze(1) * sigma), torch.ones_like(sigma[0]))
        targets = torch.cat([rhs, y])
        return cls(kernel, groups, sigma, targets, factor, physics.noise.reshape(1))

    @property
    def batch(self) -> torch.Size:
        """One output."""
        return torch.Size([1])

    @property
    def rank(self) -> int:
        """Number N of rows."""
        return self.sigma.shape[0]

    @property
    def X(self) -> Float[Tensor, "n d"]:
        """Points whose values are known."""
        return self.groups[-1].T

    @property
    def Y(self) -> Float[Tensor, "1 n"]:
        """Their values."""
        return self.targets[self.n_residuals :].unsqueeze(0)

    @property
    def n_residuals(self) -> int:
        """Number r of residuals."""
        return self.rank - self.groups[-1].n

    @cached_property
    def alpha(self) -> Float[Tensor, " N"]:
        """(K + I)⁻¹ targets/σ."""
        return self.factor.solve(self.targets / self.sigma)

    def project(self, A: Float[Tensor, "... q d"]) -> Projection:
        """Return mean and V = k(A, rows) L⁻ᵀ."""
        points = Functionals.values(A)
        C = self.kernel.all_block([points], self.groups) / self.sigma
        return Projection(C @ self.alpha, self.factor.half_solve(C), points)

    def cross(self, a: Projection, b: Projection) -> Float[Tensor, "... q k"]:
        """Return k - V V'ᵀ."""
        return self.kernel.block(a.side, b.side) - a.V @ b.V.mT

    def variance(self, a: Projection) -> Float[Tensor, "... q"]:
        """Return k(x, x) - ‖v‖²."""
        return self.kernel.diagonal(a.side) - a.V.square().sum(-1)

    def of_functionals(
        self, a: Functionals
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """Posterior mean of other functionals, and their prior deviation."""
        C = self.kernel.all_block([a], self.groups) / self.sigma
        return C @ self.alpha, _positive(self.kernel.diagonal(a).expand(a.n))

    def slopes(
        self, T: Float[Tensor, "m d"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, "m d"]]:
        """Posterior mean at points, and its gradient at each: all in one pass."""
        with torch.enable_grad():
            points = T.detach().requires_grad_()
            C = self.kernel.all_block([Functionals.values(points)], self.groups)
            mean = (C / self.sigma) @ self.alpha
            (slopes,) = torch.autograd.grad(mean.sum(), points)
        return mean.detach(), slopes

    def extended(
        self,
        X: Float[Tensor, "q d"],
        y: Float[Tensor, " nq"],
        rhs: Float[Tensor, " r"],
    ) -> PhysicsPosterior:
        """Return the posterior with q more values, in O(N² q); all targets anew."""
        new = Functionals.values(X)
        sd = self.noise.sqrt()
        cross = self.kernel.all_block([new], self.groups) / (sd * self.sigma)
        factor = self.factor.extended(cross, self.kernel.block(new, new) / self.noise)
        return replace(
            self,
            groups=(*self.groups[:-1], self.groups[-1].joined(new)),
            sigma=torch.cat([self.sigma, sd.expand(len(X))]),
            targets=torch.cat([rhs, y]),
            factor=factor,
        )

    def with_targets(
        self, y: Float[Tensor, " n"], rhs: Float[Tensor, " r"]
    ) -> PhysicsPosterior:
        """Return the posterior for other targets at the same points."""
        return replace(self, targets=torch.cat([rhs, y]))

    def selected(self, outputs: list[int]) -> PhysicsPosterior:
        """Return the posterior of its only output."""
        del outputs
        return self

    def calibration(self, caution: float) -> Float[Tensor, ""]:
        """Return the factor >= 1 by which variances must grow to match left-out values.

        The mean of squared residuals over variances of values that are left out one by
        one (Rasmussen & Williams 2006 eq. 5.12), shrunk towards 1.
        """
        precision = torch.cholesky_inverse(self.factor.L).diagonal()
        z2 = (self.alpha.square() / precision)[self.n_residuals :]
        return ((z2.sum() + caution) / (len(z2) + caution)).clamp_min(1.0)

    @property
    def conditional_gain(self) -> Float[Tensor, ""]:
        """I(f; Y | U), in nats."""
        return self.factor.L.diagonal()[self.n_residuals :].log().sum()

    @property
    def information_gain(self) -> Float[Tensor, "1"]:
        """I(f; Y) = ½ log det(I + K_uu/λ), as if there were no equations."""
        values = self.groups[-1]
        K = self.kernel.block(values, values) / self.noise
        return (0.5 * Factor.of(K, torch.ones_like(self.noise[0])).logdet).reshape(1)

    @property
    def interaction_information(self) -> Float[Tensor, "1"]:
        """I(f; Y; U): what values and equations both tell."""
        return self.information_gain - self.conditional_gain

    def draw(
        self, generator: torch.Generator, n_draws: int = 1, nu: float = 1.0
    ) -> SmoothDraw:
        """Draw joint posterior functions, of ν times their deviation from the mean."""
        features = self.kernel.features(_DRAW_WIDTH, generator)
        kwargs = {"generator": generator, "dtype": torch.float64}
        rows = rows_of_all(features, self.groups)
        w = torch.randn(n_draws, rows.shape[1], **kwargs)  # type: ignore[call-overload]
        eps = torch.randn(n_draws, self.rank, **kwargs)  # type: ignore[call-overload]
        w, eps = nu * w.to(self.sigma), nu * eps.to(self.sigma)
        f0 = w @ rows.mT
        v = self.factor.solve((self.targets - f0) / self.sigma - eps) / self.sigma
        return SmoothDraw(features, w, self.groups, v)


def conditional_nll(
    physics: Physics,
    residuals: Sequence[Functionals],
    rhs: Float[Tensor, " r"],
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
) -> Float[Tensor, ""]:
    """-log p(y | the equations); differentiable in the hyper-parameters.

    Conditional, since the equations are given, not observed by chance: the joint
    evidence would reward kernels under which residuals are small anyway.
    """
    posterior = PhysicsPosterior.of(physics, residuals, rhs, X, y)
    r, n = len(rhs), len(y)
    L = posterior.factor.L
    t = (posterior.targets / posterior.sigma).unsqueeze(1)
    z: Tensor = torch.linalg.solve_triangular(L, t, upper=False)[r:]
    logdet = L.diagonal()[r:].log().sum() + 0.5 * n * physics.noise.log()
    return 0.5 * z.square().sum() + logdet + 0.5 * n * math.log(2 * math.pi)


def _deviation(K: Float[Tensor, "n n"]) -> Float[Tensor, " n"]:
    """Prior deviation of functionals with covariance K; positive."""
    return _positive(K.diagonal())


def _positive(variance: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Deviations of these variances; positive."""
    least = 1e-24 * variance.detach().max().clamp_min(1e-200)
    return variance.clamp_min(float(least)).sqrt()
