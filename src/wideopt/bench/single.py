"""One run: a contender, a task, a seed, and its record."""

from __future__ import annotations

import datetime as dt
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wideopt.bench import provenance
from wideopt.bench.contender import (
    AskTell,
    Contender,
    Observation,
    initial_design,
    parse,
)
from wideopt.bench.record import (
    FORMAT,
    Journal,
    Record,
    Status,
    assemble,
)
from wideopt.bench.task import Task
from wideopt.space import Space

__all__ = ["header", "run_one"]


def run_one(
    method: str | Contender,
    task: Task,
    seed: int,
    *,
    suite: str = "",
    journal: Path | None = None,
    max_seconds: float | None = None,
) -> Record:
    """The record of one run, made in this process.

    An error ends the run, not the caller: the record says so and keeps what was done.

    Args:
        method: a contender, or the text of one.
        task: what to optimize.
        seed: seed of the contender, of the initial design and of the noise.
        suite: name of the suite, for the record.
        journal: a file that receives every evaluation at once.
        max_seconds: wall seconds after which no further evaluation is begun.
    """
    contender = parse(method) if isinstance(method, str) else method
    task = task.seeded(seed)
    started = time.perf_counter()
    head = header(contender, task, seed, suite, max_seconds)
    log = None if journal is None else Journal(journal, head)
    steps: list[Record] = []
    status: Status = "complete"
    error = None
    try:
        for step in _steps(contender, task, seed):
            steps.append(step)
            if log is not None:
                log.add(step)
            is_late = time.perf_counter() - started > (max_seconds or np.inf)
            if is_late and len(steps) < task.n_evals:
                status = "timeout"
                error = f"stopped after {max_seconds:g} s at {len(steps)} evaluations"
                break
    except Exception:
        status, error = "failed", traceback.format_exc(limit=-6)
    if log is not None:
        log.close()
    return assemble(head, steps, status, error)


def header(
    contender: Contender,
    task: Task,
    seed: int,
    suite: str,
    max_seconds: float | None,
) -> Record:
    """What a record says before the first evaluation."""
    return {
        "format": FORMAT,
        "suite": suite,
        "task": task.to_json(),
        "method": contender.label,
        "options": contender.options,
        "seed": seed,
        "n_init": len(initial_design(task, seed)),
        "max_seconds": max_seconds,
        "date": dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        "versions": provenance.versions(contender.package),
        "commit": provenance.commit(),
        "machine": provenance.machine(),
        "memory_mb": {"baseline": provenance.peak_memory_mb()},
    }


def _steps(contender: Contender, task: Task, seed: int) -> Iterator[Record]:
    """The evaluations of a run, as they are made."""
    design = initial_design(task, seed) if contender.is_external else []
    initial: list[Observation] = []
    session: AskTell | None = None
    i = 0
    while i < task.n_evals:
        if session is None and i >= len(design):
            session = contender.start(task, seed, initial)  # imports are not timed
        clock = _Clock()
        n = min(task.n_batch, task.n_evals - i)
        batch = [design[i]] if session is None else _asked(session, n)
        ask_cpu, ask_wall = (lap / len(batch) for lap in clock.lap())
        # one stream an evaluation: all contenders meet the same noise at the same time
        outcomes = [
            (truth, task.observed(truth, np.random.default_rng([seed, i + k])))
            for k, truth in enumerate(map(task.truth, batch))
        ]
        for x, (truth, (y, c)) in zip(batch, outcomes, strict=True):
            clock.lap()
            if session is None:
                initial.append(Observation(x, y, c))
            else:
                session.tell(x, y, c)
            tell_cpu, tell_wall = clock.lap()
            i += 1
            yield {
                "x": _values(task.space, x),
                "y": truth[0],
                "c": truth[1],
                "y_observed": y,
                "c_observed": c,
                "ask_cpu": round(ask_cpu, 6),
                "ask_wall": round(ask_wall, 6),
                "tell_cpu": tell_cpu,
                "tell_wall": tell_wall,
                "memory_mb": provenance.peak_memory_mb(),
                "message": getattr(session, "message", ""),
            }


def _asked(session: AskTell, n: int) -> list[Any]:
    if n == 1:
        return [session.ask()]
    many = getattr(session, "ask_many", None)
    return [session.ask() for _ in range(n)] if many is None else many(n)


def _values(space: Space, x: Any) -> list[Any]:
    return list(space.values(x))


class _Clock:
    """CPU and wall seconds since the last lap."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def lap(self) -> tuple[float, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        laps = round(cpu - self._cpu, 6), round(wall - self._wall, 6)
        self._cpu, self._wall = cpu, wall
        return laps
