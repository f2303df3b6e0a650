"""SMAC3's `BlackBoxFacade`: Gaussian process and expected improvement.

Initial points: told before the first ask, with no initial design of SMAC's own.
Parameters keep their kind; reals are coordinates of the unit cube, so that logarithmic
ones are logarithmic here, too.
Constraints: SMAC has none, so infeasible points are told with a penalty,
`wideopt.bench.peers._cube.penalized`. The objective is declared deterministic, without
which SMAC would spend the budget on repeating points; its GP learns a noise level.
"""

from __future__ import annotations

import tempfile
from collections import deque
from pathlib import Path
from typing import Any

from wideopt.bench.contender import Observation
from wideopt.bench.peers._cube import KindPoints, labels, load, penalized
from wideopt.bench.task import Task
from wideopt.space import Categorical, Integer

__all__ = ["Smac"]


class Smac:
    """SMAC3 through its ask and tell."""

    def __init__(self, task: Task, seed: int, initial: list[Observation]) -> None:
        smac = load("smac", "smac")
        self._histories = load("smac.runhistory.dataclasses", "smac")
        self._spaces = load("ConfigSpace", "ConfigSpace")
        self._points = KindPoints(task.space)
        self._initial = initial
        self._folder = tempfile.TemporaryDirectory(prefix="wideopt-smac-")
        self._box = self._spaces.ConfigurationSpace(
            {name: self._definition(name, p) for name, p in self._points.items}
        )
        scenario = smac.Scenario(
            self._box,
            deterministic=True,
            n_trials=task.n_evals,
            seed=seed,
            output_directory=Path(self._folder.name),
        )
        facade = smac.BlackBoxFacade
        self._smac = facade(
            scenario,
            target_function=_never,
            initial_design=facade.get_initial_design(scenario, n_configs=0),
            logging_level=False,
            overwrite=True,
        )
        self._asked: deque[Any] = deque()  # and not told
        for seen in initial:
            self.tell(*seen)

    def ask(self) -> Any:
        """The next trial's config."""
        info = self._smac.ask()
        self._asked.append(info)
        return self._points.decode(dict(info.config))

    def _definition(self, name: str, parameter: Any) -> Any:
        if isinstance(parameter, Integer):
            bounds = (parameter.low, parameter.high)
            return self._spaces.Integer(name, bounds, log=parameter.log)
        if isinstance(parameter, Categorical):
            return self._spaces.Categorical(name, labels(parameter))
        return self._spaces.Float(name, (0.0, 1.0))

    def tell(self, x: Any, y: float, c: list[float]) -> None:
        """Report the first of the trials asked, or one of the initial design."""
        if self._asked:
            info = self._asked.popleft()
        else:
            config = self._spaces.Configuration(self._box, self._points.encode(x))
            info = self._histories.TrialInfo(config, seed=0)
        cost = penalized(self._initial, y, c)
        self._smac.tell(info, self._histories.TrialValue(cost=cost), save=False)


def _never(config: Any, seed: int = 0) -> float:
    del config, seed
    raise RuntimeError("SMAC is asked and told; it evaluates nothing itself.")
