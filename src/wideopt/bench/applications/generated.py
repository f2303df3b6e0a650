"""Problems made by chance, on which constants of our own are chosen.

They are for development only: no figure that we report is of them. Each is drawn from
its number, so that number 3 is the same problem for everyone. Optima that are not known
by construction were found by `solved`, and a test solves them again.

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

`fresh` draws as many more as are wanted, without constraints and on one scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from wideopt.problems import Problem

__all__ = ["FAMILIES", "NAMES", "OPTIMA", "fresh", "generated", "solved"]

Array = NDArray[np.float64]

OPTIMA = {
    "posynomial-0": 7564.032569,
    "posynomial-1": 8036.338381,
    "posynomial-2": 2553.378152,
    "posynomial-3": 66.21022075,
    "wells-0": -2.372300424,
    "wells-1": -2.028879951,
    "wells-2": -1.380056404,
    "wells-3": -2.119581008,
    "landscape-0": -0.6781291481,
    "landscape-1": -0.4262714212,
    "landscape-2": -0.591269432,
    "landscape-3": -0.6476747575,
    "ripples-0": 0.0,
    "ripples-1": 0.0,
    "ripples-2": 0.0,
    "ripples-3": 0.0,
    "ripples-4": 0.0,
    "ripples-5": 0.0,
    "ripples-6": 0.0,
    "funnel-0": 0.0,
    "funnel-1": 0.0,
    "funnel-2": 0.0,
    "curves-0": 0.0,
    "curves-1": 0.0,
    "curves-2": 0.0,
}

_SIZES = {  # dimension and number of constraints of numbers 0, 1, ...
    "posynomial": ((4, 1), (3, 2), (5, 2), (6, 4)),
    "wells": ((2, 1), (4, 1), (3, 3), (6, 2)),
    "landscape": ((4, 0), (6, 0), (10, 0), (20, 0)),
    "ripples": ((5, 0), (10, 0), (20, 0), (5, 2), (3, 1), (4, 1), (6, 2)),
    "curves": ((6, 0), (10, 0), (20, 0)),
    "funnel": ((4, 1), (5, 2), (6, 1)),
}


NAMES = tuple(OPTIMA)


def generated(name: str) -> Problem:
    """The problem of a name such as "wells-2"."""
    family, _, number = name.rpartition("-")
    d, k = _SIZES[family][int(number)]
    rng = np.random.default_rng([list(_SIZES).index(family), int(number)])
    box, f, c = _FAMILIES[family](rng, d, k)
    return Problem(
        name=name,
        title=f"{family} of {d} variables, number {number}",
        box=box,
        f=f,
        c=c if k else None,
        n_constraints=k,
        optimum=OPTIMA.get(name),
        source="drawn by chance, for development",
    )


Parts = tuple[tuple[tuple[float, float], ...], Callable[[Any], Any], Any]


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
    X = _sample(box)
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

    X = _sample(box)
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


_FAMILIES: dict[str, Callable[[np.random.Generator, int, int], Parts]] = {
    "posynomial": _posynomial,
    "wells": _wells,
    "landscape": _landscape,
    "ripples": _ripples,
    "curves": _curves,
    "funnel": _funnel,
    "valley": _valley,
}

FAMILIES = tuple(_FAMILIES)


def fresh(family: str, d: int, number: int) -> Callable[[Any], Any]:
    """Another function of a family, on the unit cube, with mean 0 and deviation 1.

    It is none of `NAMES`.
    """
    rng = np.random.default_rng([1_000 + FAMILIES.index(family), d, number])
    box, f, _ = _FAMILIES[family](rng, d, 0)
    low, high = np.array(box).T
    values = f(_sample(box))
    mean, sd = float(values.mean()), float(values.std())
    return lambda X: (f(low + (high - low) * np.asarray(X)) - mean) / sd


def _sample(box: tuple[tuple[float, float], ...], n: int = 4096) -> Array:
    low, high = np.array(box).T
    X: Array = low + (high - low) * np.random.default_rng(0).random((n, len(box)))
    return X


def solved(problem: Problem, n_starts: int = 60) -> tuple[float, Array]:
    """The least feasible value that many searches find, and where."""
    low, high = np.array(problem.bounds).T
    X = _sample(problem.box)
    f, c = problem.objective(X), problem.constraints(X)
    order = np.argsort(f + 1e9 * np.clip(c, 0, None).sum(axis=-1))
    step = max(1, len(X) // 8 // n_starts)
    starts = np.concatenate([X[order[:n_starts]], X[order[::step][:n_starts]]])
    size = float(np.abs(f).mean())
    best, where = np.inf, starts[0]

    def x_of(u: Array) -> Array:
        x: Array = low + (high - low) * np.clip(u, 0.0, 1.0)
        return x

    limits = {"type": "ineq", "fun": lambda u: -problem.constraints(x_of(u))}
    for x_0 in starts:
        found: Any = minimize(  # type: ignore[call-overload]
            lambda u: problem.objective(x_of(u)) / size,
            (x_0 - low) / (high - low),
            bounds=[(0.0, 1.0)] * problem.dim,
            constraints=limits if problem.n_constraints else (),
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        x = x_of(found.x)
        is_feasible = bool((problem.constraints(x) <= 1e-9).all())
        if is_feasible and float(problem.objective(x)) < best:
            best, where = float(problem.objective(x)), x
    return best, where
