"""CPU seconds per suggestion against the number of observations.

    python benchmarks/ask_time.py [--methods gp-ei gp-ts] [--n 100 500 1000] [--dim 10]

Every method is told the same n Sobol points of Levy's function, then asked and told
`--asks` times. Printed: the first ask, which learns hyper-parameters, and the median of
the others, of which a share learns them again (the share shrinks as n grows).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

import torch

import wideopt as wo


def measure(method: str, n: int, dim: int, n_asks: int) -> tuple[float, float]:
    """CPU seconds of the first ask and the median of the next ones."""
    problem = wo.problems.get(f"levy-{dim}")
    optimizer = wo.Optimizer(problem.space, method=method, seed=0)
    design = wo.Optimizer(problem.space, method="random", seed=1)
    for x in design.ask(n):
        optimizer.tell(x, problem(x))
    seconds = []
    for _ in range(1 + n_asks):
        start = time.process_time()
        x = optimizer.ask()
        seconds.append(time.process_time() - start)
        optimizer.tell(x, problem(x))
    return seconds[0], statistics.median(seconds[1:])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=["random", "gp-ei", "gp-ts"])
    parser.add_argument("--n", nargs="+", type=int, default=[100, 500, 1000])
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--asks", type=int, default=5)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    print(f"levy-{args.dim}, CPU seconds per ask: first / median of {args.asks} more")
    print(f"{'method':<12}" + "".join(f"{f'n = {n}':>18}" for n in args.n))
    for method in args.methods:
        cells = []
        for n in args.n:
            first, later = measure(method, n, args.dim, args.asks)
            cells.append(f"{first:8.3f} /{later:7.3f}")
        print(f"{method:<12}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
