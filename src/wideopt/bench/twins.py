"""Runs that two suites share: made once, recorded once, and counted in both.

A suite may say that a method on one of its tasks is the run of another suite, its twin:
the same problem and budget under another name, and the same algorithm, such as `auto`
with constraints and `neural-cbo`. A run whose twin is recorded is not made again, and a
report of the suite counts it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wideopt.bench.contender import Contender, parse
from wideopt.bench.record import fingerprint, load, record_path
from wideopt.bench.run_data import Run
from wideopt.bench.suite import Suite, Twin
from wideopt.bench.task import Task

__all__ = ["borrowed_runs", "twin_record"]


def twin_record(twin: Twin, task: Task, seed: int, results: Path) -> tuple[Path, str]:
    """Where the record of the twin belongs, and the fingerprint it must have."""
    contender = parse(twin.method)
    mark = fingerprint(contender, replace(task, name=twin.task), seed)
    return record_path(results, twin.suite, twin.task, contender, seed), mark


def borrowed_runs(suite: Suite, results: Path, own: Iterable[Run]) -> list[Run]:
    """The recorded twins of the suite's runs, under its names, but for its own runs."""
    known = {(run.task, run.method, run.seed) for run in own}
    found = []
    for task in suite.full:
        for contender in map(parse, suite.methods):
            runs = _twins(suite, task, contender, results)
            found += [run for run in runs if (task, run.method, run.seed) not in known]
    return found


def _twins(suite: Suite, task: str, contender: Contender, results: Path) -> list[Run]:
    twin = suite.twin(task, contender.label)
    if twin is None:
        return []
    folder = record_path(results, twin.suite, twin.task, parse(twin.method), 0).parent
    records = (load(path) for path in sorted(folder.glob("[0-9]*.json")))
    return [
        replace(Run.of(record), task=task, method=contender.label)
        for record in records
        if record is not None
    ]
