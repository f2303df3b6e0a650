"""Problems made by chance, on which constants of our own are chosen.

They are for development only: no figure that we report is of them. Each is drawn from
its number, so that number 3 is the same problem for everyone. Optima that are not known
by construction were found by `solved`, and a test solves them again.

`fresh` draws as many more as are wanted, without constraints and on one scale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from wideopt.bench.applications.families import MAKERS, sample
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
    box, f, c = MAKERS[family](rng, d, k)
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


FAMILIES = tuple(MAKERS)


def fresh(family: str, d: int, number: int) -> Callable[[Any], Any]:
    """Another function of a family, on the unit cube, with mean 0 and deviation 1.

    It is none of `NAMES`.
    """
    rng = np.random.default_rng([1_000 + FAMILIES.index(family), d, number])
    box, f, _ = MAKERS[family](rng, d, 0)
    low, high = np.array(box).T
    values = f(sample(box))
    mean, sd = float(values.mean()), float(values.std())
    return lambda X: (f(low + (high - low) * np.asarray(X)) - mean) / sd


def solved(problem: Problem, n_starts: int = 60) -> tuple[float, Array]:
    """The least feasible value that many searches find, and where."""
    low, high = np.array(problem.bounds).T
    X = sample(problem.box)
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
