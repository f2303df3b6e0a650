"""How soon an infeasible problem is recognized, and whether a feasible one ever is.

    python benchmarks/infeasible.py [--methods neural-cbo configopt] [--seeds 10]

The infeasible problem: x₁ + x₂ on the unit square, within two disks that do not meet.
Printed: the number of evaluations after which the method first says that no point looks
feasible, for each seed, and how many seeds say so within `--n-evals`; whether it still
says so in the end. Then, of the runs recorded in RESULTS/neural-cbo, all of them of
feasible problems: how many ever said it.

Each run is a record in RESULTS/infeasible/, so the same command resumes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wideopt as wo
from wideopt import bench
from wideopt.bench.constrained import n_declared_infeasible
from wideopt.bench.record import (
    Record,
    fingerprint,
    is_settled,
    load,
    record_path,
    save,
)
from wideopt.bench.run_data import by_task, load_runs
from wideopt.bench.single import run_one

METHODS = ("neural-cbo", "configopt")
CENTERS = np.array([[0.25, 0.3], [0.75, 0.7]])
RADIUS = 0.2  # the disks are 0.24 apart


def disks(x: Any) -> tuple[float, list[float]]:
    """x₁ + x₂, and |x - p|² - r² for each disk."""
    return float(np.sum(x)), list(np.square(x - CENTERS).sum(axis=1) - RADIUS**2)


def task(n_evals: int) -> bench.Task:
    return bench.Task(
        name="two-disks",
        space=wo.Space([(0.0, 1.0), (0.0, 1.0)]),
        n_evals=n_evals,
        outputs=disks,
        n_constraints=2,
    )


def recorded(method: str, seed: int, n_evals: int, results: Path) -> Record:
    """The record of a run; it is made if there is none."""
    contender, chosen = bench.parse(method), task(n_evals)
    path = record_path(results, "infeasible", chosen.name, contender, seed)
    record = load(path)
    if not is_settled(record, fingerprint(contender, chosen, seed), None):
        record = run_one(contender, chosen, seed, suite="infeasible")
        save(record, path)
    assert record is not None
    return record


def first_said(record: Record) -> int | None:
    """After how many evaluations no point looked feasible for the first time."""
    return next((at for at, text in record["messages"] if text), None)


def last_said(record: Record) -> bool:
    """Whether that is the last word."""
    return bool(record["messages"]) and bool(record["messages"][-1][1])


def recognized(args: argparse.Namespace) -> None:
    """Print when each method recognizes that the problem is infeasible."""
    for method in args.methods:
        records = [
            recorded(method, seed, args.n_evals, args.results)
            for seed in range(args.seeds)
        ]
        at = [first_said(record) for record in records]
        shown = ", ".join("never" if n is None else str(n) for n in at)
        n_said = sum(n is not None for n in at)
        print(f"{method}: first said after {shown} evaluations")
        print(
            f"{method}: {n_said} of {len(at)} seeds within {args.n_evals}, "
            f"{sum(map(last_said, records))} still say so in the end",
            flush=True,
        )
        failed = [record["seed"] for record in records if record["error"]]
        if failed:
            print(f"{method}: seeds that failed: {failed}")


def wrongly_declared(results: Path) -> None:
    """Print how many recorded runs called a feasible problem infeasible."""
    # records of before messages were kept say nothing either way
    runs = [r for r in load_runs(results / "neural-cbo") if "messages" in r.info]
    methods: dict[str, list[int]] = {}
    for task_name, of in by_task(runs).items():
        for method, some in of.items():
            n = n_declared_infeasible(some)
            totals = methods.setdefault(method, [0, 0])
            totals[0] += n
            totals[1] += len(some)
            if n:
                print(f"{task_name}, {method}: {n} of {len(some)} called infeasible")
    for method, (n, n_runs) in methods.items():
        print(f"{method}: {n} of {n_runs} runs of feasible problems called infeasible")
    if not runs:
        print(f"There are no records with messages in {results / 'neural-cbo'}.")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--n-evals", type=int, default=60)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args(argv)
    if args.seeds < 1 or args.n_evals < 10:
        parser.error("--seeds is at least 1, --n-evals at least 10")
    import torch

    torch.set_num_threads(1)
    recognized(args)
    wrongly_declared(args.results)


if __name__ == "__main__":
    main()
