"""Evaluations until a rate law's optimum is found: its own model against others.

    python benchmarks/rate_law.py [--methods go-ucb gp-ei] [--seeds 10] [--n-evals 40]

The reactor of examples/rate_law.py, error of 0.5 included. Printed for each method: in
how many evaluations the true profit of the best observation came within 0.5 of the
optimum, for each seed and in the median; a run that did not counts as more than its
length.
"""

from __future__ import annotations

import argparse
import math
import runpy
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import wideopt as wo

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "rate_law.py"))
NEAR = 0.5  # the sd of the error of one experiment


def optimum() -> float:
    """The greatest profit, on a fine grid."""
    hours, kelvin = np.linspace(0.1, 20, 800), np.linspace(300, 400, 1001)
    grid = torch.cartesian_prod(torch.from_numpy(hours), torch.from_numpy(kelvin))
    with torch.no_grad():
        return float(EXAMPLE["Law"](EXAMPLE["TRUTH"]).double()(grid).max())


def evaluations(method: str, seed: int, n_evals: int, best: float) -> float:
    """How many it took; infinite if the budget was not enough."""
    options: dict[str, Any] = {}
    if method == "go-ucb":
        law = EXAMPLE["Law"](EXAMPLE["GUESS"])
        options = {"model": law, "bounds": EXAMPLE["BOUNDS"]}
    result = wo.maximize(
        EXAMPLE["Reactor"](seed),
        EXAMPLE["SPACE"],
        method=method,
        n_evals=n_evals,
        seed=seed,
        options=options,
    )
    top = -math.inf
    found = math.inf
    for i, trial in enumerate(result.history, start=1):
        if trial.y > top:
            top = trial.y
            is_near = EXAMPLE["profit"](trial.x) >= best - NEAR
            found = min(found, i) if is_near else math.inf
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=["go-ucb", "gp-ei"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--n-evals", type=int, default=40)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    best = optimum()
    print(f"optimum {best:.2f}")
    for method in args.methods:
        seeds = range(args.seeds)
        found = [evaluations(method, seed, args.n_evals, best) for seed in seeds]
        shown = " ".join(f"{n:g}" for n in found)
        print(f"{method}: median {statistics.median(found):g}; {shown}", flush=True)


if __name__ == "__main__":
    main()
