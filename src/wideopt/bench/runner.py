"""The runner: every run of a suite in a process of its own, a few at a time.

A run that is recorded is not made again, so an interrupted call is simply repeated. A
run that crashes, dies or takes too long is recorded as such and stops nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wideopt.bench import child
from wideopt.bench.contender import Contender
from wideopt.bench.record import (
    Journal,
    Status,
    assemble,
    fingerprint,
    fingerprint_of,
    is_settled,
    load,
    record_path,
    save,
)
from wideopt.bench.single import header
from wideopt.bench.suite import Suite
from wideopt.bench.task import Task, parse_noise
from wideopt.bench.twins import twin_record

__all__ = ["Job", "jobs_of", "run_jobs", "unsettled"]

_GRACE = 20.0  # seconds to start up, and to end an ask that began in time
_POLL = 0.05
_N_LOG = 2000  # characters of output kept when a run dies


@dataclass(frozen=True, eq=False)
class Job:
    """A run that is to be made, and where its record belongs."""

    suite: Suite
    is_smoke: bool
    task_name: str
    task: Task = field(repr=False)
    noise: str | None
    contender: Contender
    seed: int
    path: Path
    max_seconds: float | None
    twin: tuple[Path, str] | None = None  # the record that would do, and its mark

    @property
    def journal(self) -> Path:
        """What the run leaves as it goes; of this runner only."""
        return self.path.with_name(f".{self.path.stem}.{os.getpid()}.jsonl")

    @property
    def log(self) -> Path:
        """What the run prints."""
        return self.path.with_name(f".{self.path.stem}.{os.getpid()}.log")

    @property
    def mark(self) -> str:
        """The fingerprint of its record."""
        return fingerprint(self.contender, self.task, self.seed)

    def __str__(self) -> str:
        return f"{self.task.name}  {self.contender.label}  seed {self.seed}"

    def to_json(self) -> str:
        """What the child needs to know."""
        return json.dumps(
            {
                "suite": self.suite.name,
                "is_smoke": self.is_smoke,
                "task": self.task_name,
                "noise": self.noise,
                "method": self.contender.label,
                "seed": self.seed,
                "path": str(self.path),
                "journal": str(self.journal),
                "max_seconds": self.max_seconds,
            }
        )


def jobs_of(
    suite: Suite,
    contenders: Sequence[Contender],
    seeds: Iterable[int],
    results: Path,
    *,
    tasks: Sequence[str] | None = None,
    is_smoke: bool = False,
    noise: str | None = None,
    max_seconds: float | None = None,
) -> list[Job]:
    """Every run of a suite, seed by seed, so that an early stop leaves even tables."""
    names = tasks or suite.tasks(is_smoke)
    made = {name: suite.task(name, is_smoke) for name in names}
    if noise is not None:
        rule = parse_noise(noise)
        made = {name: task.with_noise(rule) for name, task in made.items()}
    folder = suite.folder(is_smoke)
    return [
        Job(
            suite=suite,
            is_smoke=is_smoke,
            task_name=name,
            task=task,
            noise=noise,
            contender=contender,
            seed=seed,
            path=record_path(results.resolve(), folder, task.name, contender, seed),
            max_seconds=max_seconds,
            twin=None
            if is_smoke or noise is not None
            else _twin(suite, name, task, contender, seed, results.resolve()),
        )
        for seed in seeds
        for name, task in made.items()
        for contender in contenders
    ]


def _twin(
    suite: Suite,
    name: str,
    task: Task,
    contender: Contender,
    seed: int,
    results: Path,
) -> tuple[Path, str] | None:
    twin = suite.twin(name, contender.label)
    return None if twin is None else twin_record(twin, task, seed, results)


def unsettled(jobs: Iterable[Job]) -> list[Job]:
    """The jobs without a record that counts, their own or their twin's."""
    return [
        job
        for job in jobs
        if not any(
            is_settled(load(path), mark, job.max_seconds)
            for path, mark in filter(None, [(job.path, job.mark), job.twin])
        )
    ]


def run_jobs(
    jobs: Sequence[Job],
    n_jobs: int = 1,
    on_start: Callable[[Job], None] = lambda _: None,
    on_end: Callable[[Job, Status], None] = lambda _, __: None,
) -> dict[str, int]:
    """Make the runs, n_jobs at a time; the number of each status.

    An interrupt ends the running ones without a record and is passed on.
    """
    waiting = deque(jobs)
    running: list[_Child] = []
    counts: dict[str, int] = {}
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                on_start(waiting[0])
                running.append(_Child(waiting.popleft()))
            time.sleep(_POLL)
            for child in list(running):
                status = child.ended()
                if status is not None:
                    running.remove(child)
                    counts[status] = counts.get(status, 0) + 1
                    on_end(child.job, status)
    finally:
        for child in running:
            child.kill()
    return counts


class _Child:
    """The process of a job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._is_late = False
        self._began = time.monotonic()
        job.path.parent.mkdir(parents=True, exist_ok=True)
        self._process = child.start(job.to_json(), job.log)

    def ended(self) -> Status | None:
        """How the run ended, its record in place; None while it runs."""
        code = self._process.exitcode
        if code is None:
            limit = self.job.max_seconds
            seconds = time.monotonic() - self._began
            if limit is not None and seconds > limit + _GRACE and not self._is_late:
                self._is_late = True
                self._kill_group()
            return None
        record = load(self.job.path)
        is_new = record is not None and fingerprint_of(record) == self.job.mark
        status: Status
        if code == 0 and record is not None and is_new:
            status = record["status"]
        else:
            status = self._salvage(code)
        self._sweep()
        return status

    def _salvage(self, code: int) -> Status:
        """The record of a run that could not write its own."""
        status: Status
        limit = self.job.max_seconds
        if self._is_late:
            status, error = "timeout", f"an ask went on beyond {limit:g} s"
        elif code < 0:
            status, error = "killed", f"ended by {signal.Signals(-code).name}"
        else:
            status, error = "failed", self._printed()[-_N_LOG:]
        left = Journal.read(self.job.journal)
        if left is None:
            job = self.job
            folder = job.suite.folder(job.is_smoke)
            left = header(job.contender, job.task, job.seed, folder, limit), []
        save(assemble(*left, status, error), self.job.path)
        return status

    def _printed(self) -> str:
        try:
            return self.job.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return f"The process ended with code {self._process.exitcode}."

    def kill(self) -> None:
        """End the run and leave no trace of it."""
        self._kill_group()
        self._process.join()
        self._sweep()

    def _kill_group(self) -> None:
        pid = self._process.pid
        if pid is None or self._process.exitcode is not None:
            return
        with contextlib.suppress(ProcessLookupError):  # it may just have ended
            if os.getpgid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)
        self._process.kill()  # in case it had no group of its own yet

    def _sweep(self) -> None:
        self.job.journal.unlink(missing_ok=True)
        self.job.log.unlink(missing_ok=True)
