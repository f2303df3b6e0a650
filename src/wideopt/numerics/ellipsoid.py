"""The ball of parameters around an estimate, grown by one gradient at a time.

Paper: GO-UCB, eq. 3 to 6.

Notation:
    Σ = λI + Σ_i g_i g_iᵀ = RᵀR    the shape (p, p), kept as the factor R
    Ball = {w : ‖w - ŵ‖²_Σ <= β}    center ŵ (p,), radius √β in the norm of Σ

Eq. 5 is solved one observation at a time: since row t is linearized at ŵ_t itself, its
normal equations are Σ_{t+1} ŵ_{t+1} = Σ_{t+1} ŵ_t + g_t (y_t - f_t(ŵ_t)), so that
ŵ_{t+1} = ŵ_t + Σ_{t+1}⁻¹ g_t (y_t - f_t(ŵ_t)): O(p²), and exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.factor import PrimalFactor

__all__ = ["Ball", "Projector"]

_N_NEWTON = 100


@dataclass(frozen=True)
class Ball:
    """{w : ‖w - center‖²_Σ <= beta} with Σ = RᵀR."""

    center: Float[Tensor, " p"]
    factor: PrimalFactor
    beta: float

    @classmethod
    def around(
        cls, center: Float[Tensor, " p"], G: Float[Tensor, "n p"], lam: float
    ) -> Ball:
        """The ball of Σ = λI + GᵀG, of radius 1."""
        p = center.shape[0]
        root = torch.tensor(lam, dtype=center.dtype, device=center.device)
        eye = torch.eye(p, dtype=center.dtype, device=center.device)
        start = PrimalFactor(root.sqrt() * eye, root)
        return cls(center, start.extended(G) if len(G) else start, 1.0)

    def with_beta(self, beta: float) -> Ball:
        """The ball with another radius."""
        return replace(self, beta=beta)

    def widened(self, G: Float[Tensor, "n p"]) -> Ball:
        """Σ grown by gradients whose outcome is as predicted: the center stays."""
        return replace(self, factor=self.factor.extended(G)) if len(G) else self

    def updated(self, g: Float[Tensor, " p"], error: Float[Tensor, ""]) -> Ball:
        """Eq. 3 and 5 after one observation, with error = y - f(ŵ) at gradient g."""
        factor = self.factor.extended(g[None, :])
        return replace(
            self, center=self.center + factor.solve(g) * error, factor=factor
        )

    def reach(self, G: Float[Tensor, "n p"]) -> Float[Tensor, " n"]:
        """√β ‖g‖_{Σ⁻¹}: how far a linear function g'w rises above its center."""
        V = self.factor.half_solve(G)
        reach: Tensor = (self.beta * V.square().sum(-1).clamp_min(1e-300)).sqrt()
        return reach

    def farthest(self, G: Float[Tensor, "n p"]) -> Float[Tensor, "n p"]:
        """The directions v, ‖v‖ = 1, of the points of the ball where g'w is largest."""
        V = self.factor.half_solve(G)
        size = V.square().sum(-1, keepdim=True).sqrt()
        return V / size.clamp_min(1e-150)

    def points(self, V: Float[Tensor, "b p"]) -> Float[Tensor, "b p"]:
        """ŵ + √β R⁻¹v, with v first projected onto the unit ball.

        That is the exact projection of ŵ + √β R⁻¹v onto the ellipsoid in its own norm;
        differentiable in v.
        """
        size = V.square().sum(-1, keepdim=True).clamp_min(1.0).sqrt()
        radius = math.sqrt(self.beta)
        return self.center + radius * self.factor.back_solve(V / size)


@dataclass(frozen=True)
class Projector:
    """Euclidean projection onto a ball, in the basis of Σ's eigenvectors."""

    center: Float[Tensor, " p"]
    vectors: Float[Tensor, "p p"]
    eigenvalues: Float[Tensor, " p"]
    beta: float

    @classmethod
    def of(cls, ball: Ball) -> Projector:
        """The projector, in O(p³) once; Σ has R's right singular vectors."""
        _, s, Vh = torch.linalg.svd(ball.factor.R)
        return cls(ball.center, Vh.mT, s.square(), ball.beta)

    def __call__(self, W: Float[Tensor, "b p"]) -> Float[Tensor, "b p"]:
        """The nearest points of the ball, exact up to rounding.

        With y = Vᵀ(w - ŵ), the nearest point is y_i / (1 + μ s_i), where μ >= 0 solves
        φ(μ) = Σ s_i y_i² / (1 + μ s_i)² = β if w lies outside, else 0. Newton on
        1/√φ, which is concave and nearly linear, rises to the root from μ = 0.
        """
        y, s = (W - self.center) @ self.vectors, self.eigenvalues
        mu = torch.zeros_like(y[:, :1])
        for _ in range(_N_NEWTON):
            shrunk = y / (1 + mu * s)
            phi = (s * shrunk.square()).sum(-1, keepdim=True).clamp_min(1e-300)
            slope = (s.square() * shrunk.square() / (1 + mu * s)).sum(-1, keepdim=True)
            # φ' = -2 slope, so (1/√φ)' = slope / φ^1.5
            step = (phi / slope.clamp_min(1e-300)) * ((phi / self.beta).sqrt() - 1)
            step = torch.where(phi > self.beta, step, 0.0)
            mu = mu + step
            if bool((step <= 1e-15 * mu).all()):
                break
        return self.center + (y / (1 + mu * s)) @ self.vectors.mT
