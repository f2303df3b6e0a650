"""A kernel of solutions whose values on each face of the box are smooth, and unrelated.

For an elliptic equation a_x ∂²u/∂x² + a_y ∂²u/∂y² = 0 in a rectangle. What is given on
one face, with zero on the others, reaches inside as a sum of

    sin(nπ x) sinh(k_n y)/sinh(k_n),   k_n = nπ √(a_x/a_y)

for the face y = 1, and likewise for the others. Boundary values may jump at corners,
where two faces meet, though they are smooth along each: a kernel that depends on
differences only, and the waves of `solutions`, must take a jump for roughness all over.

    u = Σ_faces o g_f (Σ_n √S_n v_n sin(nπ s) + v (1 - s) + v' s) reached inside + β v_0
    S_n ∝ (κ² + (nπ)²)⁻³, which sum to 2;   v standard normal, s along the face

The rectangle is the cube with a thin margin: users' boxes seldom reach the very edge of
what they simulate, and on the edge itself corners would have no value.

Notation: T (..., n, d) points, A (n, k) coefficients of functionals (see `smooth`),
g size of each face, κ (2) roughness of those normal to each axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from wideopt.numerics.smooth import FeatureKernel, Features, Functionals, Indices

__all__ = ["FaceFeatures", "FaceKernel", "Plate"]

_MARGIN = 0.002  # of the cube's side, beyond each face
_N_SMOOTH = 40  # sines of the smooth part
_N_ALL = 400  # sines of the ends, which decay within the margin


@dataclass(frozen=True, eq=False)
class Plate:
    """The equation, and its solutions of size 1: ratio = √(a_x/a_y)."""

    ratio: float

    @classmethod
    def of(cls, a: Float[Tensor, " k"], alphas: Indices) -> Plate | None:
        """The plate of Σ_α a_α ∂^α u = 0; None unless it is of the kind above."""
        parts = dict(zip(alphas, a.tolist(), strict=True))
        if set(parts) != {(2, 0), (0, 2)}:
            return None
        square = parts[2, 0] / parts[0, 2] if parts[0, 2] else 0.0
        return cls(math.sqrt(square)) if 1e-6 < square < 1e6 else None

    def rows(self, a: Functionals) -> Float[Tensor, "... n p"]:
        """ℓ of sin and ends of the faces x = 0, x = 1, y = 0, y = 1, one by one.

        What was found for points is kept as long as these are: no hyper-parameter
        changes it.
        """
        is_kept = not a.T.requires_grad and a.alphas == ((0, 0),)
        values: Tensor | None = self._known.get(a.T) if is_kept else None
        if values is None:
            values = self._derivative(a.T, a.alphas[0])
        if is_kept:
            self._known[a.T] = values
        total = a.A[:, :1] * values
        for j, alpha in enumerate(a.alphas[1:], start=1):
            total = total + a.A[:, j : j + 1] * self._derivative(a.T, alpha)
        return total

    @cached_property
    def _known(self) -> WeakIdKeyDictionary:
        return WeakIdKeyDictionary()

    def _derivative(
        self, T: Float[Tensor, "... n 2"], alpha: tuple[int, ...]
    ) -> Float[Tensor, "... n p"]:
        """∂^α of all features."""
        shrink = 1.0 / (1.0 + 2.0 * _MARGIN)
        xi = (T + _MARGIN) * shrink
        n_pi, ends = _n_pi().to(T), _ends().to(T)
        found = []
        for axis in range(2):
            along = _sines(xi[..., 1 - axis], n_pi, alpha[1 - axis])
            k = n_pi * (self.ratio if axis == 1 else 1.0 / self.ratio)
            for across in _reach(xi[..., axis], k, alpha[axis]):
                waves = along * across
                found += [waves[..., :_N_SMOOTH], waves @ ends]
        return shrink ** sum(alpha) * torch.cat(found, dim=-1)


def _n_pi() -> Float[Tensor, " m"]:
    """The frequencies nπ."""
    return math.pi * torch.arange(1, _N_ALL + 1, dtype=torch.float64)


def _ends() -> Float[Tensor, "m 2"]:
    """Coefficients of 1 - s and of s."""
    n = torch.arange(1, _N_ALL + 1, dtype=torch.float64)
    # a sum that is cut off would overshoot in ripples next to a jump
    first = 2.0 / _n_pi() * torch.exp(-0.5 * (3.5 * n / _N_ALL).square())
    return torch.stack([first, torch.where(n % 2 == 1, first, -first)], dim=1)


def _sines(s: Tensor, n_pi: Tensor, order: int) -> Float[Tensor, "... n m"]:
    """Derivatives of sin(nπ s)."""
    turned = torch.sin(s.unsqueeze(-1) * n_pi + 0.5 * math.pi * order)
    return turned * n_pi**order if order else turned


def _reach(s: Tensor, k: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Derivatives of sinh(k (1 - s))/sinh(k) and of sinh(k s)/sinh(k)."""
    s = s.unsqueeze(-1)
    low, high, whole = torch.exp(-k * s), torch.exp(-k * (1.0 - s)), torch.exp(-k)
    sign = -1.0 if order % 2 == 0 else 1.0  # cosh for odd orders
    scale = k**order / (1.0 - whole.square())
    from_0 = scale * (low + sign * whole * high)
    from_1 = scale * (high + sign * whole * low)
    return (-from_0 if order % 2 else from_0), from_1


@dataclass(frozen=True)
class FaceFeatures(Features):
    """The features of all faces, in the kernel's sizes, and β."""

    kernel: FaceKernel

    def rows(self, a: Functionals) -> Float[Tensor, "... n p"]:
        """ℓ[φ] for every functional."""
        sized = self.kernel.plate.rows(a) * self.kernel.sizes
        ones = (self.kernel.beta * a.of_one).unsqueeze(-1)
        return torch.cat([sized, ones.expand(*sized.shape[:-1], 1)], dim=-1)


@dataclass(frozen=True)
class FaceKernel(FeatureKernel):
    """The kernel; roughness κ, scale o and sizes log g of one output."""

    plate: Plate
    kappa: Float[Tensor, " 2"]
    o: Float[Tensor, ""]
    log_faces: Float[Tensor, " 4"]
    beta: float = 1.0

    @cached_property
    def sizes(self) -> Float[Tensor, " p"]:
        """Deviation of the weight of each feature."""
        omega2 = _n_pi()[:_N_SMOOTH].to(self.kappa).square()
        raw = (1.0 + omega2 / self.kappa.square().unsqueeze(1)).pow(-3)
        S = 2.0 * raw / raw.sum(dim=1, keepdim=True)
        of_axis = torch.cat([S.sqrt(), S.new_ones(2, 2)], dim=1)
        of_face = of_axis.repeat_interleave(2, dim=0) * self.log_faces.exp()[:, None]
        return self.o * of_face.flatten()

    @property
    def all_features(self) -> FaceFeatures:
        """The features."""
        return FaceFeatures(self)
