"""Mean and variance of a posterior at one point, with their gradients, by hand.

Climbs under constraints ask for one point at a time. There the arrays are so small that
the bookkeeping of automatic differentiation costs twenty times the arithmetic; here are
the same derivatives in NumPy, for infinitely wide networks of erf or relu.

Notation: as in `infinite` and `activations`; for one output, one point x, and data j:
    z, Z_j       embedded points;  a = z·z, b_j = Z_j·Z_j, c_j = z·Z_j
    k_j          kernel, a function of (a, b_j, c_j);   κ = k(x, x), a function of a
    ρ, τ         of a grain, if any: k_j has ρ² exp(-½ τ² (a + b_j - 2c_j))
    mean = kᵀα,  variance = κ - kᵀω with ω = (K + λI)⁻¹k
    ∇_z Σ w_j k_j = Σ w_j ∂k_j/∂c Z_j + 2z Σ w_j ∂k_j/∂a   for any fixed w
All arrays are (outputs, n) or (outputs, d).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg.blas import dtrsv
from torch import Tensor

from wideopt.numerics.dual import DualPosterior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.layers import LAYERS, Array, Layer, is_written_out, recursion
from wideopt.numerics.scales import FLAT

__all__ = ["Moments", "PointPosterior"]


class Moments(NamedTuple):
    """Mean and variance of each output at a point, and their gradients."""

    mean: Float[ndarray, " o"]
    variance: Float[ndarray, " o"]
    mean_slope: Float[ndarray, "o d"]
    variance_slope: Float[ndarray, "o d"]


@dataclass(frozen=True)
class PointPosterior:
    """A `DualPosterior` of a batch of outputs, seen from single points."""

    layer: Layer
    depth: int
    inputs: Float[ndarray, "o d"]
    bias: Float[ndarray, " o"]
    output2: Float[ndarray, " o"]
    bend: Float[ndarray, "o d"] | None
    grain: Float[ndarray, "o 2"] | None  # ρ and τ
    Z: Float[ndarray, "o n d1"]
    variances: Float[ndarray, "depth o n"]
    alpha: Float[ndarray, "o n"]
    L: tuple[Float[ndarray, "n n"], ...]  # in LAPACK's order

    @classmethod
    def of(cls, posterior: object) -> PointPosterior | None:
        """The view, if the posterior is one of those that are written out here."""
        if not isinstance(posterior, DualPosterior) or len(posterior.batch) != 1:
            return None
        kernel, side = posterior.kernel, posterior.side
        if not isinstance(kernel, InfiniteKernel):
            return None
        if not is_written_out(kernel.architecture):
            return None
        scales, (o,) = kernel.scales, posterior.batch
        d = scales.d
        grain = None if kernel.is_smooth else scales.grain
        L = posterior.factor.L
        return cls(
            LAYERS[kernel.architecture.activation],
            kernel.architecture.depth,
            _array(scales.input.expand(o, d)),
            _array(scales.bias.expand(o)),
            _array(scales.output.expand(o)) ** 2,
            None if scales.bend is None else _array(scales.bend.expand(o, d)),
            None if grain is None else _array(grain.expand(o, 2)),
            _array(side.Z.expand(o, -1, d + 1)),  # type: ignore[attr-defined]
            _array(side.variances.expand(o, -1, -1).movedim(-1, 0)),  # type: ignore[attr-defined]
            _array(posterior.alpha),
            tuple(np.asfortranarray(matrix.detach().cpu().numpy()) for matrix in L),
        )

    def selected(self, outputs: list[int]) -> PointPosterior:
        """The view of some of the outputs."""
        return replace(
            self,
            inputs=self.inputs[outputs],
            bias=self.bias[outputs],
            output2=self.output2[outputs],
            bend=None if self.bend is None else self.bend[outputs],
            grain=None if self.grain is None else self.grain[outputs],
            Z=self.Z[outputs],
            variances=self.variances[:, outputs],
            alpha=self.alpha[outputs],
            L=tuple(self.L[i] for i in outputs),
        )

    def __call__(self, x: Float[ndarray, " d"]) -> Moments:
        """Mean and variance at x, as `marginals` has them, with gradients."""
        w, w_slope = self._bent(x)
        z = np.concatenate([(2.0 * w - 1.0) * self.inputs, self.bias[:, None]], axis=1)
        a = (z * z).sum(axis=1)
        k, k_a, k_c = self._kernel(a, np.einsum("ond,od->on", self.Z, z))
        kappa, kappa_a = self._prior(a)
        V, omega = self._solved(k)
        variance = np.maximum(kappa - (V * V).sum(axis=1), 0.0)
        mean = (k * self.alpha).sum(axis=1)
        to_x = 2.0 * w_slope * self.inputs
        slope = self._slope(self.alpha, k_a, k_c, z)
        fall = self._slope(omega, k_a, k_c, z)
        rise = 2.0 * z[:, :-1] * kappa_a[:, None]
        return Moments(mean, variance, slope * to_x, (rise - 2.0 * fall) * to_x)

    def _slope(self, w: Array, k_a: Array, k_c: Array, z: Array) -> Array:
        """∇_z Σ w_j k_j, without the bias."""
        along = np.einsum("on,ond->od", w * k_c, self.Z[:, :, :-1])
        slope: Array = along + 2.0 * z[:, :-1] * (w * k_a).sum(axis=1, keepdims=True)
        return slope

    def _kernel(self, a: Array, c: Array) -> tuple[Array, Array, Array]:
        """k_j, ∂k_j/∂a, ∂k_j/∂c."""
        others = list(self.variances)
        theta = recursion(self.layer, self.depth, a[:, None], others, c)
        o2 = self.output2[:, None]
        k, k_a, k_c = theta[0] * o2, theta[1] * o2, theta[2] * o2
        if self.grain is None:
            return k, k_a, k_c
        rho, tau2 = self.grain[:, :1], self.grain[:, 1:] ** 2
        gaps = np.maximum(a[:, None] + others[0] - 2.0 * c, 0.0)
        g = rho**2 * np.exp(-0.5 * tau2 * gaps)
        return k + g, k_a - 0.5 * tau2 * g, k_c + tau2 * g

    def _prior(self, a: Array) -> tuple[Array, Array]:
        """κ = k(x, x) and ∂κ/∂a."""
        v, v_slope = a, np.ones_like(a)
        theta, theta_slope = a, np.ones_like(a)
        for _ in range(self.depth):
            f = self.layer(v, v, v)
            dot_slope = (2.0 * f.dot_a + f.dot_c) * v_slope
            v_slope = (2.0 * f.E_a + f.dot) * v_slope
            theta_slope = v_slope + theta_slope * f.dot + theta * dot_slope
            v, theta = f.E, f.E + theta * f.dot
        kappa = theta * self.output2
        if self.grain is not None:
            kappa = kappa + self.grain[:, 0] ** 2
        return kappa, theta_slope * self.output2

    def _solved(self, k: Array) -> tuple[Array, Array]:
        """L⁻¹k and (K + λI)⁻¹k for every output."""
        V, omega = np.empty_like(k), np.empty_like(k)
        for i, L in enumerate(self.L):
            V[i] = dtrsv(L, k[i], lower=1)
            omega[i] = dtrsv(L, V[i], lower=1, trans=1)
        return V, omega

    def _bent(self, x: Float[ndarray, " d"]) -> tuple[Array, Array]:
        """w(x) and its slope, as `scales.bent`."""
        if self.bend is None:
            return np.broadcast_to(x, self.inputs.shape), np.ones_like(self.inputs)
        t = self.bend
        is_flat = np.abs(t) < FLAT
        safe = np.where(is_flat, 1.0, t)
        rate = np.expm1(safe)
        curved = np.log1p(rate * x) / safe
        slope = rate / (safe * (1.0 + rate * x))
        w = np.where(is_flat, x + 0.5 * t * x * (1.0 - x), curved)
        return w, np.where(is_flat, 1.0 + 0.5 * t * (1.0 - 2.0 * x), slope)


def _array(tensor: Tensor) -> Array:
    values: Array = np.ascontiguousarray(tensor.detach().cpu().numpy())
    return values
