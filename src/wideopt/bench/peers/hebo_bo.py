"""HEBO, and with constraints the `GeneralBO` of the same package.

Initial points: observed before the first suggestion, in place of HEBO's random ones.
Constraints: HEBO proper has none on outputs; `GeneralBO` models objective and
constraints with one multi-task GP. HEBO 0.3.6 asks for old versions of numpy and pymoo
but works with new ones, so it is installed by itself: `pip install --no-deps HEBO`,
beside `wideopt[bench]`, which has what it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wideopt.bench.contender import Observation
from wideopt.bench.peers._cube import Points, load
from wideopt.bench.task import Task

__all__ = ["Hebo"]


class Hebo:
    """HEBO through its suggest and observe."""

    def __init__(
        self, task: Task, seed: int, initial: list[Observation], **options: Any
    ) -> None:
        spaces = load("hebo.design_space.design_space", "HEBO", "--no-deps HEBO")
        self._frames = load("pandas", "pandas")
        torch = load("torch", "torch")
        np.random.seed(seed)  # noqa: NPY002  HEBO draws from the global streams
        torch.manual_seed(seed)
        self._points = Points(task.space)
        self._names = [f"u{i:03}" for i in range(self._points.n_dims)]
        box = spaces.DesignSpace().parse(
            [{"name": n, "type": "num", "lb": 0.0, "ub": 1.0} for n in self._names]
        )
        n_init = len(initial)
        if task.n_constraints:
            general = load("hebo.optimizers.general", "HEBO", "--no-deps HEBO")
            self._hebo = general.GeneralBO(
                box, 1, task.n_constraints, rand_sample=n_init, **options
            )
        else:
            hebo = load("hebo.optimizers.hebo", "HEBO", "--no-deps HEBO")
            self._hebo = hebo.HEBO(
                box, rand_sample=n_init, scramble_seed=seed, **options
            )
        for seen in initial:
            self.tell(*seen)

    def ask(self) -> Any:
        """The next suggestion."""
        row = self._hebo.suggest(n_suggestions=1).iloc[0]
        return self._points.decode([float(row[name]) for name in self._names])

    def ask_many(self, n: int) -> list[Any]:
        """Several at once."""
        rows = self._hebo.suggest(n_suggestions=n)[self._names].to_numpy()
        return [self._points.decode([float(u) for u in row]) for row in rows]

    def tell(self, x: Any, y: float, c: list[float]) -> None:
        """Observe an outcome: objective and constraints in one row."""
        point = self._points.encode(x)
        frame = self._frames.DataFrame([dict(zip(self._names, point, strict=True))])
        self._hebo.observe(frame, np.array([[y, *c]]))
