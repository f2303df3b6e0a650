"""Time of a suggestion with many constraints, by that with one.

    python benchmarks/constrained_ask_time.py [--n 200 1000] [--k 1 11]

The problem is Hartmann's function in six dimensions outside of K balls, so that both
numbers of constraints have the same objective, and feasible points among those told.
The measure is that of ask_time.py: a method is told n Sobol points, then asked and told
1 + `--asks` times. Printed: CPU seconds of the first ask, which learns hyper-parameters
from nothing; the median of an ask and its tell afterwards; and the ratio of the latter
to that with the fewest constraints.

Each measurement is a file in RESULTS/constrained-ask-time/, so the same command
resumes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ask_time import costs, first, later, measured

from wideopt import bench, problems

METHODS = ("neural-cbo",)
SIZES = (200, 1000)
CONSTRAINTS = (1, 11)
RADIUS = 0.35  # of the balls; each takes at most 1% of the cube


def task(n_constraints: int, n_evals: int) -> bench.Task:
    """Hartmann's function where x is in none of the balls: r² - |x - p_k|² <= 0."""
    problem = problems.get("hartmann-6")
    centers = np.random.default_rng(0).uniform(size=(n_constraints, problem.dim))

    def outputs(x: Any) -> tuple[float, list[float]]:
        gaps = np.square(x - centers).sum(axis=1)
        return float(problem(x)), list(RADIUS**2 - gaps)

    return bench.Task(
        name=f"hartmann-6-balls-{n_constraints}",
        space=problem.space,
        n_evals=n_evals,
        outputs=outputs,
        n_constraints=n_constraints,
        n_init=1,  # so that no ask is for the initial design
    )


def collect(args: argparse.Namespace, method: str, n: int) -> dict[int, dict[str, Any]]:
    """The measurements of a method after n points, by the number of constraints."""
    contender = bench.parse(method)
    found = {}
    for k in sorted(args.k):
        job = {"method": contender.label, "k": k, "n": n, "n_asks": args.asks}
        folder = args.results / "constrained-ask-time" / contender.slug
        path = folder / f"{n}-{k}.json"
        record = measured(job, path, args.max_seconds, __file__)
        found[k] = record
        if record["status"] == "complete":
            told = f"{first(record):.3g} s, then {later(record):.3g} s"
        else:
            told = record["status"]
        print(f"{contender.label:<24}n = {n:<6}K = {k:<4}{told}", flush=True)
    return found


def ratios(records: dict[int, dict[str, Any]]) -> dict[int, float]:
    """Later suggestions by those with the fewest constraints, of what was measured."""
    done = {k: later(r) for k, r in records.items() if r["status"] == "complete"}
    base = done.get(min(records))
    return {} if base is None else {k: value / base for k, value in done.items()}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--n", nargs="+", type=int, default=SIZES)
    parser.add_argument("--k", nargs="+", type=int, default=CONSTRAINTS)
    parser.add_argument("--asks", type=int, default=5, help="after the first one")
    parser.add_argument("--max-seconds", type=float, default=1800, help="wall, of each")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--job", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.asks < 1 or min(args.n) < 2 or min(args.k) < 1:
        parser.error("--asks and --k are at least 1, --n at least 2")
    if args.job is not None:
        job = json.loads(args.job)
        chosen = task(job["k"], job["n"] + 1 + job["n_asks"])
        print(json.dumps(costs(job["method"], chosen, job["n"], job["n_asks"])))
        return
    for method in args.methods:
        for n in sorted(args.n):
            found = ratios(collect(args, method, n))
            least = min(found, default=None)
            for k in sorted(found.keys() - {least}):
                ratio = found[k]
                print(f"{method}, n = {n}: K = {k} takes {ratio:.2f} times K = {least}")


if __name__ == "__main__":
    main()
