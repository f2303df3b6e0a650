"""Suites: named lists of tasks, each a small file in `wideopt.bench.suites`.

A file there calls `register(Suite(...))`; no other file changes. Suites list the names
of their tasks and make a `Task` only when asked, so that listing them is quick.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wideopt.bench.task import Task
from wideopt.exceptions import InputError
from wideopt.methods import nearest

if TYPE_CHECKING:
    from wideopt.bench.run_data import Run

__all__ = ["SMOKE", "Suite", "Twin", "every_suite", "get", "register"]

SMOKE = "-smoke"  # ends the folder of a suite's smoke size

_TABLE: dict[str, "Suite"] = {}


class Twin(NamedTuple):
    """A run of another suite that is the same: see `wideopt.bench.twins`."""

    suite: str
    task: str
    method: str


def _no_twin(task: str, method: str) -> Twin | None:  # noqa: ARG001
    return None


@dataclass(frozen=True)
class Suite:
    """A named list of tasks in two sizes.

    Attributes:
        name: the name; also a folder of results.
        title: one line for people.
        full: names of the tasks.
        smoke: names of the tasks of the smoke size, which runs in seconds.
        make: maps (task name, whether smoke) to the task.
        methods: the methods that run unless others are named.
        reference: the method that the tests compare with every other.
        n_seeds: seeds per task unless stated.
        is_per_task: whether a report shows each task, or only the whole.
        section: maps (runs, folder for figures) to a further section in Markdown.
        twin: maps (task, method) to the run of another suite that is the same, if any;
            not for the smoke size.
    """

    name: str
    title: str
    full: tuple[str, ...]
    smoke: tuple[str, ...]
    make: Callable[[str, bool], Task]
    methods: tuple[str, ...]
    reference: str
    n_seeds: int = 10
    is_per_task: bool = True
    section: Callable[[Sequence[Run], Path], str] | None = None
    twin: Callable[[str, str], Twin | None] = _no_twin

    def tasks(self, is_smoke: bool) -> tuple[str, ...]:
        """The names of the tasks of one size."""
        return self.smoke if is_smoke else self.full

    def folder(self, is_smoke: bool) -> str:
        """The folder of results: smoke runs never touch the full ones."""
        return self.name + (SMOKE if is_smoke else "")

    def task(self, name: str, is_smoke: bool = False) -> Task:
        """The task of a name."""
        names = self.tasks(is_smoke)
        if name not in names:
            raise InputError(
                f"Suite {self.name} has no task {name!r} in this size; "
                f"{nearest(name, list(names))}"
            )
        return self.make(name, is_smoke)


def register(suite: Suite) -> Suite:
    """Put a suite into the table."""
    if suite.name in _TABLE:
        raise InputError(f"There are two suites named {suite.name!r}.")
    _TABLE[suite.name] = suite
    return suite


def every_suite() -> dict[str, Suite]:
    """Every suite by name."""
    package = importlib.import_module("wideopt.bench.suites")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_TABLE.items()))


def get(name: str) -> Suite:
    """The suite of a name."""
    known = every_suite()
    if name not in known:
        raise InputError(f"There is no suite {name!r}; {nearest(name, list(known))}")
    return known[name]
