"""HEBO, and with constraints the `GeneralBO` of the same package.

Initial points: observed before the first suggestion, in place of HEBO's random ones.
Parameters keep their kind; reals are coordinates of the unit cube, so that logarithmic
ones are logarithmic here, too.
Constraints: HEBO proper has none on outputs; `GeneralBO` models objective and
constraints with one multi-task GP. HEBO 0.3.6 asks for old versions of numpy and pymoo
but works with new ones, so it is installed by itself: `pip install --no-deps HEBO`,
beside `wideopt[bench]`, which has what it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wideopt.bench.contender import Observation
from wideopt.bench.peers._cube import KindPoints, labels, load
from wideopt.bench.task import Task
from wideopt.space import Categorical, Integer

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
        self._points = KindPoints(task.space)
        box = spaces.DesignSpace().parse(
            [
                {"name": name, **_definition(parameter)}
                for name, parameter in self._points.items
            ]
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
        return self.ask_many(1)[0]

    def ask_many(self, n: int) -> list[Any]:
        """Several at once."""
        rows = self._hebo.suggest(n_suggestions=n).to_dict("records")
        return [self._points.decode(row) for row in rows]

    def tell(self, x: Any, y: float, c: list[float]) -> None:
        """Observe an outcome: objective and constraints in one row."""
        frame = self._frames.DataFrame([self._points.encode(x)])
        self._hebo.observe(frame, np.array([[y, *c]]))


def _definition(parameter: Any) -> dict[str, Any]:
    if isinstance(parameter, Integer):
        kind = "pow_int" if parameter.log else "int"
        return {"type": kind, "lb": parameter.low, "ub": parameter.high, "base": 10}
    if isinstance(parameter, Categorical):
        return {"type": "cat", "categories": labels(parameter)}
    return {"type": "num", "lb": 0.0, "ub": 1.0}
