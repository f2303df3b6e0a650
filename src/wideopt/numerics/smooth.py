"""The kernel of a wide network of sine units, between derivatives of any order.

A network Σ_j v_j √2 cos(w_j·t + b_j) with v_j ~ N(0, o²/m), w_j ~ N(0, diag s²) and
uniform b_j has, as its width m grows, the kernel below; its tangent features in v are
what a finite width and a draw use. A constant of variance β² is added.

    k(t, t') = o² exp(-½ Σ_i s_i² (t_i - t'_i)²) + β²
    ∂^α_t ∂^β_t' of the first part = (-1)^|α| Π_i s_i^n He_n(s_i (t_i - t'_i)) times it,
    n = α_i + β_i, He_n Hermite polynomials

Notation: a functional is ℓ[u] = Σ_α a_α ∂^α u(t); T (..., n, d) its point, A (n, k) the
a_α. A value is the functional with a_0 = 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.kernel import Draw

__all__ = [
    "FeatureKernel",
    "Features",
    "Functionals",
    "Indices",
    "Kernel",
    "SineFeatures",
    "SmoothDraw",
    "SmoothKernel",
    "rows_of_all",
]

Indices: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Functionals:
    """Linear functionals of a function, one a row."""

    T: Float[Tensor, "... n d"]
    A: Float[Tensor, "n k"]
    alphas: Indices

    @classmethod
    def values(cls, T: Float[Tensor, "... n d"]) -> Functionals:
        """The values at the points of T."""
        n, d = T.shape[-2:]
        return cls(T, T.new_ones(n, 1), ((0,) * d,))

    @property
    def n(self) -> int:
        """Number of functionals."""
        return self.A.shape[0]

    @property
    def of_one(self) -> Float[Tensor, " n"]:
        """What each gives for the constant function 1."""
        zero = (0,) * self.T.shape[-1]
        if zero not in self.alphas:
            return self.A.new_zeros(self.n)
        return self.A[:, self.alphas.index(zero)]

    @property
    def is_first_order(self) -> bool:
        """Whether no derivative has a higher order than 1."""
        return all(sum(alpha) <= 1 for alpha in self.alphas)

    @cached_property
    def gradient_part(self) -> Float[Tensor, "n d"]:
        """The a_α of the first derivatives, one column for each dimension."""
        slopes = self.A.new_zeros(self.n, self.T.shape[-1])
        pairs = [(j, a.index(1)) for j, a in enumerate(self.alphas) if sum(a) == 1]
        if pairs:
            columns, axes = (list(each) for each in zip(*pairs, strict=True))
            slopes[:, axes] = self.A[:, columns]
        return slopes

    def joined(self, other: Functionals) -> Functionals:
        """These and others with the same derivatives."""
        T = torch.cat([self.T, other.T], dim=-2)
        return Functionals(T, torch.cat([self.A, other.A]), self.alphas)


class Features(ABC):
    """A function is a sum of features with standard normal weights."""

    kernel: Kernel

    @abstractmethod
    def rows(self, a: Functionals) -> Float[Tensor, "... n p"]:
        """ℓ[φ] for every functional."""


class Kernel(ABC):
    """Covariance of linear functionals of a random function."""

    @abstractmethod
    def block(self, a: Functionals, b: Functionals) -> Float[Tensor, "... n m"]:
        """The covariance of two sets of functionals."""

    @abstractmethod
    def diagonal(self, a: Functionals) -> Float[Tensor, "..."]:
        """The variance of each functional, or one number that all values share."""

    @abstractmethod
    def features(self, width: int, generator: torch.Generator) -> Features:
        """Features of which functions are drawn."""

    def all_block(
        self, a: Sequence[Functionals], b: Sequence[Functionals]
    ) -> Float[Tensor, "... n m"]:
        """The covariance between groups of functionals, one after the other."""
        rows = [torch.cat([self.block(x, y) for y in b], dim=-1) for x in a]
        return torch.cat(rows, dim=-2)


class FeatureKernel(Kernel):
    """A kernel of finitely many features: nothing is drawn."""

    @property
    @abstractmethod
    def all_features(self) -> Features:
        """The features."""

    def block(self, a: Functionals, b: Functionals) -> Float[Tensor, "... n m"]:
        """The covariance of two sets of functionals."""
        left = self.all_features.rows(a)
        right = left if b is a else self.all_features.rows(b)
        return left @ right.mT

    def diagonal(self, a: Functionals) -> Float[Tensor, "... n"]:
        """The variance of each functional."""
        return self.all_features.rows(a).square().sum(-1)

    def features(self, width: int, generator: torch.Generator) -> Features:
        """The features, which are as many as there are."""
        del width, generator
        return self.all_features


@dataclass(frozen=True)
class SmoothKernel(Kernel):
    """The kernel; scales of one output."""

    s: Float[Tensor, " d"]
    o: Float[Tensor, ""]
    beta: float = 1.0

    def block(self, a: Functionals, b: Functionals) -> Float[Tensor, "... n m"]:
        """The covariance of two sets of functionals."""
        constant = self.beta**2 * a.of_one.unsqueeze(1) * b.of_one
        if a.is_first_order and b.is_first_order:
            return self.o.square() * self._first_order(a, b) + constant
        return self.o.square() * self._any_order(a, b) + constant

    def diagonal(self, a: Functionals) -> Float[Tensor, "..."]:
        """The variance of each functional; of values one number, for speed."""
        if len(a.alphas) == 1 and sum(a.alphas[0]) == 0:
            return self.o.square() + self.beta**2
        return self.block(a, a).diagonal(dim1=-2, dim2=-1)

    def features(self, width: int, generator: torch.Generator) -> SineFeatures:
        """Random units of a network of finite width."""
        return SineFeatures.drawn(self, width, generator)

    def _first_order(self, a: Functionals, b: Functionals) -> Float[Tensor, "... n m"]:
        """[(a_0 - P)(b_0 + Q) + A S² Bᵀ] k, with P = A S² δ, Q = B S² δ."""
        s2 = self.s.square()
        X, Y = a.T * self.s, b.T * self.s
        square = X.square().sum(-1).unsqueeze(-1) + Y.square().sum(-1).unsqueeze(-2)
        k = torch.exp(-0.5 * (square - 2.0 * X @ Y.mT).clamp_min(0.0))
        if len(a.alphas) == len(b.alphas) == 1 and sum(a.alphas[0] + b.alphas[0]) == 0:
            return k * a.A * b.A.mT
        A, B = a.gradient_part * s2, b.gradient_part * s2
        P = (A * a.T).sum(-1).unsqueeze(-1) - A @ b.T.mT
        Q = a.T @ B.mT - (B * b.T).sum(-1).unsqueeze(-2)
        left = a.of_one.unsqueeze(1) - P
        return (left * (b.of_one + Q) + A @ b.gradient_part.mT) * k

    def _any_order(self, a: Functionals, b: Functionals) -> Float[Tensor, "... n m"]:
        delta = (a.T.unsqueeze(-2) - b.T.unsqueeze(-3)) * self.s
        k = torch.exp(-0.5 * delta.square().sum(-1))
        hermite = _Hermite(delta, self.s)
        total = torch.zeros_like(k)
        for j, alpha in enumerate(a.alphas):
            inner: Tensor | None = None
            for i, beta in enumerate(b.alphas):
                gamma = tuple(x + y for x, y in zip(alpha, beta, strict=True))
                factor = hermite(gamma)
                term = b.A[:, i] if factor is None else b.A[:, i] * factor
                inner = term if inner is None else inner + term
            assert inner is not None  # there is at least one derivative
            total = total + (-1) ** sum(alpha) * a.A[:, j].unsqueeze(1) * inner
        return total * k


class _Hermite:
    """Π_i s_i^n He_n(δ_i) for multi-indices; each one-dimensional factor is kept."""

    def __init__(self, delta: Float[Tensor, "... d"], s: Float[Tensor, " d"]) -> None:
        self.delta, self.s = delta, s
        self.known: dict[tuple[int, int], Tensor] = {}
        self.products: dict[tuple[int, ...], Tensor | None] = {}

    def __call__(self, gamma: tuple[int, ...]) -> Tensor | None:
        """The product, None for 1."""
        if gamma not in self.products:
            total: Tensor | None = None
            for i, n in enumerate(gamma):
                if n:
                    factor = self._one(i, n) * self.s[i] ** n
                    total = factor if total is None else total * factor
            self.products[gamma] = total
        return self.products[gamma]

    def _one(self, i: int, n: int) -> Tensor:
        """He_n(δ_i): He_{n+1} = x He_n - n He_{n-1}."""
        if n == 0:
            return torch.ones_like(self.delta[..., i])
        if n == 1:
            return self.delta[..., i]
        if (i, n) not in self.known:
            last, before = self._one(i, n - 1), self._one(i, n - 2)
            self.known[i, n] = self.delta[..., i] * last - (n - 1) * before
        return self.known[i, n]


@dataclass(frozen=True)
class SineFeatures(Features):
    """The features of a finite network: φ_j = o √(2/m) cos(w_j·t + b_j), and β."""

    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]
    kernel: SmoothKernel

    @classmethod
    def drawn(
        cls, kernel: SmoothKernel, width: int, generator: torch.Generator
    ) -> SineFeatures:
        """Features of random units."""
        d = kernel.s.shape[0]
        W = torch.randn(width, d, generator=generator, dtype=torch.float64)
        b = torch.rand(width, generator=generator, dtype=torch.float64)
        W, b = W.to(kernel.s), b.to(kernel.s)
        return cls(W * kernel.s.detach(), 2.0 * math.pi * b, kernel)

    def rows(self, a: Functionals) -> Float[Tensor, "... n p"]:
        """ℓ[φ] for every functional; ∂^α cos(z) = w^α cos(z + |α| π/2)."""
        phase = a.T @ self.W.mT + self.b
        total: Tensor | None = None
        for order in sorted({sum(alpha) for alpha in a.alphas}):
            picked = [j for j, alpha in enumerate(a.alphas) if sum(alpha) == order]
            powers = [self._power(a.alphas[j]) for j in picked]
            weights = a.A[:, picked] @ torch.stack(powers)
            term = weights * torch.cos(phase + 0.5 * math.pi * order)
            total = term if total is None else total + term
        assert total is not None  # there is at least one derivative
        scaled = self.kernel.o * math.sqrt(2.0 / len(self.b)) * total
        ones = (self.kernel.beta * a.of_one).unsqueeze(-1)
        return torch.cat([scaled, ones.expand(*scaled.shape[:-1], 1)], dim=-1)

    def _power(self, alpha: tuple[int, ...]) -> Float[Tensor, " m"]:
        total = torch.ones_like(self.b)
        for i, n in enumerate(alpha):
            if n:
                total = total * self.W[:, i] ** n
        return total


def rows_of_all(
    features: Features, groups: Sequence[Functionals]
) -> Float[Tensor, "n p"]:
    """The rows of all groups, one after the other."""
    return torch.cat([features.rows(group) for group in groups], dim=-2)


@dataclass(frozen=True)
class SmoothDraw(Draw):
    """Functions φᵀw + k(., rows) v."""

    features: Features
    w: Float[Tensor, "s p"]
    groups: tuple[Functionals, ...]
    v: Float[Tensor, "s n"]

    def __call__(self, X: Float[Tensor, "... q d"]) -> Float[Tensor, "s ... q"]:
        """Values of all functions at X."""
        points = Functionals.values(X)
        prior = self.features.rows(points) @ self.w.mT
        K = self.features.kernel.all_block([points], self.groups)
        return (prior + K @ self.v.mT).movedim(-1, 0)
