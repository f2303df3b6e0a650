"""Mean and variance of a posterior at one point, with their gradients, by hand.

Climbs under constraints ask for one point at a time. There the arrays are so small that
the bookkeeping of automatic differentiation costs twenty times the arithmetic; here are
the same derivatives in NumPy, for infinitely wide networks of erf or relu.

Notation: as in `infinite` and `activations`; for one output, one point x, and data j:
    z, Z_j       embedded points;  a = z·z, b_j = Z_j·Z_j, c_j = z·Z_j
    k_j          kernel, a function of (a, b_j, c_j);   κ = k(x, x), a function of a
    mean = kᵀα,  variance = κ - kᵀω with ω = (K + λI)⁻¹k
    ∇_z Σ w_j k_j = Σ w_j ∂k_j/∂c Z_j + 2z Σ w_j ∂k_j/∂a   for any fixed w
Each layer has E = E[φφ], its derivative E_c = Ė = E[φ'φ'] (Price's theorem), and E_a,
Ė_a, Ė_c below. All arrays are (outputs, n) or (outputs, d).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg.blas import dtrsv
from torch import Tensor

from wideopt.numerics.activations import BOWL
from wideopt.numerics.dual import DualPosterior
from wideopt.numerics.infinite import InfiniteKernel

__all__ = ["Moments", "PointPosterior"]

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

_RHO_END = 1.0 - 1e-14  # as in `activations`
_TINY = 1e-290
_FLAT = 1e-4  # as in `scales`


class Moments(NamedTuple):
    """Mean and variance of each output at a point, and their gradients."""

    mean: Float[ndarray, " o"]
    variance: Float[ndarray, " o"]
    mean_slope: Float[ndarray, "o d"]
    variance_slope: Float[ndarray, "o d"]


class _Layer(NamedTuple):
    E: Array
    dot: Array  # Ė = E_c
    E_a: Array
    dot_a: Array
    dot_c: Array


def _erf_layer(a: Array, b: Array, c: Array) -> _Layer:
    A, B = 1.0 + 2.0 * a, 1.0 + 2.0 * b
    root = 1.0 / np.sqrt(np.maximum(A * B - 4.0 * c * c, 1.0))
    dot = (4.0 / math.pi) * root
    cube = dot * root * root
    E = (2.0 / math.pi) * np.arctan(2.0 * c * root)
    return _Layer(E, dot, -dot * c / A, -B * cube, 4.0 * c * cube)


def _relu_layer(a: Array, b: Array, c: Array) -> _Layer:
    """Degrees of homogeneity give the rest: 2a E_a + c E_c = E, 2a Ė_a + c Ė_c = 0."""
    s = np.sqrt(np.maximum(a * b, _TINY))
    rho = np.clip(c / s, -1.0, 1.0)
    is_inside = np.abs(rho) < _RHO_END
    sine = np.where(is_inside, np.sqrt(1.0 - rho * rho), 1.0)
    theta = np.arccos(rho)
    dot = (math.pi - theta) / math.pi
    E = np.where(is_inside, s * sine, 0.0) / math.pi + dot * c
    dot_c = np.where(is_inside, 1.0 / (math.pi * s * sine), 0.0)
    half = 0.5 / np.maximum(a, _TINY)
    return _Layer(E, dot, half * (E - c * dot), -half * c * dot_c, dot_c)


def _bowl_layer(a: Array, b: Array, c: Array) -> _Layer:
    f, g2 = _erf_layer(a, b, c), BOWL**2
    return _Layer(
        f.E + g2 * (a * b + 2.0 * c * c),
        f.dot + 4.0 * g2 * c,
        f.E_a + g2 * b,
        f.dot_a,
        f.dot_c + 4.0 * g2,
    )


_LAYERS: dict[str, Callable[[Array, Array, Array], _Layer]] = {
    "erf": _erf_layer,
    "relu": _relu_layer,
    "bowl": _bowl_layer,
}


@dataclass(frozen=True)
class PointPosterior:
    """A `DualPosterior` of a batch of outputs, seen from single points."""

    layer: Callable[[Array, Array, Array], _Layer]
    depth: int
    inputs: Float[ndarray, "o d"]
    bias: Float[ndarray, " o"]
    output2: Float[ndarray, " o"]
    bend: Float[ndarray, "o d"] | None
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
        if not isinstance(kernel, InfiniteKernel) or not _is_known(kernel):
            return None
        scales, (o,) = kernel.scales, posterior.batch
        d = scales.d
        L = posterior.factor.L
        return cls(
            _LAYERS[kernel.architecture.activation],
            kernel.architecture.depth,
            _array(scales.input.expand(o, d)),
            _array(scales.bias.expand(o)),
            _array(scales.output.expand(o)) ** 2,
            None if scales.bend is None else _array(scales.bend.expand(o, d)),
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
        """k_j, ∂k_j/∂a, ∂k_j/∂c by the recursion over layers, forward in all three."""
        a = a[:, None]
        a_slope = np.ones_like(a)  # of this layer's variance in that of the first
        zeros, ones = np.zeros_like(c), np.ones_like(c)
        cov, cov_a, cov_c = c, zeros, ones
        theta, theta_a, theta_c = c, zeros, ones
        for i in range(self.depth):
            f = self.layer(a, self.variances[i], cov)
            dot_a = f.dot_a * a_slope + f.dot_c * cov_a
            dot_c = f.dot_c * cov_c
            cov_a = f.E_a * a_slope + f.dot * cov_a
            cov_c = f.dot * cov_c
            theta_a = cov_a + theta_a * f.dot + theta * dot_a
            theta_c = cov_c + theta_c * f.dot + theta * dot_c
            cov, theta = f.E, f.E + theta * f.dot
            own = self.layer(a, a, a)
            a_slope = (2.0 * own.E_a + own.dot) * a_slope
            a = own.E
        o2 = self.output2[:, None]
        return theta * o2, theta_a * o2, theta_c * o2

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
        return theta * self.output2, theta_slope * self.output2

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
        is_flat = np.abs(t) < _FLAT
        safe = np.where(is_flat, 1.0, t)
        rate = np.expm1(safe)
        curved = np.log1p(rate * x) / safe
        slope = rate / (safe * (1.0 + rate * x))
        w = np.where(is_flat, x + 0.5 * t * x * (1.0 - x), curved)
        return w, np.where(is_flat, 1.0 + 0.5 * t * (1.0 - 2.0 * x), slope)


def _is_known(kernel: InfiniteKernel) -> bool:
    architecture = kernel.architecture
    is_plain = architecture.readout == "trained" and architecture.init != "zero-last"
    is_plain = is_plain and kernel.scales.grain is None
    return is_plain and architecture.activation in _LAYERS


def _array(tensor: Tensor) -> Array:
    values: Array = np.ascontiguousarray(tensor.detach().cpu().numpy())
    return values
