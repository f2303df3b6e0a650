"""CMA-ES by `cma`, asked point by point and told a generation at a time.

Initial points: the best of them is the initial mean; the others are not used, as CMA-ES
has no memory of single points. Initial step: 0.25 of the box (cma advises a quarter to
a third). Bounds: cma's own transformation. Constraints: cma's augmented Lagrangian
(`ConstrainedFitnessAL`) in its default setting. A strategy that has converged is
restarted from a random point, as `fmin2` would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideopt.bench.contender import Observation
from wideopt.bench.peers._cube import Points, load
from wideopt.bench.task import Task

__all__ = ["CMA"]


class CMA:
    """The covariance matrix adaptation evolution strategy."""

    def __init__(
        self,
        task: Task,
        seed: int,
        initial: list[Observation],
        sigma: float = 0.25,
        find_feasible_first: bool = False,
    ) -> None:
        self._cma = load("cma", "cma")
        self._points = Points(task.space)
        self._has_constraints = task.n_constraints > 0
        self._find_feasible_first = find_feasible_first
        self._sigma, self._seed, self._n_starts = sigma, seed, 0
        self._restart(self._points.encode(_best(initial).x))

    def _restart(self, mean: NDArray[np.float64]) -> None:
        self._n_starts += 1
        self._es = self._cma.CMAEvolutionStrategy(
            mean,
            self._sigma,
            {
                "bounds": [0.0, 1.0],
                "seed": 1000 * self._seed + self._n_starts,  # 0 would be the clock
                "verbose": -9,
            },
        )
        self._outcome: tuple[float, list[float]] = (0.0, [])
        # The fitness is called with values already observed: one generation is put in
        # place by _finish, outcome by outcome.
        self._fitness = self._cma.ConstrainedFitnessAL(
            lambda _: self._outcome[0],
            lambda _: self._outcome[1],
            dimension=self._points.n_dims,
            find_feasible_first=self._find_feasible_first,
            logging=0,
            archives=False,
        )
        self._generation: list[NDArray[np.float64]] = []
        self._told: list[tuple[float, list[float]]] = []

    def ask(self) -> Any:
        """The next member of the generation."""
        if not self._generation:
            self._generation = list(self._es.ask())
        return self._points.decode(self._generation[len(self._told)])

    def ask_many(self, n: int) -> list[Any]:
        """The next members of the generation, fewer at its end."""
        if not self._generation:
            self._generation = list(self._es.ask())
        rest = self._generation[len(self._told) :]
        return [self._points.decode(point) for point in rest[:n]]

    def tell(self, x: Any, y: float, c: list[float]) -> None:  # noqa: ARG002
        """Note an outcome; a complete generation moves the strategy."""
        self._told.append((y, c))
        if len(self._told) == len(self._generation):
            self._finish()

    def _finish(self) -> None:
        if self._has_constraints:
            values = []
            for point, outcome in zip(self._generation, self._told, strict=True):
                self._outcome = outcome
                values.append(self._fitness(point))
            self._es.tell(self._generation, values)
            self._fitness.update(self._es)
        else:
            self._es.tell(self._generation, [y for y, _ in self._told])
        self._generation, self._told = [], []
        if self._es.stop():
            rng = np.random.default_rng([self._seed, self._n_starts])
            self._restart(rng.random(self._points.n_dims))


def _best(initial: list[Observation]) -> Observation:
    """The best feasible observation, else the one of least violation."""

    def key(seen: Observation) -> tuple[float, float]:
        violation = sum(max(value, 0.0) for value in seen.c)
        return violation, seen.y if violation == 0 else 0.0

    return min(initial, key=key)
