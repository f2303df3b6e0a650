"""How many of a few evaluations the initial design should take.

    python benchmarks/small_budget.py [--budgets 5:10 5:15 8:12 8:16 8:24]

For each dimension and budget, `auto` minimizes every family of functions drawn by
chance (`wideopt.bench.applications.generated`), another function for each seed, with
designs of the size that the dimension asks for, and of a half, a third and a quarter of
the budget, 5 at least. Printed: the size of each design, its mean rank by the best
value (1 is best), the mean of that value (functions have mean 0 and deviation 1), and
the p of Wilcoxon's two-sided test of signed ranks against the first. The default of
`n_init` was chosen by it; no figure of it is a claim on other problems.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import wideopt as wo
from wideopt.bench.applications.generated import FAMILIES, fresh

BUDGETS = ("5:10", "5:15", "8:12", "8:16", "8:24")
SHARES = (2, 3, 4)


def designs(d: int, n_evals: int) -> list[int]:
    """The sizes that are compared."""
    by_dimension = wo.Optimizer([(0.0, 1.0)] * d).n_init
    return [min(by_dimension, n_evals), *(max(5, n_evals // k) for k in SHARES)]


def best_value(family: str, d: int, seed: int, n_evals: int, n_init: int) -> float:
    f = fresh(family, d, seed)
    result = wo.minimize(
        lambda x: float(f(x)),
        [(0.0, 1.0)] * d,
        n_evals=n_evals,
        n_init=n_init,
        seed=seed,
        progress=False,
    )
    assert result.fun is not None
    return result.fun


def table(d: int, n_evals: int, seeds: list[int]) -> NDArray[np.float64]:
    """Best values: a row for every function, a column for every design."""
    rows = []
    for family in FAMILIES:
        for seed in seeds:
            sizes = designs(d, n_evals)
            found = {n: best_value(family, d, seed, n_evals, n) for n in set(sizes)}
            rows.append([found[n] for n in sizes])
    return np.array(rows)


def p_against(first: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    if (first == other).all():
        return 1.0
    return float(stats.wilcoxon(first - other).pvalue)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--budgets", nargs="+", default=BUDGETS, metavar="D:N")
    parser.add_argument("--seeds", nargs="+", type=int, default=[11, 12])
    given = parser.parse_args(argv)
    for text in given.budgets:
        d, n_evals = map(int, text.split(":"))
        values = table(d, n_evals, given.seeds)
        mean_ranks = stats.rankdata(values.round(9), axis=1).mean(axis=0)
        print(f"{d} dimensions, {n_evals} evaluations, {len(values)} functions")
        for i, n in enumerate(designs(d, n_evals)):
            p = p_against(values[:, 0], values[:, i])
            print(
                f"  design of {n:2d}: mean rank {mean_ranks[i]:.2f}, "
                f"mean value {values[:, i].mean():.3f}, p {p:.2g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
