"""Bandits that learn from one arm about another, through its features.

Thesis (Phan-Trong) sections 2.3.5.4 and 2.3.5.5. LinUCB: Li, Chu, Langford and Schapire
(2010); LinTS: Agrawal and Goyal (2013). KernelUCB: Valko et al. (2013); KernelTS:
Chowdhury and Gopalan (2017). Features of an arm are its coordinates, in [-1, 1], and a
constant: φ = (1, 2x - 1). Pulls under way are taken to come out at their mean, which
leaves the mean as it is and narrows the confidence.

Notation: Φ features of pulls, r rewards, λ ridge, α exploration.

    linear:  A = λI + ΦᵀΦ,  θ̂ = A⁻¹Φᵀr;    mean φᵀθ̂, variance φᵀA⁻¹φ
    kernel:  mean k(K + λI)⁻¹r, variance k(x, x) - k(K + λI)⁻¹kᵀ

n pulls of one arm are one observation of their mean with λ/n, so that the cost does not
grow with the number of pulls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.arms import Arms
from wideopt.methods.base import State, check_positive, one_by_one

__all__ = ["FeatureBandit", "KernelBelief", "LinearBelief"]

_MAX_JOINT = 2000  # arms drawn jointly, since that costs their number cubed
_N_MEDIAN = 500  # arms whose distances give the length scale
_RIDGE = {"linear": 1.0, "kernel": 0.1}


@dataclass(frozen=True)
class FeatureBandit:
    """A linear or kernel model of the rewards, and a confidence bound or a draw.

    Attributes:
        model: "linear" or "kernel".
        rule: "ucb" or "ts".
        exploration: α, the factor on the standard deviation.
        ridge: λ; by default 1 for linear, 0.1 for kernel.
        length_scale: of the Gaussian kernel; by default the median distance of arms.
    """

    is_bandit: ClassVar[bool] = True

    model: Literal["linear", "kernel"] = "linear"
    rule: Literal["ucb", "ts"] = "ucb"
    exploration: float = 1.0
    ridge: float | None = None
    length_scale: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "exploration", "ridge", "length_scale")

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The arms of highest bound or draw; nothing is remembered but the data."""

        def choose(data: Dataset) -> Tensor:
            arms = Arms.of(data)
            belief = self._belief(arms)
            is_ucb = self.rule == "ucb"
            width = belief.sigma() if is_ucb else belief.deviation(generator)
            return arms.X[int((belief.mean + self.exploration * width).argmax())]

        return one_by_one(data, n, choose), state

    def _belief(self, arms: Arms) -> LinearBelief | KernelBelief:
        ridge = self.ridge or _RIDGE[self.model]
        if self.model == "linear":
            return LinearBelief.of(arms, ridge)
        return KernelBelief.of(arms, ridge, self.length_scale)


@dataclass(frozen=True)
class LinearBelief:
    """Bayesian linear regression: the covariance of the arms is F Fᵀ."""

    mean: Float[Tensor, " N"]
    F: Float[Tensor, "N p"]

    @classmethod
    def of(cls, arms: Arms, ridge: float) -> LinearBelief:
        """The belief after the pulls of these arms."""
        Phi = torch.cat([torch.ones_like(arms.X[:, :1]), 2.0 * arms.X - 1.0], dim=1)
        A_0 = ridge * torch.eye(Phi.shape[1]).to(Phi)
        A = A_0 + (Phi.mT * arms.n_pulls) @ Phi
        theta = torch.linalg.solve(A, Phi.mT @ (arms.n_pulls * arms.mean))
        A_pending = A + (Phi.mT * arms.n_pending) @ Phi
        L = torch.linalg.cholesky(A_pending)
        F = torch.linalg.solve_triangular(L, Phi.mT, upper=False).mT
        return cls(Phi @ theta, F)

    def sigma(self) -> Float[Tensor, " N"]:
        """√(φᵀA⁻¹φ)."""
        return self.F.square().sum(dim=1).sqrt()

    def deviation(self, generator: torch.Generator) -> Float[Tensor, " N"]:
        """φᵀ(θ̃ - θ̂) for one draw θ̃."""
        return self.F @ _normal(self.F, self.F.shape[1], generator)


@dataclass(frozen=True)
class KernelBelief:
    """Kernel ridge regression: the covariance of the arms is K - V Vᵀ."""

    X: Float[Tensor, "N d"]
    length_scale: float
    mean: Float[Tensor, " N"]
    V: Float[Tensor, "N k"]

    @classmethod
    def of(
        cls, arms: Arms, ridge: float, length_scale: float | None = None
    ) -> KernelBelief:
        """The belief after the pulls of these arms."""
        scale = length_scale or _median_distance(arms.X)
        is_seen, n = arms.n_pulls > 0, arms.n_pulls
        center = (n * arms.mean).sum() / n.sum()
        L, k = _factor(arms.X, n, ridge, scale)
        solved = torch.cholesky_solve((arms.mean[is_seen] - center)[:, None], L)
        mean = center + (k @ solved)[:, 0]
        L, k = _factor(arms.X, n + arms.n_pending, ridge, scale)
        V = torch.linalg.solve_triangular(L, k.mT, upper=False).mT
        return cls(arms.X, scale, mean, V)

    def sigma(self) -> Float[Tensor, " N"]:
        """√(1 - k(K + λI)⁻¹kᵀ)."""
        return (1.0 - self.V.square().sum(dim=1)).clamp_min(0.0).sqrt()

    def deviation(self, generator: torch.Generator) -> Float[Tensor, " N"]:
        """A draw from N(0, K - V Vᵀ); very many arms are left out (-∞) at random."""
        N = self.mean.shape[0]
        at = torch.randperm(N, generator=generator)[:_MAX_JOINT].to(self.X.device)
        C = _kernel(self.X[at], self.X[at], self.length_scale)
        C = C - self.V[at] @ self.V[at].mT
        eigenvalues, Q = torch.linalg.eigh(C)  # C may be singular
        root = Q * eigenvalues.clamp_min(0.0).sqrt()
        draw = torch.full_like(self.mean, -torch.inf)
        draw[at] = root @ _normal(C, C.shape[0], generator)
        return draw


def _factor(
    X: Tensor, n: Float[Tensor, " N"], ridge: float, length_scale: float
) -> tuple[Float[Tensor, "k k"], Float[Tensor, "N k"]]:
    """Cholesky factor of K + diag(λ/n) over arms with n > 0, and k of all with them."""
    is_seen = n > 0
    k = _kernel(X, X[is_seen], length_scale)
    return torch.linalg.cholesky(k[is_seen] + torch.diag(ridge / n[is_seen])), k


def _kernel(X: Tensor, other: Tensor, length_scale: float) -> Tensor:
    """The Gaussian kernel exp(-|x - x'|² / (2ℓ²))."""
    gap = torch.cdist(X, other, compute_mode="donot_use_mm_for_euclid_dist")
    return (-0.5 * (gap / length_scale).square()).exp()


def _median_distance(X: Float[Tensor, "N d"]) -> float:
    step = max(1, X.shape[0] // _N_MEDIAN)
    return float(torch.pdist(X[::step]).median())


def _normal(like: Tensor, n: int, generator: torch.Generator) -> Float[Tensor, " n"]:
    return torch.randn(n, generator=generator, dtype=torch.float64).to(like)
