"""Ranks in groups of tasks, and whether the reference is ahead in each.

A task named GROUP--PROBLEM belongs to GROUP. In every task and for every seed the
methods are ranked; the ranks of two methods there are a pair, and Wilcoxon's test of
signed ranks asks whether the reference's are lower. All tests of a report are one
family of Benjamini and Hochberg.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from wideopt.bench.run_data import Run, by_task, group
from wideopt.bench.stats import ranks
from wideopt.bench.tables import cost_table, markdown, verdicts

__all__ = ["groups_section", "paired_ranks"]

_ABOUT = """\
Mean rank of each method in each group, by the final true value, over tasks and seeds on
which every method of the table has a run; 1 is best. A run without a feasible point
ranks behind every run with one, by its least violation. In brackets the p of Wilcoxon's
test of signed ranks that {reference} ranks lower; T where it is so, and B where it
ranks higher, at a false discovery rate of 5% over all groups, F where neither can be
said. Then CPU seconds per suggestion."""


def group_of(run: Run) -> str:
    """The group of a run's task."""
    return run.task.partition("--")[0]


def paired_ranks(runs: Sequence[Run]) -> tuple[list[str], NDArray[np.float64]]:
    """Methods, and their ranks: a row for every task and seed that they all have."""
    methods = list(group(runs, "method"))
    rows = []
    for of in by_task(runs).values():
        keys = {m: {run.seed: run.rank_key for run in of.get(m, ())} for m in methods}
        common = set.intersection(*(set(seeds) for seeds in keys.values()))
        rows += [ranks([keys[m][seed] for m in methods]) for seed in sorted(common)]
    return methods, np.array(rows).reshape(len(rows), len(methods))


def groups_section(runs: Sequence[Run], folder: Path, reference: str) -> str:
    """The table of ranks and tests, and the cost in each group."""
    del folder
    names = sorted({group_of(run) for run in runs})
    parts = ["## Ranks by group", _ABOUT.format(reference=reference)]
    tables = {
        name: paired_ranks([run for run in runs if group_of(run) == name])
        for name in names
    }
    pairs = [
        (name, method)
        for name, (methods, table) in tables.items()
        for method in methods
        if method != reference and reference in methods and len(table)
    ]
    p = np.array([_p(*tables[name], reference, method) for name, method in pairs])
    p = p.reshape(1, len(pairs), 2)
    said = dict(zip(pairs, verdicts(p[..., 0], p[..., 1])[0], strict=True))
    for name, (methods, table) in tables.items():
        rows = [
            [
                methods[i],
                f"{table[:, i].mean():.2f}" if len(table) else "-",
                said.get((name, methods[i]), "-"),
            ]
            for i in (np.argsort(table.mean(axis=0)) if len(table) else [])
        ]
        parts.append(f"### {name}: {len(table)} pairs of task and seed")
        parts.append(markdown(["method", "mean rank", f"{reference} is ahead"], rows))
        own = [run for run in runs if group_of(run) == name]
        parts.append(cost_table(own))
    return "\n\n".join(parts)


def _p(
    methods: list[str], table: NDArray[np.float64], reference: str, other: str
) -> tuple[float, float]:
    """The p that the reference ranks lower, and that it ranks higher."""
    gaps = table[:, methods.index(other)] - table[:, methods.index(reference)]
    if not gaps.any():
        return np.nan, np.nan
    ahead = stats.wilcoxon(gaps, alternative="greater").pvalue
    behind = stats.wilcoxon(gaps, alternative="less").pvalue
    return float(ahead), float(behind)
