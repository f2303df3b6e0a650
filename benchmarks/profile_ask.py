"""Where the time of suggestions goes.

    python benchmarks/profile_ask.py [--method auto] [--problem levy-10] [--n 200]

A run of n evaluations on one thread, under Python's profiler, which itself slows small
calls. Printed: the share of each step in the time of all asks. A problem may have
constraints: `--problem speed-reducer`.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from collections.abc import Sequence
from typing import Any

import torch

import wideopt as wo
from wideopt.problems import get

STEPS = {  # what to call a step: the file and name of its function
    "scales of the outputs, by evidence": ("base.py", "scaled_when_fitted"),
    "hyper-parameters, by evidence": ("tangent.py", "fit"),
    "growing the model by an observation": ("base.py", "_continued"),
    "scoring candidates": ("maximize.py", "score"),
    "bounds of constraints at candidates": ("bounds.py", "excess"),
    "climbing": ("maximize.py", "climb"),
    "climbing under constraints": ("within.py", "end"),
    "the trust region": ("turbo.py", "propose"),
}


def shares(profile: cProfile.Profile) -> tuple[float, dict[str, float]]:
    """Seconds of all asks, and of each step within them."""
    stats: Any = pstats.Stats(profile)
    found = dict.fromkeys(STEPS, 0.0)
    total = 0.0
    for (path, _, name), (_, _, _, everywhere, callers) in stats.stats.items():
        cumulated = everywhere - sum(  # what is a part of the trust region's step
            called[3]
            for caller, called in callers.items()
            if caller[0].endswith("/region_life.py")
        )
        if path.endswith("optimizer.py") and name == "ask":
            total = cumulated
        for step, (file, function) in STEPS.items():
            if path.endswith(f"/{file}") and name == function:
                found[step] += cumulated
    return total, found


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--problem", default="levy-10")
    parser.add_argument("--n", type=int, default=200)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    problem = get(args.problem)
    optimizer = wo.Optimizer(
        problem.space,
        method=args.method,
        n_constraints=problem.n_constraints,
        n_evals=args.n,
        seed=0,
    )
    profile = cProfile.Profile()
    for _ in range(args.n):
        profile.enable()
        x = optimizer.ask()
        profile.disable()
        outcome = problem(x)
        y, c = outcome if isinstance(outcome, tuple) else (outcome, None)
        optimizer.tell(x, y, c)
    total, found = shares(profile)
    print(f"{args.method}, {args.problem}, {args.n} evaluations: {total:.1f} s in asks")
    for step, seconds in found.items():
        if seconds > 0:
            print(f"  {step:<40}{100 * seconds / total:5.1f}%")
    print(f"  {'the rest':<40}{100 * (1 - sum(found.values()) / total):5.1f}%")


if __name__ == "__main__":
    main()
