"""Cumulative regret with 95% bars (002, figures 2 to 5), as a section of a report.

Notation: R_t = Σ_{s <= t} f(x_s) - f*, with true values; mean ± 1.96 ν / √n over n
runs, ν their standard deviation. Where f* is not known it is the best value that any
method found on the same task and seed, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from wideopt.bench.run_data import Curve, Run, by_task, group, padded
from wideopt.bench.stats import paired_greater

__all__ = ["bars", "cumulative_section", "regrets", "totals"]

_ABOUT = """\
R_T = Σ f(x_t) - f* over all evaluations, the initial ones included, which are the same
for all methods of a seed. Mean ± 1.96 sd/√n over seeds, and the median; a number alone
is that of one run. Where f* is not known, the best value that any method of the table
found on that seed stands for it."""

_ABOUT_TESTS = """\
One-sided t-tests of R_T, paired by seed since methods share a seed's initial points:
is that of another method above that of {reference}? Each cell: (p, verdict), where T
means so at a false discovery rate of 5% (Benjamini and Hochberg over the whole table),
B that it is below, by the opposite tests, and F that neither can be said."""


def regrets(runs: Mapping[str, Sequence[Run]]) -> dict[str, Curve]:
    """R_t of one task: method → a row for each run."""
    best = _best([run for of in runs.values() for run in of])
    found = {}
    for method, of in runs.items():
        n = max(run.n_evals for run in of)
        curves = [np.cumsum(_known(run.Y) - best[run.seed]) for run in of]
        found[method] = padded(curves, n)
    return found


def _best(runs: Sequence[Run]) -> dict[int, float]:
    """f* by seed."""
    best: dict[int, float] = {}
    for run in runs:
        value = run.optimum
        if value is None:
            value = float(np.nanmin(run.Y, initial=np.inf))
        best[run.seed] = min(value, best.get(run.seed, np.inf))
    return best


def _known(Y: Curve) -> Curve:
    """A failed evaluation counts as the worst of its run."""
    worst = np.nanmax(Y) if np.isfinite(Y).any() else 0.0
    return np.where(np.isfinite(Y), Y, worst)


def totals(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[int, float]]:
    """R_T of one task: method → seed → value."""
    return {
        method: {
            run.seed: float(curve[-1])
            for run, curve in zip(runs[method], curves, strict=True)
        }
        for method, curves in regrets(runs).items()
    }


def bars(curves: Curve) -> tuple[Curve, Curve]:
    """Mean and half width of the 95% bar at each evaluation."""
    n = len(curves)
    sd = curves.std(axis=0, ddof=1) if n > 1 else np.zeros(curves.shape[1])
    return curves.mean(axis=0), 1.96 * sd / np.sqrt(n)


def cumulative_section(runs: Sequence[Run], folder: Path) -> str:
    """Table, tests and figures of the cumulative regret."""
    from wideopt.bench.figures import save_bars
    from wideopt.bench.tables import markdown

    grouped = by_task(runs)
    tasks = {task: regrets(of) for task, of in grouped.items()}
    methods = list(group(runs, "method"))
    rows, links = [], []
    for task, found in tasks.items():
        rows.append([task, *(_cell(found.get(method)) for method in methods)])
        name = f"cumulative-{task}.png"
        lines = {method: bars(curves) for method, curves in found.items()}
        save_bars(lines, folder / name, title=task, ylabel="cumulative regret")
        links.append(f"![cumulative regret, {task}]({folder.name}/{name})")
    parts = [
        "## Cumulative regret",
        _ABOUT,
        markdown(["task", *methods], rows),
        _tests({task: totals(of) for task, of in grouped.items()}, methods),
        *links,
    ]
    return "\n\n".join(part for part in parts if part)


def _cell(curves: Curve | None) -> str:
    if curves is None:
        return "-"
    if len(curves) == 1:
        return f"{curves[0, -1]:.4g}"
    mean, half = bars(curves)
    return f"{mean[-1]:.4g} ± {half[-1]:.2g} ({np.median(curves[:, -1]):.4g})"


def _tests(
    tasks: Mapping[str, Mapping[str, Mapping[int, float]]], methods: Sequence[str]
) -> str:
    from wideopt.bench.tables import markdown, verdicts

    reference = "go-ucb" if "go-ucb" in methods else methods[0]
    tasks = {task: found for task, found in tasks.items() if reference in found}
    others = [method for method in methods if method != reference]
    if not others or not tasks:
        return ""
    p = np.array(
        [
            [_paired(found.get(m, {}), found[reference]) for m in others]
            for found in tasks.values()
        ]
    )
    rows = [[task, *row] for task, row in zip(tasks, verdicts(p), strict=True)]
    about = _ABOUT_TESTS.format(reference=reference)
    return f"{about}\n\n{markdown(['task', *others], rows)}"


def _paired(other: Mapping[int, float], reference: Mapping[int, float]) -> float:
    seeds = sorted(other.keys() & reference.keys())
    return paired_greater([other[s] for s in seeds], [reference[s] for s in seeds])
