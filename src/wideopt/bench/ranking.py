"""Ranks of methods over tasks and seeds, where some runs may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from wideopt.bench.run_data import Run, by_task, group
from wideopt.bench.stats import ranks

__all__ = ["Ranks", "means_of_all", "ranks_of_all", "ranks_present"]

Ranks: TypeAlias = NDArray[np.float64]

_SHARE = 0.5  # of the reference's runs, for a method to be among the mean ranks


def ranks_present(runs: Sequence[Run]) -> tuple[list[str], Ranks]:
    """Methods, and a row of ranks for every task and seed; NaN where there is no run.

    The ranks of a row are those among the methods with a run there.
    """
    methods = list(group(runs, "method"))
    rows = []
    for of in by_task(runs).values():
        keys = {m: {run.seed: run.rank_key for run in of.get(m, ())} for m in methods}
        for seed in sorted(set().union(*keys.values())):
            row = np.full(len(methods), np.nan)
            present = [i for i, method in enumerate(methods) if seed in keys[method]]
            row[present] = ranks([keys[methods[i]][seed] for i in present])
            rows.append(row)
    return methods, np.array(rows).reshape(len(rows), len(methods))


def ranks_of_all(
    methods: Sequence[str], table: Ranks, reference: str
) -> tuple[list[str], Ranks]:
    """The methods with enough runs, and their ranks where all of these have one.

    Where one method alone was run there is nothing to rank.
    """
    table = table[np.isfinite(table).sum(axis=1) > 1]
    n_runs = np.isfinite(table).sum(axis=0)
    least = _SHARE * n_runs[methods.index(reference)] if reference in methods else 1
    chosen = [i for i, n in enumerate(n_runs) if n >= least]
    part = table[:, chosen]
    part = part[np.isfinite(part).all(axis=1)]
    again = [stats.rankdata(row) for row in part]
    return [methods[i] for i in chosen], np.array(again).reshape(part.shape)


def means_of_all(
    methods: Sequence[str], table: Ranks, reference: str
) -> tuple[dict[str, float], int]:
    """The mean rank of each method with enough runs, and over how many pairs."""
    covered, common = ranks_of_all(methods, table, reference)
    if not len(common):
        return {}, 0
    return dict(zip(covered, common.mean(axis=0).tolist(), strict=True)), len(common)
