"""Steady heat in a square, with the three sets of boundary values of the thesis.

Paper: PINN-BO (Phan-Trong's thesis), sec. 5.4.3.1. ΔT = 0 on [0, 2π]², solved by
py-pde on a grid of cells; between the middles of cells T is a cubic spline. The box is
that of these middles, half a cell within the square. The hottest point is wanted, so
the objective is -T.

In the first set the thesis prints the coordinate along an edge as y where it is x, and
the reverse. Arguments of square roots are clipped at 0.

Fields with edges drawn by chance are for development.

Notation: edges are T(x, 0), T(x, 2π), T(0, y), T(2π, y), each a function of the
coordinate a along the edge.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import WideoptError

__all__ = ["BOUNDARIES", "N_CELLS", "SIDE", "Field", "drawn", "heat", "solved"]

Array: TypeAlias = "NDArray[np.float64]"
Edge: TypeAlias = Callable[[Array], Array]

SIDE = 2 * math.pi
N_CELLS = 128


def _root(a: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(a, 0.0)))


sin, cos, exp = np.sin, np.cos, np.exp

BOUNDARIES: dict[int, tuple[Edge, Edge, Edge, Edge]] = {
    1: (
        lambda a: 5 * sin(a) + _root(1 + a),
        lambda a: a * sin(3 * cos(a) + 2 * exp(a) * sin(a)),
        lambda a: 10 * cos(a) + a * exp(_root(a**2 + sin(a))),
        lambda a: 3 * _root(exp(a * exp(-a)) * sin(a) + cos(3 * a) * cos(3 * a)),
    ),
    2: (
        lambda a: sin(a) * cos(2 * a) + a**2 * _root(3 * a) + exp(sin(a)),
        lambda a: (
            exp(sin(a)) * _root(3 * a) + a**2 * cos(a) * sin(a) ** 2 + exp(cos(a))
        ),
        lambda a: _root(2 * a) * sin(a) + a**3 * cos(2 * a) + exp(cos(a)),
        lambda a: sin(a) * cos(2 * a) + a**3 * _root(2 * a) + exp(sin(a)),
    ),
    3: (
        lambda a: (sin(a) + cos(2 * a)) * _root(3 * a) + a**2 + exp(sin(a)),
        lambda a: (
            (exp(sin(a)) + _root(3 * a)) * cos(a) + (sin(a) ** 2 + a**2) * exp(cos(a))
        ),
        lambda a: (_root(2 * a) + sin(a)) * (cos(2 * a) + a**3) + exp(cos(a)),
        lambda a: (sin(a) + cos(2 * a)) * (_root(2 * a) + a**3) + exp(sin(a)),
    ),
}


@dataclass(frozen=True)
class Field:
    """A field on the middles of cells, and its spline.

    Attributes:
        nodes: coordinates of the middles, the same along x and y.
        T: values, T[i, j] at (nodes[i], nodes[j]).
        spline: maps arrays of x and y to values.
    """

    nodes: Array
    T: Array
    spline: Callable[[Any, Any], Array]

    @property
    def low(self) -> float:
        """The least coordinate."""
        return float(self.nodes[0])

    @property
    def high(self) -> float:
        """The largest coordinate."""
        return float(self.nodes[-1])

    def __call__(self, X: Array) -> Array:
        """Values at the rows of X."""
        return np.asarray(self.spline(X[..., 0], X[..., 1]))

    def hottest(self) -> tuple[Array, float]:
        """Where the spline is largest, searched from the hottest nodes."""
        from scipy.optimize import minimize

        order = np.argsort(self.T, axis=None)[::-1][:5]
        starts = self.nodes[np.array(np.unravel_index(order, self.T.shape)).T]
        box = [(self.low, self.high)] * 2

        def cold(x: Array) -> float:
            return -float(self(x))

        ends = [minimize(cold, x, bounds=box) for x in starts]
        best = min(ends, key=lambda end: float(end.fun))
        node = starts[0]
        if float(self(node)) >= -float(best.fun):
            return node, float(self(node))
        return np.asarray(best.x), -float(best.fun)


def solved(edges: tuple[Edge, Edge, Edge, Edge], n_cells: int = N_CELLS) -> Field:
    """The harmonic field with these values on its edges."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numba, on import
            py_pde: Any = importlib.import_module("pde")
    except ImportError:
        raise WideoptError(
            'The fields of the suite pinn-bo need py-pde: pip install "wideopt[bench]".'
        ) from None
    from scipy.interpolate import RectBivariateSpline

    grid = py_pde.CartesianGrid([[0, SIDE]] * 2, n_cells)
    nodes = np.asarray(grid.axes_coords[0], dtype=np.float64)
    bottom, top, left, right = (np.asarray(edge(nodes)) for edge in edges)
    conditions = {
        "x-": {"value": left},
        "x+": {"value": right},
        "y-": {"value": bottom},
        "y+": {"value": top},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        T = np.asarray(py_pde.solve_laplace_equation(grid, conditions).data)
    spline = RectBivariateSpline(nodes, nodes, T)
    return Field(nodes, T, spline.ev)


@lru_cache
def heat(number: int) -> Field:
    """The field of one of the three sets."""
    return solved(BOUNDARIES[number])


@lru_cache
def drawn(number: int) -> Field:
    """A field whose edges are drawn from its number: powers, bent, and a wave."""
    rng = np.random.default_rng([77, number])
    edges = [_drawn_edge(rng) for _ in range(4)]
    return solved((edges[0], edges[1], edges[2], edges[3]))


def _drawn_edge(rng: np.random.Generator) -> Edge:
    size, wave = 3.0 * 10 ** rng.uniform(-1, 1), rng.uniform(0, 3)
    power = rng.choice([0, 1, 2, 3, 4])
    turns, phases = rng.integers(0, 4, 2), rng.uniform(0, 2 * math.pi, 2)
    is_flipped, sign = rng.random() < 0.5, rng.choice([-1, 1])
    share = rng.uniform(0, 1)

    def edge(a: Array) -> Array:
        b = (SIDE - a if is_flipped else a) / SIDE
        bend = 1 - share + share * np.cos(turns[0] * a + phases[0])
        return np.asarray(
            sign * size * b**power * bend + wave * np.sin(turns[1] * a + phases[1])
        )

    return edge
