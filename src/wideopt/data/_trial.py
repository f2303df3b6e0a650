"""A trial: a config and what came of it. No tensors here, so it imports quickly."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from wideopt.exceptions import InputError
from wideopt.space import Config

__all__ = ["Trial", "TrialState", "best_trial", "check_outcome"]

TrialState: TypeAlias = Literal["complete", "failed", "pending"]


@dataclass(frozen=True)
class Trial:
    """One evaluation.

    Attributes:
        x: the config, in the user's units.
        y: the objective; None if failed or pending.
        c: the constraints (feasible iff all <= 0), NaN where one is missing; None if
            there are none or they are unknown.
        state: "complete", "failed" or "pending".
        seconds: how long the evaluation took, if known.
        error: why it failed, if known.
    """

    x: Config
    y: float | None = None
    c: tuple[float, ...] | None = None
    state: TrialState = "complete"
    seconds: float | None = None
    error: str | None = None

    @property
    def violation(self) -> float:
        """Sum of the positive parts of the constraints; a missing one counts as ∞."""
        if self.state != "complete":
            return math.inf
        return sum(math.inf if math.isnan(c) else max(c, 0.0) for c in self.c or ())

    @property
    def is_feasible(self) -> bool:
        """Whether the trial is complete and satisfies every constraint."""
        return self.violation == 0.0

    def to_json(self, values: Sequence[Any]) -> dict[str, Any]:
        """A JSON form, with the config given as plain values."""
        return {
            "x": list(values),
            "y": self.y,
            "c": None if self.c is None else [_finite_or_none(c) for c in self.c],
            "state": self.state,
            "seconds": self.seconds,
            "error": self.error,
        }

    @classmethod
    def from_json(cls, form: dict[str, Any], x: Config) -> Trial:
        """The trial of a JSON form, with its config in the user's form."""
        c = form["c"]
        return cls(
            x=x,
            y=form["y"],
            c=None if c is None else tuple(math.nan if v is None else v for v in c),
            state=form["state"],
            seconds=form["seconds"],
            error=form["error"],
        )


def best_trial(trials: Sequence[Trial]) -> Trial | None:
    """The best feasible trial, else the least infeasible one, else None.

    Violations are compared on each constraint's own scale, its median magnitude, since
    1e-3 beside 1e6 is common; a missing constraint value counts as the worst seen.
    """
    complete = [trial for trial in trials if trial.state == "complete"]
    feasible = [trial for trial in complete if trial.is_feasible]
    if feasible:
        return min(feasible, key=lambda trial: trial.y)  # type: ignore[arg-type,return-value]
    if not complete:
        return None
    C = np.array([trial.c for trial in complete], dtype=np.float64)
    violation = np.zeros(len(complete))
    for column in C.T:
        known = np.abs(column[~np.isnan(column)])
        scale = np.median(known) if known.size else 1.0
        excess = np.maximum(column, 0.0) / (scale or 1.0)
        worst = np.nanmax(excess) if known.size else 1.0
        violation += np.where(np.isnan(excess), worst + 1.0, excess)
    return complete[int(np.argmin(violation))]


def check_outcome(
    y: object, c: object, n_constraints: int | None
) -> tuple[float, tuple[float, ...] | None]:
    """The outcome as plain floats, or an error that says what is wrong with it.

    Args:
        y: the objective.
        c: the constraints, or None.
        n_constraints: how many there must be; None if that is not known yet. They may
            be left out where the objective is not finite: the evaluation failed.
    """
    if c is None and not math.isfinite(fun := _number(y, "The objective")):
        return fun, None
    constraints = () if c is None else _numbers(c)
    if n_constraints is not None and len(constraints) != n_constraints:
        raise InputError(
            f"Expected {n_constraints} constraint value(s), but got "
            f"{len(constraints)}: {c!r}."
        )
    return _number(y, "The objective"), constraints or None


def _number(value: object, what: str) -> float:
    """A float from any kind of real scalar, 0-d or one-element array or tensor."""
    plain: Any = value
    if hasattr(value, "item") and getattr(value, "size", 1) != 0:
        try:
            plain = value.item()
        except (RuntimeError, ValueError):
            plain = value
    if isinstance(plain, bool | np.bool_) or not isinstance(plain, int | float):
        raise InputError(f"{what} must be a number, but got {value!r}.")
    try:
        return float(plain)
    except OverflowError:
        return math.inf


def _numbers(values: object) -> tuple[float, ...]:
    if isinstance(values, numbers.Real):
        return (_number(values, "A constraint"),)
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"Constraints must be a list of numbers, but got {values!r}.")
    if np.ndim(values) == 0:  # type: ignore[arg-type]
        return (_number(values, "A constraint"),)
    return tuple(_number(value, "A constraint") for value in values)


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
