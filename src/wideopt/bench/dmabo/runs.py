"""Tasks, and runs of them: one record each, made once.

RESULTS/dmabo/TASK/METHOD/SEED.json
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wideopt.bench.dmabo.problems import (
    Instance,
    appendix_b,
    demand,
    platoon,
    power,
    sampled,
)
from wideopt.bench.provenance import commit, machine, versions
from wideopt.bench.record import Record, save
from wideopt.exceptions import InputError
from wideopt.methods import nearest
from wideopt.multiagent import minimize

__all__ = ["TASKS", "MultiTask", "chosen_tasks", "load", "run_all"]

FORMAT = "dmabo 1"  # other suites' reports leave such records alone

_PENALTIES = {f"penalty-admm-{p:g}": {"method": "penalty-admm", "penalty": p}
              for p in (0.5, 5.0, 50.0)}  # fmt: skip


@dataclass(frozen=True)
class MultiTask:
    """A problem with a size.

    Attributes:
        name: of the task; also a folder.
        make: from a seed to an instance.
        n_rounds: rounds of a run.
        n_seeds: instances.
        methods: from a label to options of `minimize`.
    """

    name: str
    make: Callable[[int], Instance]
    n_rounds: int
    n_seeds: int
    methods: dict[str, dict[str, Any]]


_DMABO: dict[str, dict[str, Any]] = {"dmabo": {}}
TASKS = (
    MultiTask("oscillation", appendix_b, 300, 1, _DMABO),
    MultiTask("power", power, 60, 5, {**_DMABO, **_PENALTIES}),
    MultiTask("platoon", platoon, 60, 3, {**_DMABO, **_PENALTIES}),
    MultiTask("demand", demand, 40, 2, {**_DMABO, "dcei": {"method": "dcei"}}),
    MultiTask("gp", sampled, 60, 100, {**_DMABO, "dcei": {"method": "dcei"}}),
)


def load(path: Path) -> Record | None:
    """The record of a file; None if there is none that can be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(record, dict) and record.get("format") == FORMAT
    return record if is_ours else None


def chosen_tasks(names: Sequence[str]) -> list[MultiTask]:
    """The tasks of some names; all of them for none."""
    known = {task.name: task for task in TASKS}
    for name in names:
        if name not in known:
            raise InputError(
                f"There is no task {name!r} in dmabo; {nearest(name, list(known))}"
            )
    return [known[name] for name in names] if names else list(TASKS)


def run_all(
    tasks: Sequence[MultiTask],
    results: Path,
    *,
    n_seeds: int | None = None,
    n_rounds: int | None = None,
) -> Iterator[tuple[str, Record | None]]:
    """Make what is not recorded, seed by seed; yields each name with a new record.

    All methods of a seed come together, so that a run that is stopped compares.
    """
    for task in tasks:
        for seed in range(min(n_seeds or task.n_seeds, task.n_seeds)):
            for label in task.methods:
                path = results / "dmabo" / task.name / label / f"{seed}.json"
                name = f"{task.name} {label} {seed}"
                rounds = n_rounds or task.n_rounds
                before = load(path)
                if before is not None and before["n_rounds"] == rounds:
                    yield name, None
                    continue
                record = run_one(task, label, seed, rounds)
                save(record, path)
                yield name, record


def run_one(task: MultiTask, label: str, seed: int, n_rounds: int) -> Record:
    """The record of a run."""
    instance = task.make(seed)
    start, cpu = time.perf_counter(), time.process_time()
    result = minimize(
        instance.agents,
        instance.b,
        n_rounds=n_rounds,
        truth=instance.truth,
        seed=seed,
        **task.methods[label],
    )
    return {
        "format": FORMAT,
        "task": task.name,
        "method": label,
        "seed": seed,
        "n_rounds": n_rounds,
        "n_agents": len(instance.agents),
        "optimum": instance.truth.optimum,
        "seconds": {
            "wall": time.perf_counter() - start,
            "cpu": time.process_time() - cpu,
        },
        "R": None if result.R is None else result.R.tolist(),
        "V": result.V.tolist(),
        "V_plus": result.V_plus.tolist(),
        "S": result.S.tolist(),
        "shifts": result.shifts.tolist(),
        "x": [
            [float(np.asarray(t.x)[0]) for t in h[-n_rounds:]] for h in result.histories
        ],
        "price": (result.eta[:, None] * result.lam).tolist(),
        "best": result.fun,
        "feasible": result.feasible,
        "versions": versions(),
        "commit": commit(),
        "machine": machine(),
    }
