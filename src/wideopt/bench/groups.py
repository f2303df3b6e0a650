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
from scipy import stats

from wideopt.bench.breakdown import dimension_table, lag_table
from wideopt.bench.ranking import Ranks, means_of_all, ranks_present
from wideopt.bench.run_data import Run
from wideopt.bench.tables import cost_table, markdown, pace_table, verdicts

__all__ = ["groups_section"]

_MARKS = {"T)": " †", "B)": " ‡"}  # by how a verdict ends

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
`worse`; † stands for T, ‡ for B. A group of several dimensions has its mean ranks in
each, and then come the tasks where another method has a lower mean rank than
{reference}."""


def group_of(run: Run) -> str:
    """The group of a run's task."""
    return run.task.partition("--")[0]


def groups_section(runs: Sequence[Run], folder: Path, reference: str) -> str:
    """The table of ranks and tests, and the cost in each group."""
    del folder
    of_group = {
        name: [run for run in runs if group_of(run) == name]
        for name in sorted({group_of(run) for run in runs})
    }
    tables = {name: ranks_present(own) for name, own in of_group.items()}
    said = _tests(tables, reference)
    means = {name: means_of_all(*of, reference) for name, of in tables.items()}
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
        parts.append(dimension_table(of_group[name], reference))
        parts.append(lag_table(of_group[name], reference))
        parts.append(cost_table(of_group[name]))
        parts.append(pace_table(of_group[name], reference))
    return "\n\n".join(filter(None, parts))


def _overview(
    tables: dict[str, tuple[list[str], Ranks]],
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
    tables: dict[str, tuple[list[str], Ranks]], reference: str
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


def _gaps(methods: Sequence[str], table: Ranks, reference: str, other: str) -> Ranks:
    """How far the reference ranks below the other, where both have a run."""
    gaps = table[:, methods.index(other)] - table[:, methods.index(reference)]
    return np.asarray(gaps[np.isfinite(gaps)])


def _counts(
    methods: list[str], table: Ranks, reference: str, other: str
) -> tuple[str, str, str]:
    """Pairs, and where the reference is better and worse."""
    if reference not in methods or other == reference:
        n = int(np.isfinite(table[:, methods.index(other)]).sum())
        return str(n), "-", "-"
    gaps = _gaps(methods, table, reference, other)
    return str(len(gaps)), str(int((gaps > 0).sum())), str(int((gaps < 0).sum()))


def _p(gaps: Ranks) -> tuple[float, float]:
    """The p that the reference ranks lower, and that it ranks higher."""
    if not gaps.any():
        return np.nan, np.nan
    ahead = stats.wilcoxon(gaps, alternative="greater").pvalue
    behind = stats.wilcoxon(gaps, alternative="less").pvalue
    return float(ahead), float(behind)
