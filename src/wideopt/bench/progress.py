"""Progress of `wideopt bench`: a bar on a terminal, else a line for each run."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress

from wideopt.bench.record import Status
from wideopt.bench.runner import Job

__all__ = ["Progress"]


class Progress:
    """What is under way and how each run ended, on standard error."""

    def __init__(self, n_runs: int) -> None:
        self._n_runs, self._n_done = n_runs, 0
        self._began: dict[Job, float] = {}
        self._bar: RichProgress | None = None
        if sys.stderr.isatty():
            self._bar = RichProgress(
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[now]}"),
                console=Console(file=sys.stderr),
            )
            self._id = self._bar.add_task("", total=n_runs, now="")

    def shown(self) -> AbstractContextManager[Any]:
        """The context in which the bar is on screen."""
        return self._bar or nullcontext()

    def start(self, job: Job) -> None:
        """A run begins."""
        self._began[job] = time.monotonic()
        self._show()

    def end(self, job: Job, status: Status) -> None:
        """A run has ended."""
        seconds = time.monotonic() - self._began.pop(job)
        self._n_done += 1
        line = f"{status:>8}  {seconds:7.1f} s  {job}"
        if self._bar is None:
            print(f"{self._n_done}/{self._n_runs} {line}", file=sys.stderr)
            return
        self._bar.advance(self._id)
        if status != "complete":
            self._bar.console.print(line, markup=False, highlight=False)
        self._show()

    def _show(self) -> None:
        if self._bar is not None:
            now = " | ".join(str(job) for job in self._began)
            self._bar.update(self._id, now=now.replace("[", "\\["))
