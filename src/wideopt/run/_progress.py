"""The progress bar: best value, feasibility, time left."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from wideopt.result import Result

__all__ = ["Bar"]


class Bar:
    """A bar on standard error; silent when told so, or when it is not a terminal."""

    def __init__(self, n_evals: int, n_done: int, progress: bool | None) -> None:
        is_shown = sys.stderr.isatty() if progress is None else progress
        self._progress: Progress | None = None
        if is_shown:
            self._progress = Progress(
                TextColumn("wideopt"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[best]}"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=Console(file=sys.stderr),
            )
            self._task = self._progress.add_task(
                "", total=n_evals, completed=n_done, best="best: none yet"
            )

    def shown(self) -> AbstractContextManager[Any]:
        """The context in which the bar is on screen."""
        return self._progress or nullcontext()

    def update(self, result: Result) -> None:
        """Show the state of the run."""
        if self._progress is None:
            return
        best = "best: none yet"
        if result.fun is not None:
            best = f"best: {result.fun:.6g}{'' if result.feasible else ' infeasible'}"
        if result.n_failed:
            best += f", {result.n_failed} failed"
        self._progress.update(self._task, completed=result.n_evals, best=best)
