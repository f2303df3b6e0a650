"""Evaluate the user's function, here or in a worker. Nothing it does ends the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wideopt.space import Config

__all__ = ["Job", "Maximized", "Outcome", "evaluate"]


@dataclass(frozen=True)
class Maximized:
    """A function whose maximum is wanted; its sign is turned when told."""

    fun: Callable[[Any], Any]

    def __call__(self, config: Config) -> Any:
        """The function's own value."""
        return self.fun(config)


@dataclass(frozen=True)
class Job:
    """A config to be evaluated, under the number of its trial."""

    config: Config
    number: int


@dataclass(frozen=True)
class Outcome:
    """What an evaluation returned, or the error it ended with."""

    value: Any
    seconds: float | None
    error: str | None = None

    def split(self) -> tuple[Any, Any]:
        """Objective and constraints: `y`, or `(y, c)`."""
        value = self.value
        if isinstance(value, tuple | list) and len(value) == 2:
            return value[0], value[1]
        return value, None


def evaluate(fun: Callable[[Config], Any], config: Config) -> Outcome:
    """Call the function; an exception becomes an outcome with an error."""
    start = time.perf_counter()
    try:
        value, error = fun(config), None
    except (Exception, SystemExit) as raised:
        value, error = None, f"{type(raised).__name__}: {raised}".strip(": ")
    return Outcome(value, time.perf_counter() - start, error)
