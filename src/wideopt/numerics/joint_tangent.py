"""Values and residuals in the tangent features of a network: Lemma 5.3.4 and 5.3.6.

Paper: PINN-BO (Phan-Trong's thesis), sec. 5.2-5.3. Every quantity is computed on the
smaller side: with p features and N = n + r rows, from a factor of size min(N, p).

Notation:
    Φ (n, p) = ∇_θ h, Ω (r, p) = ∇_θ N[h] at θ_0, λ1, λ2 their noise
    R (N, p) = (Φ/√λ1; Ω/√λ2), t (N,) = (Y/√λ1; U/√λ2)
    mean = φᵀRᵀ(RRᵀ + I)⁻¹t = φᵀ(RᵀR + I)⁻¹Rᵀt
    σ² = φᵀφ - φᵀRᵀ(RRᵀ + I)⁻¹Rφ = φᵀ(RᵀR + I)⁻¹φ
    I(f; Y) = ½ log det(ΦᵀΦ/λ1 + I), I(f; Y; U) = I(f; Y) + I(f; U) - I(f; Y, U)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["JointTangent", "gain"]


def gain(
    R: Float[Tensor, "n p"], side: Literal["dual", "primal"] | None = None
) -> Float[Tensor, ""]:
    """½ log det(RᵀR + I), from the smaller of the two matrices unless told."""
    return _factor(R, _side(R, side)).diagonal().log().sum()


@dataclass(frozen=True)
class JointTangent:
    """The joint posterior of a linearized network."""

    Phi: Float[Tensor, "n p"]
    Omega: Float[Tensor, "r p"]
    lam1: float
    lam2: float
    side: Literal["dual", "primal"] | None = None

    @property
    def rows(self) -> Float[Tensor, "N p"]:
        """R: all rows in units of their noise."""
        return torch.cat([self.Phi / self.lam1**0.5, self.Omega / self.lam2**0.5])

    @property
    def value_gain(self) -> Float[Tensor, ""]:
        """I(f; Y)."""
        return gain(self.Phi / self.lam1**0.5, self.side)

    @property
    def interaction(self) -> Float[Tensor, ""]:
        """I(f; Y; U), never negative."""
        of_residuals = gain(self.Omega / self.lam2**0.5, self.side)
        return self.value_gain + of_residuals - gain(self.rows, self.side)

    def moments(
        self,
        phi: Float[Tensor, "q p"],
        Y: Float[Tensor, " n"],
        U: Float[Tensor, " r"],
    ) -> tuple[Float[Tensor, " q"], Float[Tensor, " q"]]:
        """Mean and variance at points of features φ."""
        R = self.rows
        t = torch.cat([Y / self.lam1**0.5, U / self.lam2**0.5])
        side = _side(R, self.side)
        L = _factor(R, side)
        if side == "dual":
            V = torch.linalg.solve_triangular(L, R @ phi.mT, upper=False)
            v = torch.linalg.solve_triangular(L, t.unsqueeze(1), upper=False)
            return (V.mT @ v)[:, 0], phi.square().sum(-1) - V.square().sum(0)
        V = torch.linalg.solve_triangular(L, phi.mT, upper=False)
        v = torch.linalg.solve_triangular(L, (R.mT @ t).unsqueeze(1), upper=False)
        return (V.mT @ v)[:, 0], V.square().sum(0)


def _side(R: Tensor, side: Literal["dual", "primal"] | None) -> str:
    return side or ("dual" if R.shape[0] <= R.shape[1] else "primal")


def _factor(R: Float[Tensor, "N p"], side: str) -> Float[Tensor, "k k"]:
    """Lower factor of RRᵀ + I or RᵀR + I."""
    S = R @ R.mT if side == "dual" else R.mT @ R
    L: Tensor = torch.linalg.cholesky(S + torch.eye(len(S), dtype=S.dtype).to(S))
    return L
