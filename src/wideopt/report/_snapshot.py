"""What a report is about: a study as it is now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideopt.data import Trial, best_trial
from wideopt.run.campaigns import Lab
from wideopt.space import Categorical, Space

__all__ = ["Snapshot"]


@dataclass(frozen=True)
class Snapshot:
    """The finished trials of a study, in the user's sign.

    Attributes:
        name: of the study.
        method: that made the suggestions last.
        goal: "minimize" or "maximize".
        space: the parameters.
        constraints: their names.
        trials: numbers and trials.
        ask_seconds: how long each suggestion took, by number.
        n_open: trials under way.
    """

    name: str
    method: str
    goal: str
    space: Space
    constraints: tuple[str, ...]
    trials: list[tuple[int, Trial]]
    ask_seconds: dict[int, float]
    n_open: int

    @classmethod
    def of(cls, study: str, name: str | None = None) -> Snapshot:
        """The study of a space file, of an SQLite file or of a storage URL."""
        lab = Lab.open(study, name)
        return cls(
            name=lab.record.study.study_name,
            method=lab.method,
            goal="minimize" if lab.record.sign > 0 else "maximize",
            space=lab.space,
            constraints=lab.constraints,
            trials=lab.finished(),
            ask_seconds=lab.record.ask_seconds(),
            n_open=lab.n_open,
        )

    @property
    def sign(self) -> int:
        """+1 to minimize, -1 to maximize."""
        return 1 if self.goal == "minimize" else -1

    @property
    def complete(self) -> list[tuple[int, Trial]]:
        """The trials that have a result."""
        return [(n, t) for n, t in self.trials if t.state == "complete"]

    @property
    def failed(self) -> list[tuple[int, Trial]]:
        """The trials that have none."""
        return [(n, t) for n, t in self.trials if t.state == "failed"]

    @property
    def best(self) -> tuple[int, Trial] | None:
        """The best feasible trial, or the least infeasible one."""
        turned = {
            n: Trial(t.x, None if t.y is None else self.sign * t.y, t.c, t.state)
            for n, t in self.trials
        }
        found = best_trial(list(turned.values()))
        if found is None:
            return None
        number = next(n for n, t in turned.items() if t is found)
        return number, dict(self.trials)[number]

    def values(self, trial: Trial) -> tuple[Any, ...]:
        """The values of a trial's parameters in order."""
        return self.space.values(trial.x)

    def points(self) -> NDArray[np.float64]:
        """The complete trials as points of the unit cube."""
        rows = [self.space.encode(self.values(t)) for _, t in self.complete]
        return np.array(rows).reshape(-1, self.space.n_dims)

    def columns(self) -> list[tuple[str, list[Any], list[str] | None]]:
        """Name, values, and the words they stand for, of each parameter."""
        rows = [self.values(t) for _, t in self.complete]
        found: list[tuple[str, list[Any], list[str] | None]] = []
        pairs = zip(self.space.names, self.space.parameters, strict=True)
        for i, (name, parameter) in enumerate(pairs):
            values = [row[i] for row in rows]
            if isinstance(parameter, Categorical):
                index = [parameter.choices.index(v) for v in values]
                found.append((name, index, [str(c) for c in parameter.choices]))
            elif getattr(parameter, "log", False):
                found.append((f"log10 {name}", [math.log10(v) for v in values], None))
            else:
                found.append((name, values, None))
        return found
