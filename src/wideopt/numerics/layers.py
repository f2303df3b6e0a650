"""Layers of infinitely wide networks with all their derivatives, in NumPy.

For what is asked for so often, or is so small, that the bookkeeping of automatic
differentiation costs more than the arithmetic.

Notation: as in `infinite` and `activations`; (u, v) have variances a, b and covariance
c. Each layer has E = E[φφ], its derivative E_c = Ė = E[φ'φ'] (Price's theorem), E_a,
Ė_a and Ė_c. Θ is the tangent kernel with a trained readout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wideopt.numerics.activations import BOWL
from wideopt.numerics.network import Architecture

__all__ = ["LAYERS", "Array", "Expected", "Layer", "is_written_out", "recursion"]

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

_RHO_END = 1.0 - 1e-14  # as in `activations`
_TINY = 1e-290


class Expected(NamedTuple):
    """Expectations of a layer and their derivatives."""

    E: Array
    dot: Array  # Ė = E_c
    E_a: Array
    dot_a: Array
    dot_c: Array


Layer: TypeAlias = "Callable[[Array, Array, Array], Expected]"


def _erf_layer(a: Array, b: Array, c: Array) -> Expected:
    A, B = 1.0 + 2.0 * a, 1.0 + 2.0 * b
    root = 1.0 / np.sqrt(np.maximum(A * B - 4.0 * c * c, 1.0))
    dot = (4.0 / math.pi) * root
    cube = dot * root * root
    E = (2.0 / math.pi) * np.arctan(2.0 * c * root)
    return Expected(E, dot, -dot * c / A, -B * cube, 4.0 * c * cube)


def _relu_layer(a: Array, b: Array, c: Array) -> Expected:
    """Degrees of homogeneity give the rest: 2a E_a + c E_c = E, 2a Ė_a + c Ė_c = 0."""
    s = np.sqrt(np.maximum(a * b, _TINY))
    rho = np.clip(c / s, -1.0, 1.0)
    is_inside = np.abs(rho) < _RHO_END
    sine = np.where(is_inside, np.sqrt(1.0 - rho * rho), 1.0)
    theta = np.arccos(np.where(is_inside, rho, np.sign(rho)))  # 0 or π at the ends
    dot = (math.pi - theta) / math.pi
    E = np.where(is_inside, s * sine, 0.0) / math.pi + dot * c
    dot_c = np.where(is_inside, 1.0 / (math.pi * s * sine), 0.0)
    half = 0.5 / np.maximum(a, _TINY)
    return Expected(E, dot, half * (E - c * dot), -half * c * dot_c, dot_c)


def _bowl_layer(a: Array, b: Array, c: Array) -> Expected:
    f, g2 = _erf_layer(a, b, c), BOWL**2
    return Expected(
        f.E + g2 * (a * b + 2.0 * c * c),
        f.dot + 4.0 * g2 * c,
        f.E_a + g2 * b,
        f.dot_a,
        f.dot_c + 4.0 * g2,
    )


LAYERS: dict[str, Layer] = {
    "erf": _erf_layer,
    "relu": _relu_layer,
    "bowl": _bowl_layer,
}


def is_written_out(architecture: Architecture) -> bool:
    """Whether the kernel of a network is the recursion of one of these layers."""
    is_plain = architecture.readout == "trained" and architecture.init != "zero-last"
    is_plain = is_plain and not architecture.is_additive
    return is_plain and architecture.activation in LAYERS


def recursion(
    layer: Layer, depth: int, a: Array, variances: Sequence[Array], c: Array
) -> tuple[Array, Array, Array]:
    """Return Θ, ∂Θ/∂a, ∂Θ/∂c of points with variance a and others, at the first layer.

    `variances` are those of the others at each layer; all broadcast to the shape of c.
    """
    a_slope = np.ones_like(a)  # of this layer's variance in that of the first
    zeros, ones = np.zeros_like(c), np.ones_like(c)
    cov, cov_a, cov_c = c, zeros, ones
    theta, theta_a, theta_c = c, zeros, ones
    for i in range(depth):
        f = layer(a, variances[i], cov)
        dot_a = f.dot_a * a_slope + f.dot_c * cov_a
        dot_c = f.dot_c * cov_c
        cov_a = f.E_a * a_slope + f.dot * cov_a
        cov_c = f.dot * cov_c
        theta_a = cov_a + theta_a * f.dot + theta * dot_a
        theta_c = cov_c + theta_c * f.dot + theta * dot_c
        cov, theta = f.E, f.E + theta * f.dot
        if i + 1 < depth:
            own = layer(a, a, a)
            a_slope = (2.0 * own.E_a + own.dot) * a_slope
            a = own.E
    return theta, theta_a, theta_c
