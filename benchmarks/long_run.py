"""Memory and time of a long campaign: thousands of ask/tell cycles in one process.

    python benchmarks/long_run.py [--methods random neural-bo] [--n 5000] [--every 1]

Every method is asked and told on Hartmann-6. With `--every K` only each K-th point is
asked for, and the others are Sobol points that are told: for methods whose asks would
take hours. Printed: the median CPU seconds of an ask about n = 500 and about the end,
their ratio, and what the resident memory grew by from n = 500 to the end beyond the
data, which is the length of the optimizer's state as JSON. What we aim at is a
ratio below 4 for the neural methods, and growth below 50 MB.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from pathlib import Path

import wideopt as wo

N_MEASURED = 10  # asks about each end


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def data_mb(optimizer: wo.Optimizer) -> float:
    return len(json.dumps(optimizer.state_dict())) / 2**20


def measure(method: str, n_cycles: int, every: int, start: int = 500) -> str:
    """A line on one method."""
    import torch
    from torch.quasirandom import SobolEngine

    torch.set_num_threads(1)
    problem = wo.problems.get("hartmann-6")
    optimizer = wo.Optimizer(problem.space, method=method, seed=0)
    sobol = SobolEngine(6, scramble=True, seed=1).draw(n_cycles).double().numpy()
    seconds: list[tuple[int, float]] = []
    memory: dict[int, tuple[float, float]] = {}
    for n in range(n_cycles):
        is_near = min(abs(n - start), abs(n_cycles - 1 - n)) <= N_MEASURED // 2
        x = sobol[n]
        if n % every == 0 or is_near:
            begin = time.process_time()
            x = optimizer.ask()
            seconds.append((n, time.process_time() - begin))
        optimizer.tell(x, problem(x))
        if n in (start + N_MEASURED, n_cycles - 1):
            memory[n] = resident_mb(), data_mb(optimizer)
    early = [s for n, s in seconds if abs(n - start) <= N_MEASURED // 2]
    late = [s for n, s in seconds if n >= n_cycles - 1 - N_MEASURED // 2]
    (first, data_1), (last, data_2) = memory.values()
    a, b = statistics.median(early), statistics.median(late)
    growth = last - first - (data_2 - data_1)
    return (
        f"{method:<14} n = {n_cycles}: ask {a:.3f} s at {start}, {b:.3f} s at the end "
        f"({b / a:.1f}x); memory +{growth:.0f} MB beyond the data"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=["random", "neural-bo"])
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    for method in args.methods:
        print(measure(method, args.n, args.every), flush=True)


if __name__ == "__main__":
    main()
