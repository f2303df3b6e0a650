"""How near methods come to known optima: the gap of each seed, and the median.

    python benchmarks/known_optima.py [--methods gp-ei neural-bo] [--seeds 10]

Branin with 40 evaluations and Hartmann-6 with 80, seeds 0, 1, 2, ..., two processes of
one thread each.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context

import wideopt as wo

TASKS = {"branin": 40, "hartmann-6": 80}


def gap(problem_name: str, method: str, seed: int) -> float:
    """What is left to the optimum after the task's evaluations."""
    problem = wo.problems.get(problem_name)
    result = wo.minimize(
        problem,
        problem.space,
        method=method,
        n_evals=TASKS[problem_name],
        seed=seed,
        progress=False,
    )
    return float(result.fun - problem.optimum)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=["gp-ei", "random"])
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args(argv)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for name, n_evals in TASKS.items():
            for method in args.methods:
                seeds = range(args.seeds)
                gaps = list(pool.map(gap, repeat(name), repeat(method), seeds))
                print(f"{name}, {n_evals} evaluations, {method}: ", end="")
                print(
                    f"median {statistics.median(gaps):.2g}, max {max(gaps):.2g};",
                    end="",
                )
                print("", *(f"{g:.2g}" for g in gaps), flush=True)


if __name__ == "__main__":
    main()
