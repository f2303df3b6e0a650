"""Ranks in groups of tasks, and whether the reference is ahead in each.

A task named GROUP--PROBLEM belongs to GROUP. In every task and for every seed the
methods that have a run are ranked; the ranks of two methods there are a pair, and
Wilcoxon's test of signed ranks asks whether the reference's are lower. All tests of a
report are one family of Benjamini and Hochberg.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from wideopt.bench.run_data import Run, by_task, group
from wideopt.bench.stats import ranks
from wideopt.bench.tables import cost_table, markdown, pace_table, verdicts

__all__ = ["groups_section", "ranks_of_all", "ranks_present"]

_MARKS = {"T)": " †", "B)": " ‡"}  # by how a verdict ends
_SHARE = 0.5  # of the reference's runs, for a method to be among the mean ranks

_ABOUT = """\
In each group the methods by their mean rank, by the final true value, over the tasks
and seeds on which all of them have a run; 1 is best. A method with fewer than half of
the runs that {reference} has beside others is not among these (-), but it is tested
like the others: on every task and seed where both have a run, ranks are those among all
methods with a run there. `better` and `worse` count where {reference} ranks lower and
higher. In brackets the p of Wilcoxon's test of signed ranks that {reference} ranks
lower; T where it is so, and B where it ranks higher, at a false discovery rate of 5%
over all groups, F where neither can be said. A run without a feasible point ranks
behind every run with one, by its least violation. Then CPU seconds per suggestion: with
n observations, and the median over a run, with the median ratio of {reference}'s to it
over the tasks and seeds that both have. The first table has the mean ranks of all
groups, the best in bold, and for methods with few runs, in brackets, `better` and
`worse`; † stands for T, ‡ for B."""

_Ranks = NDArray[np.float64]


def group_of(run: Run) -> str:
    """The group of a run's task."""
    return run.task.partition("--")[0]


def ranks_present(runs: Sequence[Run]) -> tuple[list[str], _Ranks]:
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
    methods: Sequence[str], table: _Ranks, reference: str
) -> tuple[list[str], _Ranks]:
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


def groups_section(runs: Sequence[Run], folder: Path, reference: str) -> str:
    """The table of ranks and tests, and the cost in each group."""
    del folder
    of_group = {
        name: [run for run in runs if group_of(run) == name]
        for name in sorted({group_of(run) for run in runs})
    }
    tables = {name: ranks_present(own) for name, own in of_group.items()}
    said = _tests(tables, reference)
    means = {name: _means(*of, reference) for name, of in tables.items()}
    parts = ["## Ranks by group", _ABOUT.format(reference=reference)]
    parts.append(_overview(tables, means, said, reference))
    for name, (methods, table) in tables.items():
        mean, n_common = means[name]
        order = sorted(methods, key=lambda m: (mean.get(m, np.inf), m))
        rows = [
            [
                method,
                f"{mean[method]:.2f}" if method in mean else "-",
                *_counts(methods, table, reference, method),
                said.get((name, method), "-"),
            ]
            for method in order
        ]
        header = ["method", "mean rank", "pairs", "better", "worse"]
        parts.append(f"### {name}: mean ranks over {n_common} pairs of task and seed")
        parts.append(markdown([*header, f"{reference} is ahead"], rows))
        parts.append(cost_table(of_group[name]))
        parts.append(pace_table(of_group[name], reference))
    return "\n\n".join(parts)


def _means(
    methods: Sequence[str], table: _Ranks, reference: str
) -> tuple[dict[str, float], int]:
    """The mean rank of each method with enough runs, and over how many pairs."""
    covered, common = ranks_of_all(methods, table, reference)
    if not len(common):
        return {}, 0
    return dict(zip(covered, common.mean(axis=0).tolist(), strict=True)), len(common)


def _overview(
    tables: dict[str, tuple[list[str], _Ranks]],
    means: dict[str, tuple[dict[str, float], int]],
    said: dict[tuple[str, str], str],
    reference: str,
) -> str:
    """All groups in one table, methods in the order of their mean over groups."""

    def cell(name: str, method: str) -> str:
        (methods, table), (mean, _) = tables[name], means[name]
        mark = _MARKS.get(said.get((name, method), "")[-2:], "")
        if method in mean:
            text = f"{mean[method]:.2f}"
            is_best = mean[method] == min(mean.values())
            return f"**{text}**{mark}" if is_best else text + mark
        if method not in methods or reference not in methods or method == reference:
            return "-"
        _, better, worse = _counts(methods, table, reference, method)
        return f"({better} : {worse}){mark}"

    ranked: dict[str, list[float]] = {}
    for name, (methods, _) in tables.items():
        for method in methods:
            known = ranked.setdefault(method, [])
            known += [means[name][0][method]] if method in means[name][0] else []
    order = sorted(
        ranked, key=lambda m: (-len(ranked[m]), float(np.mean(ranked[m] or [0.0])), m)
    )
    rows = [[method, *(cell(name, method) for name in tables)] for method in order]
    return markdown(["method", *tables], rows)


def _tests(
    tables: dict[str, tuple[list[str], _Ranks]], reference: str
) -> dict[tuple[str, str], str]:
    """The verdict on each group and method."""
    pairs = [
        (name, method)
        for name, (methods, _) in tables.items()
        for method in methods
        if method != reference and reference in methods
    ]
    p = [_p(_gaps(*tables[name], reference, method)) for name, method in pairs]
    both = np.array(p).reshape(1, len(pairs), 2)
    return dict(zip(pairs, verdicts(both[..., 0], both[..., 1])[0], strict=True))


def _gaps(methods: Sequence[str], table: _Ranks, reference: str, other: str) -> _Ranks:
    """How far the reference ranks below the other, where both have a run."""
    gaps = table[:, methods.index(other)] - table[:, methods.index(reference)]
    return np.asarray(gaps[np.isfinite(gaps)])


def _counts(
    methods: list[str], table: _Ranks, reference: str, other: str
) -> tuple[str, str, str]:
    """Pairs, and where the reference is better and worse."""
    if reference not in methods or other == reference:
        n = int(np.isfinite(table[:, methods.index(other)]).sum())
        return str(n), "-", "-"
    gaps = _gaps(methods, table, reference, other)
    return str(len(gaps)), str(int((gaps > 0).sum())), str(int((gaps < 0).sum()))


def _p(gaps: _Ranks) -> tuple[float, float]:
    """The p that the reference ranks lower, and that it ranks higher."""
    if not gaps.any():
        return np.nan, np.nan
    ahead = stats.wilcoxon(gaps, alternative="greater").pvalue
    behind = stats.wilcoxon(gaps, alternative="less").pvalue
    return float(ahead), float(behind)
