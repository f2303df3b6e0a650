"""Families of functions that are drawn by chance.

- *Posynomials* are what engineers write: sums of products of powers, over a box that
  spans decades, so that values do too.
- *Wells* are sums of Gaussian wells of different depths and widths, most of which the
  constraints cut off: many local minima, on the edge and within.
- *Landscapes* are a rotated bowl with random waves, without constraints.
- *Ripples* are a trend with fine waves along each axis, whose best point is known;
  constraints, if any, leave it feasible by little.
- *Funnels* are the like with one wave for all axes and a cusp at the best point.
- *Curves* are sums of functions of one variable, and so are their optima.
- *Valleys* are curved and narrow, with values over orders of magnitude.

Without constraints always:

- *Bowls* are quadratic, rotated and ill-conditioned.
- *Sectors* are steep on one side of the best point and flat on the other.
- *Ridges* are sharp: a quadratic along one direction, a distance across it.
- *Peaks* are the best of many wells, narrow and wide in different directions.
- *Steps* are a rotated bowl in plateaus.
- *Rough* ones are a bowl with waves of all lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAKERS", "Parts", "sample"]

Array = NDArray[np.float64]
Box = tuple[tuple[float, float], ...]
Parts = tuple[Box, Callable[[Any], Any], Any]


def _posynomial(rng: np.random.Generator, d: int, k: int) -> Parts:
    low = 10 ** rng.uniform(-1, 1, d)
    high = low * 10 ** rng.uniform(0.4, 2, d)
    box = tuple(zip(low.tolist(), high.tolist(), strict=True))
    middle = np.sqrt([a * b for a, b in box])

    def drawn(n_terms: int) -> Callable[[Any], Any]:
        powers = rng.choice([-2, -1, -0.5, 0, 0, 0.5, 1, 2], size=(n_terms, d))
        factors = 10 ** rng.uniform(-1, 1, n_terms)

        def f(X: Any) -> Any:
            logs = np.log(np.asarray(X) / middle)
            return (np.exp(logs @ powers.T) * factors).sum(axis=-1)

        return f

    f = drawn(4)
    limits = [drawn(3) for _ in range(k)]
    X = sample(box)
    best = X[np.argsort(f(X))[: len(X) // 50]]
    # most of the best points of the plain problem are cut off
    levels = [float(np.quantile(g(best), 0.2)) for g in limits]

    def c(X: Any) -> Any:
        pairs = zip(limits, levels, strict=True)
        return np.stack([g(X) / b - 1 for g, b in pairs], axis=-1)

    return box, lambda X: 1e3 * f(X), c


def _wells(rng: np.random.Generator, d: int, k: int) -> Parts:
    box = ((0.0, 1.0),) * d
    n = 6 + 2 * d
    centers, widths = rng.random((n, d)), 0.12 * np.sqrt(d) * rng.uniform(0.6, 1.6, n)
    depths = rng.uniform(0.3, 1.0, n)
    normals, waves = rng.normal(size=(k, d)), 3 * rng.normal(size=(k, d))

    def f(X: Any) -> Any:
        squares = ((np.asarray(X)[..., None, :] - centers) ** 2).sum(axis=-1)
        return -(depths * np.exp(-squares / (2 * widths**2))).sum(axis=-1)

    def raw(X: Any) -> Any:
        X = np.asarray(X)
        return (X - 0.5) @ normals.T + 0.3 * np.sin(2 * np.pi * (X @ waves.T))

    X = sample(box)
    best = X[np.argsort(f(X))[: len(X) // 50]]
    levels = np.quantile(raw(best), 0.25, axis=0) if k else np.zeros(0)
    return box, f, lambda X: raw(X) - levels


def _landscape(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    center, scales = rng.uniform(0.2, 0.8, d), 10 ** rng.uniform(-0.7, 0.7, d)
    waves, phases = 2 * rng.normal(size=(8, d)), rng.uniform(0, 2 * np.pi, 8)

    def f(X: Any) -> Any:
        Z = (np.asarray(X) - center) @ rotation * scales
        ripples = np.cos(2 * np.pi * (Z @ waves.T) / np.sqrt(d) + phases).sum(axis=-1)
        return (Z**2).sum(axis=-1) + 0.1 * ripples

    return ((0.0, 1.0),) * d, f, None


def _ripples(rng: np.random.Generator, d: int, k: int) -> Parts:
    center, scales = rng.uniform(0.25, 0.75, d), 10 ** rng.uniform(-0.3, 0.3, d)
    waves, power, size = (
        rng.uniform(5, 50, d),
        rng.uniform(0.6, 2),
        rng.uniform(0.2, 0.4),
    )

    def f(X: Any) -> Any:
        Z = np.asarray(X) - center
        trend = (4.0 * (scales * Z**2).mean(axis=-1)) ** (0.5 * power)
        return trend + size * (1.0 - np.cos(2 * np.pi * waves * Z).mean(axis=-1))

    normals, swings = rng.normal(size=(k, d)), 2 * rng.normal(size=(k, d))

    def c(X: Any) -> Any:
        Z = np.asarray(X) - center
        return Z @ normals.T + 0.2 * np.sin(2 * np.pi * (Z @ swings.T)) - 0.05

    return ((0.0, 1.0),) * d, f, c if k else None


def _funnel(rng: np.random.Generator, d: int, k: int) -> Parts:
    box, _, c = _ripples(rng, d, k)
    center, wave = rng.uniform(0.3, 0.7, d), rng.uniform(6, 12)
    decay, size = rng.uniform(1, 4), rng.uniform(0.1, 0.25)

    def f(X: Any) -> Any:
        Z = np.asarray(X) - center
        swing = np.exp(np.cos(2 * np.pi * wave * Z).mean(axis=-1))
        trend = 1.0 - np.exp(-decay * np.sqrt((Z**2).mean(axis=-1)))
        return trend + size * (math.e - swing)

    at_center = c(center) if k else None
    return box, f, (lambda X: c(X) - at_center - 0.05) if k else None


def _curves(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    center, bowls = rng.uniform(0.2, 0.8, d), rng.uniform(0, 3, d)
    waves, phases = rng.uniform(1, 6, (3, d)), rng.uniform(0, 2 * np.pi, (3, d))
    sizes = rng.uniform(0.1, 0.5, (3, d))

    def each(X: Any) -> Any:
        X = np.asarray(X)
        swings = np.cos(2 * np.pi * waves * X[..., None, :] + phases)
        return bowls * (X - center) ** 2 + (sizes * swings).sum(axis=-2)

    grid = np.linspace(0.0, 1.0, 100_001)[:, None].repeat(d, axis=1)
    least = float(each(grid).min(axis=0).sum())
    return ((0.0, 1.0),) * d, lambda X: each(X).sum(axis=-1) - least, None


def _valley(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    center, turn = rng.uniform(-1, 1, d), rng.uniform(0.5, 1.5, d - 1)
    steep = 10 ** rng.uniform(0.5, 2, d - 1)

    def f(X: Any) -> Any:
        Z = 4.0 * np.asarray(X) - 2.0
        off = Z[..., 1:] - turn * (Z[..., :-1] ** 2 - 1.0)
        return (steep * off**2).sum(axis=-1) + ((Z - center) ** 2).sum(axis=-1)

    return ((0.0, 1.0),) * d, f, None


def _turned(rng: np.random.Generator, d: int) -> Callable[[Any], Array]:
    """Coordinates from a center within the cube, rotated."""
    center = rng.uniform(0.15, 0.85, d)
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))

    def coordinates(X: Any) -> Array:
        Z: Array = 2.0 * (np.asarray(X) - center) @ rotation
        return Z

    return coordinates


def _bowl(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    turned, weights = _turned(rng, d), 10 ** rng.uniform(0, rng.uniform(2, 6), d)

    def f(X: Any) -> Any:
        return (weights * turned(X) ** 2).sum(axis=-1)

    return ((0.0, 1.0),) * d, f, None


def _sector(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    turned, steep = _turned(rng, d), 10 ** rng.uniform(0.5, 2, d)
    power = rng.uniform(0.5, 1.0)

    def f(X: Any) -> Any:
        Z = turned(X)
        return ((np.where(Z > 0, steep, 1.0) * Z) ** 2).sum(axis=-1) ** power

    return ((0.0, 1.0),) * d, f, None


def _ridge(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    turned, steep = _turned(rng, d), 10 ** rng.uniform(0.5, 2)

    def f(X: Any) -> Any:
        Z = turned(X)
        return Z[..., 0] ** 2 + steep * np.sqrt((Z[..., 1:] ** 2).sum(axis=-1))

    return ((0.0, 1.0),) * d, f, None


def _peaks(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    n = int(rng.integers(20, 100))
    wells = [_turned(rng, d) for _ in range(n)]
    widths = 10 ** rng.uniform(-1.3, -0.3, (n, d)) * math.sqrt(d)
    depths = rng.uniform(0.1, 0.9, n)
    depths[0] = 1.0

    def f(X: Any) -> Any:
        far = [
            ((z(X) / w) ** 2).mean(axis=-1) for z, w in zip(wells, widths, strict=True)
        ]
        return (
            1.0 - (depths * np.exp(-0.5 * np.stack(far, axis=-1))).max(axis=-1)
        ) ** 2

    return ((0.0, 1.0),) * d, f, None


def _steps(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    turned, weights = _turned(rng, d), 10 ** rng.uniform(0, 2, d)
    width = rng.uniform(0.1, 0.3)

    def f(X: Any) -> Any:
        Z = turned(X)
        stairs = (weights * (width * np.round(Z / width)) ** 2).sum(axis=-1)
        return np.maximum(stairs, 1e-3 * np.abs(Z[..., 0])) + 0.1 * (Z**2).sum(axis=-1)

    return ((0.0, 1.0),) * d, f, None


def _rough(rng: np.random.Generator, d: int, k: int) -> Parts:
    del k
    turned, waves = _turned(rng, d), 2.0 ** np.arange(8)
    size, slope = 0.5 ** np.arange(8), rng.uniform(0.1, 3)

    def f(X: Any) -> Any:
        Z = turned(X)
        swings = (size * (1.0 - np.cos(2 * np.pi * waves * Z[..., None]))).sum(axis=-1)
        return swings.mean(axis=-1) + slope * (Z**2).mean(axis=-1)

    return ((0.0, 1.0),) * d, f, None


MAKERS: dict[str, Callable[[np.random.Generator, int, int], Parts]] = {
    "posynomial": _posynomial,
    "wells": _wells,
    "landscape": _landscape,
    "ripples": _ripples,
    "curves": _curves,
    "funnel": _funnel,
    "valley": _valley,
    "bowl": _bowl,
    "sector": _sector,
    "ridge": _ridge,
    "peaks": _peaks,
    "steps": _steps,
    "rough": _rough,
}


def sample(box: Box, n: int = 4096) -> Array:
    """Points of a box, by chance but always the same."""
    low, high = np.array(box).T
    X: Array = low + (high - low) * np.random.default_rng(0).random((n, len(box)))
    return X
