"""A kernel all of whose functions solve an equation, exactly and everywhere.

Source: Härkönen, Lange-Hegermann and Raiţă (2023), Gaussian process priors for systems
of linear partial differential equations with constant coefficients. For an operator
P(∂) = Σ_α a_α ∂^α with constant coefficients,

    P(∂) exp(z·t) = P(z) exp(z·t),   so that exp(z·t) solves it where P(z) = 0

Such waves oscillate along all axes but one, z_j = i ω_j, and z along that one is a root
of a polynomial: away from a face of the cube they decay as fast as the equation says.
A solution with rough values on the boundary is smooth inside, as no kernel can be that
depends on differences only. Frequencies ω have all sizes, so that the boundary values
may be of any roughness, which is learned.

    u(t) = o Σ_j √w_j (v_j Re + v'_j Im) exp(z_j·t - c_j) + β v_0,   v standard normal
    w_j ∝ (1 + |ω_j|²)^(-a_i) for waves of the axis i,  c_j = max of Re z·t in the cube

Notation: T (..., n, d) points, A (n, k) coefficients of functionals (see `smooth`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Complex, Float, Int
from torch import Tensor

from wideopt.numerics.smooth import FeatureKernel, Features, Functionals, Indices

__all__ = ["SolutionFeatures", "SolutionKernel", "Waves"]

_FREQUENCIES = (0.5, 400.0)  # least and largest |ω|, in radians along the cube
_N_SIZES = {2: 40, 3: 20}  # sizes |ω|, evenly on a logarithmic scale, by dimension
_N_TURNS = {2: 1, 3: 6}  # directions of ω; -ω gives the conjugate of ω
_SIMPLE = 1e-3  # relative distance of two roots below which they may be a double one


@dataclass(frozen=True)
class Waves:
    """Exponents z of waves that solve an equation.

    Attributes:
        z: the exponents.
        size: |ω| of each.
        axis: along which each is not a mere oscillation.
    """

    z: Complex[Tensor, "m d"]
    size: Float[Tensor, " m"]
    axis: Int[Tensor, " m"]

    @classmethod
    def of(cls, a: Float[Tensor, " k"], alphas: Indices) -> Waves | None:
        """The waves of Σ_α a_α ∂^α u = 0; None where these do not span solutions.

        That is in other than two or three dimensions, and where the polynomial has
        multiple roots.
        """
        d = len(alphas[0])
        if d not in _N_SIZES:
            return None
        rows = []
        for axis in range(d):
            for omega in _frequencies(d):
                roots = _roots(a.tolist(), alphas, axis, omega)
                if not _are_simple(roots):
                    return None
                rest = np.insert(1j * omega, axis, 0.0)
                size = float(np.linalg.norm(omega))
                for root in roots:
                    z = rest.copy()
                    z[axis] = root
                    rows.append((z, size, axis))
        if not rows:
            return None
        columns = (np.array(each) for each in zip(*rows, strict=True))
        return cls(*(torch.as_tensor(each, device=a.device) for each in columns))

    @property
    def height(self) -> Float[Tensor, " m"]:
        """The largest real part of z·t over the cube."""
        return self.z.real.clamp_min(0.0).sum(dim=1)

    def weights(self, a: Float[Tensor, " d"]) -> Float[Tensor, " m"]:
        """Variances, which sum to 1; every axis has its share."""
        raw = (1.0 + self.size.square()).pow(-a[self.axis])
        is_of: Bool[Tensor, "d m"] = self.axis == torch.arange(
            len(a), device=raw.device
        ).unsqueeze(1)
        totals = torch.where(is_of, raw, 0.0).sum(dim=1)
        n_axes = (totals.detach() > 0).sum()
        return raw / (totals[self.axis] * n_axes)


@dataclass(frozen=True)
class SolutionFeatures(Features):
    """The features √w_j o Re, Im exp(z_j·t - c_j), and β."""

    waves: Waves
    kernel: SolutionKernel

    def rows(self, a: Functionals) -> Float[Tensor, "... n p"]:
        """ℓ[φ] for every functional; ∂^α exp(z·t) = z^α exp(z·t)."""
        z, height = self.waves.z, self.waves.height
        phase = a.T.to(z.dtype) @ z.mT - height
        factor = _symbol(a, z)
        both = torch.exp(phase) * factor
        scale = self.kernel.o * self.waves.weights(self.kernel.a).sqrt()
        ones = (self.kernel.beta * a.of_one).unsqueeze(-1)
        return torch.cat(
            [scale * both.real, scale * both.imag, ones.expand(*both.shape[:-1], 1)],
            dim=-1,
        )


@dataclass(frozen=True)
class SolutionKernel(FeatureKernel):
    """The kernel; roughness a, smaller is rougher, and scale o of one output."""

    waves: Waves
    a: Float[Tensor, " d"]
    o: Float[Tensor, ""]
    beta: float = 1.0

    @property
    def all_features(self) -> SolutionFeatures:
        """The features."""
        return SolutionFeatures(self.waves, self)


def _symbol(a: Functionals, z: Complex[Tensor, "m d"]) -> Complex[Tensor, "n m"]:
    """Σ_α a_α z^α."""
    powers = []
    for alpha in a.alphas:
        power = torch.ones_like(z[:, 0])
        for i, n in enumerate(alpha):
            power = power * z[:, i] ** n if n else power
        powers.append(power)
    return a.A.to(z.dtype) @ torch.stack(powers)


def _frequencies(d: int) -> list[np.ndarray]:
    """Frequencies along d - 1 axes, of all sizes and directions."""
    low, high = (math.log(end) for end in _FREQUENCIES)
    sizes = np.exp(np.linspace(low, high, _N_SIZES[d]))
    if d == 2:
        return [np.array([size]) for size in sizes]
    turns = math.pi * (np.arange(_N_TURNS[d]) + 0.5) / _N_TURNS[d]
    return [
        size * np.array([math.cos(turn), math.sin(turn)])
        for size in sizes
        for turn in turns
    ]


def _roots(
    a: Sequence[float], alphas: Indices, axis: int, omega: np.ndarray
) -> np.ndarray:
    """The z along the axis with P(z) = 0, given i ω along the others."""
    rest = np.insert(1j * omega, axis, 1.0)  # 1 has every power
    order = max(alpha[axis] for alpha in alphas)
    terms = np.zeros(order + 1, dtype=complex)
    for each, alpha in zip(a, alphas, strict=True):
        terms[order - alpha[axis]] += each * np.prod(rest ** np.array(alpha))
    return np.asarray(np.roots(terms))


def _are_simple(roots: np.ndarray) -> bool:
    gaps = np.abs(roots[:, None] - roots)[~np.eye(len(roots), dtype=bool)]
    if len(gaps) == 0:
        return True
    return bool(gaps.min() > _SIMPLE * np.abs(roots).max())
