"""Memory and time of a long campaign: thousands of ask/tell cycles in one process.

    python benchmarks/long_run.py [--methods random neural-bo] [--n 5000] [--every 1]
        [--problem hartmann-6]

Every method is asked and told on one problem. With `--every K` only each K-th point is
asked for, and the others are Sobol points that are told: for methods whose asks would
take hours. Printed after each tenth: the best value, CPU seconds of all asks so far and
the peak of memory. Then the median CPU seconds of an ask about n = 500 and about the
end (with `--every 1`, of 200 asks each, so that learning is part of it), their ratio,
and what the resident memory grew by from n = 500 to the end beyond the data, which is
the length of the optimizer's state as JSON. What we aim at is a ratio below 4 for the
neural methods, and growth below 50 MB.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from pathlib import Path

import wideopt as wo
from wideopt.bench.provenance import peak_memory_mb
from wideopt.problems import Problem

N_MEASURED = 10  # asks about each end, if few are made
N_MEAN = 200  # if all are made: their mean, too


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def data_mb(optimizer: wo.Optimizer) -> float:
    return len(json.dumps(optimizer.state_dict())) / 2**20


def measure(
    method: str, problem: Problem, n_cycles: int, every: int, start: int = 500
) -> str:
    """A line on one method."""
    import torch
    from torch.quasirandom import SobolEngine

    torch.set_num_threads(1)
    low, high = map(list, zip(*problem.bounds, strict=True))
    optimizer = wo.Optimizer(problem.space, method=method, seed=0)
    sobol = SobolEngine(problem.dim, scramble=True, seed=1).draw(n_cycles).double()
    told = (
        torch.tensor(low) + (torch.tensor(high) - torch.tensor(low)) * sobol
    ).numpy()
    seconds: list[tuple[int, float]] = []
    memory: dict[int, tuple[float, float]] = {}
    best = float("inf")
    for n in range(n_cycles):
        is_near = min(abs(n - start), abs(n_cycles - 1 - n)) <= N_MEASURED // 2
        x = told[n]
        if n % every == 0 or is_near:
            begin = time.process_time()
            x = optimizer.ask()
            seconds.append((n, time.process_time() - begin))
        y = float(problem(x))
        optimizer.tell(x, y)
        best = min(best, y)
        if n in (start + N_MEASURED, n_cycles - 1):
            memory[n] = resident_mb(), data_mb(optimizer)
        if (n + 1) % max(1, n_cycles // 10) == 0:
            spent = sum(s for _, s in seconds)
            print(
                f"{method:<14} n = {n + 1}: best {best:.6g}, {spent:.0f} s in asks, "
                f"peak {peak_memory_mb():.0f} MB",
                flush=True,
            )
    n_ends = N_MEASURED if every > 1 else N_MEAN
    early = [s for n, s in seconds if abs(n - start) <= n_ends // 2]
    late = [s for n, s in seconds if n >= n_cycles - n_ends]
    (first, data_1), (last, data_2) = memory.values()
    a, b = statistics.median(early), statistics.median(late)
    mean_a, mean_b = statistics.mean(early), statistics.mean(late)
    growth = last - first - (data_2 - data_1)
    return (
        f"{method:<14} n = {n_cycles}: ask {a:.3f} s at {start}, {b:.3f} s at the end "
        f"({b / a:.1f}x; means {mean_a:.3f} and {mean_b:.3f}); "
        f"memory +{growth:.0f} MB beyond the data"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=["random", "neural-bo"])
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--problem", default="hartmann-6")
    args = parser.parse_args()
    problem = wo.problems.get(args.problem)
    for method in args.methods:
        print(measure(method, problem, args.n, args.every), flush=True)


if __name__ == "__main__":
    main()
