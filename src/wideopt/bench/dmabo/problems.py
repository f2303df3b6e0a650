"""Problems of several agents: those of DMABO's section 5 and of its introduction.

Functions are classes, so that other processes can load them. What the paper leaves open
is chosen here and said in docs/benchmarks.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from wideopt.multiagent import Agent, Truth
from wideopt.space import Integer
from wideopt.surrogates import SquaredExponential

__all__ = ["NOISE", "Instance", "appendix_b", "demand", "platoon", "power", "sampled"]

Array = NDArray[np.float64]
NOISE = 0.02  # the paper's λ = 0.02²
_LENGTH = 0.5  # of the sampled functions on [-1, 1]
_KNOWN = SquaredExponential(length_scale=_LENGTH / 2.0, noise=NOISE**2)


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem: agents, right-hand side, truth."""

    agents: list[Agent]
    truth: Truth
    b: list[float] | None = None


class Noisy:
    """A function whose values have Gaussian noise, the same in each run of a seed."""

    def __init__(self, fun: Callable[[Any], Any], seed: tuple[int, ...]) -> None:
        self.fun, self._rng = fun, np.random.default_rng(seed)

    def __call__(self, x: Any) -> Any:
        """The values with noise."""
        value = self.fun(x)
        f, g = value if isinstance(value, tuple) else (value, [])
        noise = NOISE * self._rng.standard_normal(1 + len(g))
        noisy = f + noise[0], [v + e for v, e in zip(g, noise[1:], strict=True)]
        return noisy if g else noisy[0]


def _agents(
    functions: list[Any], space: Any, seed: int, matrices: Any = None, **settings: Any
) -> list[Agent]:
    columns = [None] * len(functions) if matrices is None else matrices
    return [
        Agent(Noisy(fun, (seed, i)), space, A=A, n_candidates=128, **settings)
        for i, (fun, A) in enumerate(zip(functions, columns, strict=True))
    ]


class Sampled:
    """An objective and two constraints, each a draw of a GP on [-1, 1]."""

    nodes = np.linspace(-1.2, 1.2, 41)

    def __init__(self, rng: np.random.Generator) -> None:
        K = self._kernel(self.nodes) + 1e-8 * np.eye(len(self.nodes))
        draws = np.linalg.cholesky(K) @ rng.standard_normal((len(self.nodes), 3))
        self._weights = np.linalg.solve(K, draws)

    def _kernel(self, x: Array) -> Array:
        gaps = (np.asarray(x)[:, None] - self.nodes) / _LENGTH
        return np.asarray(np.exp(-0.5 * gaps**2))

    def at(self, x: Array) -> Array:
        """(points, 3): the three values."""
        return np.asarray(self._kernel(x) @ self._weights)

    def __call__(self, x: Any) -> tuple[float, list[float]]:
        """Objective and constraints."""
        f, *g = self.at(np.array([x[0]]))[0].tolist()
        return f, g


def sampled(seed: int) -> Instance:
    """Section 5.1: N = 3, m = 2, functions drawn from a GP; feasible with slack 0.1.

    Draws whose constraints cannot both be kept by a margin of 0.1 (Assumption 5, for a
    single point) are drawn again.
    """
    rng, grid = np.random.default_rng([8, seed]), np.linspace(-1.0, 1.0, 121)
    while True:
        functions = [Sampled(rng) for _ in range(3)]
        tables = [fun.at(grid) for fun in functions]
        f, g1, g2 = (
            a[:, None, None] + b[None, :, None] + c[None, None, :]
            for a, b, c in zip(*(table.T for table in tables), strict=True)
        )
        if ((g1 <= -0.1) & (g2 <= -0.1)).any():
            break
    optimum = float(f[(g1 <= 0) & (g2 <= 0)].min())
    agents = _agents(functions, [(-1, 1)], seed, n_constraints=2, surrogate=_KNOWN)
    return Instance(agents, Truth(optimum, functions))


class Rate:
    """Minus the rate of a channel, log(1 + a p)."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def __call__(self, x: Any) -> float:
        """-U(p)."""
        return -math.log1p(self.gain * x[0])


def power(seed: int) -> Instance:
    """Section 5.2: five channels share a power budget of 2, each takes 0 to 1."""
    rng = np.random.default_rng([9, seed])
    gains = np.exp(rng.uniform(math.log(0.5), math.log(10.0), 5))
    functions = [Rate(float(a)) for a in gains]

    def used(water: float) -> float:
        return float(np.clip(water - 1.0 / gains, 0.0, 1.0).sum()) - 2.0

    p = np.clip(brentq(used, 0.0, 5.0) - 1.0 / gains, 0.0, 1.0)
    optimum = -float(np.log1p(gains * p).sum())
    agents = _agents(functions, [(0, 1)], seed, [[[1.0]]] * 5)
    return Instance(agents, Truth(optimum, functions), [2.0])


class Table:
    """The three points of appendix B."""

    values = {-1: (1.0, [-1.0]), 0: (0.5, [0.0]), 1: (-1.0, [2.0])}  # noqa: RUF012

    def __call__(self, x: Any) -> tuple[float, list[float]]:
        """Objective and constraint."""
        return self.values[int(x[0])]


def appendix_b(seed: int) -> Instance:
    """Appendix B: a sequence that oscillates for ever, without noise."""
    del seed
    agent = Agent(Table(), [Integer(-1, 1)], n_constraints=1, surrogate=_KNOWN)
    return Instance([agent], Truth(0.5, [Table()]))


class Vehicle:
    """Fuel and time for a kilometer, of order 1, at v in units of 10 m/s."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.drag, self.idle = rng.uniform(0.05, 0.2), rng.uniform(1.0, 3.0)
        self.gear, self.phase = rng.uniform(0.02, 0.08), rng.uniform(0.0, 2 * math.pi)

    def __call__(self, x: Any) -> float:
        """The cost."""
        v = x[0]
        ripple = self.gear * math.sin(5.0 * v + self.phase)
        return float(self.drag * v**2 + self.idle / v + ripple)


def platoon(seed: int) -> Instance:
    """Five vehicles, 15 to 35 m/s, who must drive at one speed: v_i - v_{i+1} = 0."""
    rng = np.random.default_rng([10, seed])
    functions = [Vehicle(rng) for _ in range(5)]
    speeds = np.linspace(1.5, 3.5, 20001)
    total = [sum(fun([v]) for fun in functions) for v in speeds[::20]]
    near = speeds[::20][int(np.argmin(total))]
    best = minimize_scalar(
        lambda v: sum(fun([v]) for fun in functions),
        bounds=(max(1.5, near - 0.01), min(3.5, near + 0.01)),
        method="bounded",
    )
    differences = np.eye(5)[:4] - np.eye(5, k=1)[:4]
    matrices = [differences[:, [i]].tolist() for i in range(5)]
    agents = _agents(functions, [(1.5, 3.5)], seed, matrices)
    return Instance(agents, Truth(float(best.fun), functions), [0.0] * 4)


class Building:
    """Discomfort and energy of a building, by set point and share of fresh air."""

    limit = 0.45  # of the mean load

    def __init__(self, rng: np.random.Generator) -> None:
        self.wish = rng.uniform(0.55, 0.95, 2)
        self.weight, self.leak = rng.uniform(0.5, 2.0), rng.uniform(0.4, 1.2)

    def __call__(self, x: Any) -> tuple[float, list[float]]:
        """Discomfort, and load less its share of the limit."""
        warm, air = float(x[0]), float(x[1])
        gap = (warm - self.wish[0]) ** 2 + 0.5 * (air - self.wish[1]) ** 2
        load = self.leak * (0.7 * warm**1.5 + 0.4 * air * warm + 0.1 * air)
        return self.weight * gap, [load - self.limit]


def demand(seed: int) -> Instance:
    """Demand response: 20 buildings, two settings each, one limit on the total load."""
    rng = np.random.default_rng([11, seed])
    functions = [Building(rng) for _ in range(20)]
    truth = Truth(_dual_optimum(functions), functions)
    agents = _agents(functions, [(0, 1), (0, 1)], seed, n_constraints=1)
    return Instance(agents, truth)


def _dual_optimum(functions: list[Building]) -> float:
    """The optimum by its dual, which on a grid has no gap to speak of here."""
    axis = np.linspace(0.0, 1.0, 81)
    grid = list(itertools.product(axis, axis))
    tables = [np.array([(f, g[0]) for f, g in map(fun, grid)]) for fun in functions]

    def chosen(price: float) -> Array:
        rows = [table[np.argmin(table @ [1.0, price])] for table in tables]
        return np.asarray(np.sum(rows, axis=0))

    low, high = 0.0, 100.0
    if chosen(low)[1] <= 0:
        return float(chosen(low)[0])
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if chosen(middle)[1] <= 0 else (middle, high)
    over, under = chosen(low), chosen(high)  # the load is just above and just below 0
    share = over[1] / (over[1] - under[1])
    return float(over[0] + share * (under[0] - over[0]))
