"""Which defaults of neural-bo do well, on problems that no report uses.

    python benchmarks/neural_bo_defaults.py [--seeds 100 101] [--n-evals 80]

Printed for each problem and setting: the gap to the optimum after all evaluations, one
number a seed. Seeds are others than those of the reports.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import wideopt as wo

PROBLEMS = ("rosenbrock-10", "styblinski-tang-10", "griewank-6", "hartmann-6")
SETTINGS = {
    "as it is": {},
    "nu = 1": {"nu": 1.0},
    "not warped": {"is_warped": False},
    "neither": {"nu": 1.0, "is_warped": False},
}


def gap(name: str, options: dict[str, object], n_evals: int, seed: int) -> float:
    """The distance of the best value to the optimum."""
    problem = wo.problems.get(name)
    result = wo.minimize(
        problem,
        problem.space,
        method="neural-bo",
        n_evals=n_evals,
        seed=seed,
        options=options,
        progress=False,
    )
    assert result.fun is not None
    assert problem.optimum is not None
    return result.fun - problem.optimum


def main() -> None:
    """Print a line for each problem and setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101])
    parser.add_argument("--n-evals", type=int, default=80)
    args = parser.parse_args()
    for name in args.problems:
        for label, options in SETTINGS.items():
            gaps = [gap(name, options, args.n_evals, seed) for seed in args.seeds]
            numbers = "  ".join(f"{g:.2g}" for g in gaps)
            print(f"{name:20s} {label:12s} {numbers}", flush=True)


if __name__ == "__main__":
    main()
