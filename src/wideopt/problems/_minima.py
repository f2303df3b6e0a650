"""Minimizers of the scalable test functions, for every dimension d.

No tables: where the functions are sums over coordinates, each coordinate is solved to
the precision of float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.problems._functions import MICHALEWICZ_M

__all__ = [
    "Vector",
    "at_one",
    "at_zero",
    "cosine_mixture",
    "go_ucb_f1",
    "michalewicz",
    "styblinski_tang",
    "zero",
]

Vector: TypeAlias = NDArray[np.float64]


def zero(_d: int) -> float:
    """The minimum of functions whose formula is 0 at best, in every dimension."""
    return 0.0


def at_zero(d: int) -> Vector:
    """The minimizer of functions that are centered at 0."""
    return np.zeros(d)


def at_one(d: int) -> Vector:
    """The minimizer of functions that are centered at (1, ..., 1)."""
    return np.ones(d)


def go_ucb_f1(d: int) -> Vector:
    """The corner with the greatest sum; for d > 7, float64 cannot tell its vicinity."""
    return np.full(d, 5.0)


def styblinski_tang(d: int) -> Vector:
    """The least root of x³ - 8 x + 5/4 = 0 in every coordinate, by Viète's formula.

    The roots of x³ + p x + q are 2 √(-p/3) cos(θ - 2πj/3), j = 0, 1, 2, with
    cos 3θ = 3q/(2p) √(-3/p); j = 2 gives the least one for 0 <= 3θ <= π.
    """
    p, q = -8.0, 1.25
    theta = math.acos(3 * q / (2 * p) * math.sqrt(-3 / p)) / 3
    x = 2 * math.sqrt(-p / 3) * math.cos(theta - 4 * math.pi / 3)
    return np.full(d, x)


def cosine_mixture(d: int) -> Vector:
    """The minimum of x² + 0.1 cos(5πx) in every coordinate; -x is as good as x.

    The term is >= 0 for |x| <= 0.1 and > -0.06, its value at 0.2, for |x| > 0.2. On
    [0.1, 0.2] minus its derivative, π/2 sin(5πx) - 2x, falls from + to -.
    """
    return _root(
        lambda x: math.pi / 2 * np.sin(5 * math.pi * x) - 2 * x,
        np.full(d, 0.1),
        np.full(d, 0.2),
    )


def michalewicz(d: int) -> Vector:
    """The maximum of sin(x) sin^{2m}(u), u = i x²/π, in each coordinate i.

    The zeros of sin(u) cut [0, π] into i pieces, π √(k/i) < x < π √((k+1)/i) for
    k = 0, ..., i - 1. On each the logarithm of the term is strictly concave (that of
    sin(u) has the second derivative 2i/π (sin u cos u - 2u)/sin² u < 0), so that its
    derivative cot x + 4m i x/π cot u has one root. Of the pieces only the one with
    π/2, k0 = ⌊i/4⌋, and its two neighbors matter: beyond a neighbor sin(x) is less
    than at the neighbor's crest sin^{2m}(u) = 1.
    """
    m = MICHALEWICZ_M
    i = np.arange(1.0, d + 1)[:, None]  # (d, 1)
    k = np.clip(np.floor(i / 4) + np.array([-1, 0, 1]), 0, i - 1)  # (d, 3)

    def slope(x: Vector) -> Vector:
        u = i * x**2 / math.pi
        slopes: Vector = 1 / np.tan(x) + 4 * m * i * x / math.pi / np.tan(u)
        return slopes

    x = _root(slope, math.pi * np.sqrt(k / i), math.pi * np.sqrt((k + 1) / i))
    term = np.sin(x) * np.sin(i * x**2 / math.pi) ** (2 * m)
    best: Vector = x[np.arange(d), np.argmax(term, axis=1)]
    return best


def _root(h: Callable[[Vector], Vector], low: Vector, high: Vector) -> Vector:
    """The roots of functions that fall from + at `low` to - at `high`, by bisection."""
    for _ in range(64):  # more halvings than a float64 has bits
        middle = (low + high) / 2
        is_left = h(middle) > 0
        low, high = np.where(is_left, middle, low), np.where(is_left, high, middle)
    return (low + high) / 2
