"""Optuna's TPESampler and GPSampler in an in-memory study.

Initial points: enqueued, asked and told as trials; they stand in for the start-up
trials, so `n_startup_trials` is their number. Constraints: `Trial.set_constraint`, the
successor of `constraints_func` (Optuna 5). Parameters keep their kind (float, integer,
categorical). All else is the sampler's default; options go to the sampler.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from wideopt.bench.contender import Observation
from wideopt.bench.peers._cube import load
from wideopt.bench.task import Task
from wideopt.exceptions import WideoptError
from wideopt.space import Categorical, Integer, Real, Space

__all__ = ["GP", "TPE"]


def TPE(
    task: Task, seed: int, initial: list[Observation], **options: Any
) -> OptunaStudy:
    """The tree-structured Parzen estimator."""
    return OptunaStudy("TPESampler", task, seed, initial, options)


def GP(
    task: Task, seed: int, initial: list[Observation], **options: Any
) -> OptunaStudy:
    """The Gaussian-process sampler."""
    return OptunaStudy("GPSampler", task, seed, initial, options)


class OptunaStudy:
    """A study, asked and told."""

    def __init__(
        self,
        sampler: str,
        task: Task,
        seed: int,
        initial: list[Observation],
        options: dict[str, Any],
    ) -> None:
        optuna = load("optuna", "optuna")
        if task.n_constraints and not hasattr(optuna.trial.Trial, "set_constraint"):
            raise WideoptError("Constraints in this peer need Optuna 5 or later.")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        settings = {"seed": seed, "n_startup_trials": len(initial), **options}
        self._study = optuna.create_study(
            sampler=getattr(optuna.samplers, sampler)(**settings)
        )
        self._space = task.space
        self._distributions = _distributions(optuna.distributions, task.space)
        self._trials: deque[Any] = deque()  # asked and not told
        for seen in initial:
            self._study.enqueue_trial(self._params(seen.x))
            self.ask()
            self.tell(*seen)

    def _params(self, x: Any) -> dict[str, Any]:
        return dict(zip(self._space.names, self._space.values(x), strict=True))

    def ask(self) -> Any:
        """The next trial's config."""
        trial = self._study.ask(self._distributions)
        self._trials.append(trial)
        return self._space.config([trial.params[n] for n in self._space.names])

    def tell(self, x: Any, y: float, c: list[float]) -> None:  # noqa: ARG002
        """Finish the first of the trials asked, which is the one at x."""
        trial = self._trials.popleft()
        for i, value in enumerate(c):
            trial.set_constraint(f"c{i}", value)
        self._study.tell(trial, y)


def _distributions(kinds: Any, space: Space) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, p in zip(space.names, space.parameters, strict=True):
        if isinstance(p, Real):
            made[name] = kinds.FloatDistribution(p.low, p.high, log=p.log)
        elif isinstance(p, Integer):
            made[name] = kinds.IntDistribution(p.low, p.high, log=p.log)
        elif isinstance(p, Categorical):
            made[name] = kinds.CategoricalDistribution(list(p.choices))
    return made
