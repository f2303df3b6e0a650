"""Statistics of reports: quartiles, tests with correction, ranks. Pure functions.

The tests follow 004 (tables 1 and 2) and 000 (table 2): for each method other than the
reference, a one-sided t-test of H0: μ_other <= μ_reference against Ha: μ_other >
μ_reference (less is better), with the correction of Benjamini and Hochberg. The papers
do not say which t-test; here it is Welch's, which does not assume equal variances, or,
where the runs of a seed share their initial points, the paired one over seeds.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = [
    "benjamini_hochberg",
    "mean_ranks",
    "normality",
    "paired_greater",
    "quartiles",
    "ranks",
    "welch_greater",
]


def quartiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """First quartile, median and third quartile along axis 0; ∞ is the worst."""
    rising = np.sort(values, axis=0)
    found = []
    for share in (0.25, 0.5, 0.75):
        i, weight = divmod(share * (len(rising) - 1), 1.0)
        low = rising[int(i)]
        # np.quantile would take ∞ - ∞ or 0 · ∞ here
        between = (1 - weight) * low + weight * rising[int(i) + 1] if weight else low
        found.append(between)
    return np.array(found)


def normality(sample: ArrayLike) -> float:
    """The p value of the KS test of the normal law of the sample's mean and sd.

    As in 004, table 1. Mean and sd come from the sample, so that p is too large
    (Lilliefors 1967): it can speak against normality, hardly for it. NaN if undefined.
    """
    values = np.asarray(sample, dtype=float)
    if len(values) < 3 or not np.all(np.isfinite(values)) or np.ptp(values) == 0:
        return np.nan
    standard = (values - values.mean()) / values.std(ddof=1)
    return float(stats.kstest(standard, "norm").pvalue)


def welch_greater(other: ArrayLike, reference: ArrayLike) -> float:
    """The p value of Ha: μ_other > μ_reference. NaN without two values each."""
    a, b = np.asarray(other, dtype=float), np.asarray(reference, dtype=float)
    if min(len(a), len(b)) < 2 or not np.all(np.isfinite([*a, *b])):
        return np.nan
    if np.ptp(a) == 0 and np.ptp(b) == 0:  # no variance: only the order is left
        return {1: 0.0, 0: 0.5, -1: 1.0}[int(np.sign(a[0] - b[0]))]
    with warnings.catch_warnings():
        # values that are nearly the same in all seeds, such as a bound all runs reach
        warnings.simplefilter("ignore", RuntimeWarning)
        found = stats.ttest_ind(a, b, equal_var=False, alternative="greater")
    return float(found.pvalue)


def paired_greater(other: ArrayLike, reference: ArrayLike) -> float:
    """The p value of Ha: mean of other - reference > 0, value by value. NaN below two.

    What the two values of a pair have in common is no part of the noise here.
    """
    gaps = np.asarray(other, dtype=float) - np.asarray(reference, dtype=float)
    if len(gaps) < 2 or not np.all(np.isfinite(gaps)):
        return np.nan
    if np.ptp(gaps) == 0:  # no variance: only the order is left
        return {1: 0.0, 0: 0.5, -1: 1.0}[int(np.sign(gaps[0]))]
    return float(stats.ttest_1samp(gaps, 0.0, alternative="greater").pvalue)


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p values of one family of tests; NaN stays NaN and is not counted."""
    p = np.asarray(p_values, dtype=float)
    adjusted = np.full(p.shape, np.nan)
    is_known = ~np.isnan(p)
    if is_known.any():
        adjusted[is_known] = stats.false_discovery_control(p[is_known], method="bh")
    return adjusted


def ranks(keys: Sequence[tuple[int, float]]) -> NDArray[np.float64]:
    """Ranks from 1, ties shared, of keys compared as tuples."""
    order = {key: i for i, key in enumerate(sorted(set(keys)))}
    return np.asarray(stats.rankdata([order[key] for key in keys]))


def mean_ranks(
    tasks: Sequence[Mapping[str, Mapping[int, tuple[int, float]]]],
) -> dict[str, float]:
    """Mean rank of each method: over seeds within a task, then over tasks.

    Only methods present in every task are ranked, and in a task only on the seeds that
    they all have: the seeds fix the initial points, so they are blocks.

    Args:
        tasks: for each task, method → seed → key (less is better).
    """
    methods = [m for m in tasks[0] if all(m in task for task in tasks)] if tasks else []
    rows = []
    for task in tasks:
        common = [set(task[method]) for method in methods]
        seeds = sorted(set.intersection(*common)) if common else []
        table = [ranks([task[method][seed] for method in methods]) for seed in seeds]
        if table:
            rows.append(np.mean(table, axis=0))
    if not rows:
        return {}
    found = zip(methods, np.mean(rows, axis=0), strict=True)
    return {method: float(rank) for method, rank in sorted(found, key=lambda m: m[1])}
