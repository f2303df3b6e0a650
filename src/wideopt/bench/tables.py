"""Tables of a report, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wideopt.bench.figures import times
from wideopt.bench.run_data import Curve, Run, by_task, group
from wideopt.bench.stats import (
    benjamini_hochberg,
    mean_ranks,
    normality,
    quartiles,
    welch_greater,
)

__all__ = [
    "cost_table",
    "markdown",
    "normality_table",
    "pace_table",
    "rank_table",
    "scores",
    "task_table",
    "test_table",
    "verdicts",
]

_LEVEL = 0.05
_AT = (10, 20, 50, 100, 200, 500, 1000, 2000)  # observations at which time is shown


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column to the left, numbers to the right."""
    cells = [[_escaped(cell) for cell in row] for row in (header, *rows)]
    align = ["---", *["---:"] * (len(header) - 1)]
    lines = [cells[0], align, *cells[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _number(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "-"


def _spread(values: Sequence[float]) -> str:
    low, middle, high = quartiles(np.array(values, dtype=float))
    return f"{_number(float(middle))} [{_number(low)}, {_number(high)}]"


def _last(curve: Curve) -> float:
    return float(curve[-1]) if len(curve) else np.inf


def _counted(runs: Sequence[Run]) -> str:
    """The number of runs, and how many did not come to their end."""
    n_short = sum(run.status != "complete" for run in runs)
    least = min(len(run.Y) for run in runs)
    return f"{len(runs)}" + (f" ({n_short} ended early, n ≥ {least})" * bool(n_short))


def task_table(runs: Mapping[str, Sequence[Run]]) -> str:
    """Final values of one task: method by method, median [first, third quartile]."""
    first = next(iter(runs.values()))[0]
    if not first.has_constraints:
        name = "best value" if first.optimum is None else "simple regret"
        rows = [
            [method, _counted(of), _spread([_last(run.gap) for run in of])]
            for method, of in runs.items()
        ]
        return markdown(["method", "runs", name], rows)
    rows = []
    for method, of in runs.items():
        n_feasible = sum(_last(run.gap) < np.inf for run in of)
        curves: list[Callable[[Run], Curve]] = [
            lambda run: run.scaled_gap,
            lambda run: run.gap,
            lambda run: run.headline,
            lambda run: run.cumulative_regret,
            lambda run: run.cumulative_violation,
        ]
        cells = [_spread([_last(curve(run)) for run in of]) for curve in curves]
        rows.append([method, _counted(of), f"{n_feasible}/{len(of)}", *cells])
    header = [
        *("method", "runs", "feasible", "feasible regret / range", "feasible regret"),
        *("log10 best [regret]⁺ + violation", "R⁺", "V"),
    ]
    return markdown(header, rows)


def scores(runs: Mapping[str, Sequence[Run]], name: str) -> dict[str, list[float]]:
    """The final values of one task that a test compares: method → one a seed.

    A run without a feasible point has the scaled gap 1, the whole range of f, or that
    of the worst feasible run of any method if it is worse.
    """
    found = {m: [_last(getattr(run, name)) for run in of] for m, of in runs.items()}
    if name != "log_scaled_gap":
        return found
    worst = max([0.0, *(v for of in found.values() for v in of if np.isfinite(v))])
    return {m: [min(v, worst) for v in of] for m, of in found.items()}


def normality_table(runs: Sequence[Run], name: str) -> str:
    """KS test of each task and method, as in 004, table 1."""
    tasks = by_task(runs)
    methods = list(group(runs, "method"))
    rows = []
    for task, of in tasks.items():
        samples = scores(of, name)
        rows.append([task, *(_p(normality(samples.get(m, []))) for m in methods)])
    return markdown(["task", *methods], rows)


def test_table(runs: Sequence[Run], name: str, reference: str) -> str:
    """One-sided t-tests against the reference, as in 004, table 2."""
    tasks = {task: of for task, of in by_task(runs).items() if reference in of}
    others = [m for m in group(runs, "method") if m != reference]
    samples = [scores(of, name) for of in tasks.values()]
    p = np.array(
        [
            [welch_greater(of.get(m, []), of[reference]) for m in others]
            for of in samples
        ]
    ).reshape(len(tasks), len(others))
    rows = [[task, *row] for task, row in zip(tasks, verdicts(p), strict=True)]
    return markdown(["task", *others], rows)


def verdicts(
    p: NDArray[np.float64], opposite: NDArray[np.float64] | None = None
) -> list[list[str]]:
    """Cells of a table of one-sided tests: (p, T, B or F).

    T is where the reference is ahead, at a false discovery rate of 5% over the table;
    B where it is behind, by the opposite tests, corrected likewise; F where neither can
    be said. The p of the opposite tests are 1 - p, as of t-tests, unless given: ranks
    are discrete, and theirs are greater.
    """
    both = p, 1.0 - p if opposite is None else opposite
    ahead, behind = (benjamini_hochberg(q.ravel()).reshape(p.shape) for q in both)
    rows = zip(p, ahead, behind, strict=True)
    return [[_verdict(*cell) for cell in zip(*row, strict=True)] for row in rows]


def _verdict(p: float, ahead: float, behind: float) -> str:
    if np.isnan(p):
        return "-"
    said = "T" if ahead <= _LEVEL else "B" if behind <= _LEVEL else "F"
    return f"({p:.3g}, {said})"


def _p(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def rank_table(runs: Sequence[Run]) -> str:
    """Mean ranks over tasks; 1 is best."""
    keys = [
        {method: {run.seed: run.rank_key for run in of} for method, of in task.items()}
        for task in by_task(runs).values()
    ]
    found = mean_ranks(keys)
    rows = [[method, f"{rank:.2f}"] for method, rank in found.items()]
    left_out = sorted(set(group(runs, "method")) - set(found))
    note = f"\n\nNot in every task, so not ranked: {', '.join(left_out)}."
    return markdown(["method", "mean rank"], rows) + note * bool(left_out)


def cost_table(runs: Sequence[Run]) -> str:
    """CPU seconds per suggestion at some n, of a whole run, and peak memory."""
    methods = group(runs, "method")
    measured = {method: times(of) for method, of in methods.items()}
    longest = max((n[-1] for n, _ in measured.values() if len(n)), default=0)
    least = min((n[0] for n, _ in measured.values() if len(n)), default=0)
    at = [n for n in _AT if least <= n <= longest + 1]
    rows = []
    for method, of in methods.items():
        near = [_number(_near(*measured[method], n)) for n in at]
        total = np.median([run.suggest_cpu.sum() for run in of])
        memory = [run.memory_mb for run in of if np.isfinite(run.memory_mb)]
        peak = f"{max(memory):.0f}" if memory else "-"
        rows.append([method, *near, _number(float(total)), peak])
    header = ["method", *(f"n = {n}" for n in at), "s per run", "peak MB"]
    return markdown(header, rows)


def _near(n: NDArray[np.int64], seconds: NDArray[np.float64], at: int) -> float:
    """The mean over the suggestions within a tenth of n."""
    is_near = np.abs(n - at) <= max(1, at // 10)
    return float(seconds[is_near].mean()) if is_near.any() else np.nan


def pace_table(runs: Sequence[Run], reference: str) -> str:
    """The typical seconds of a suggestion in a run, and the reference's share of them.

    Of each run the median over its suggestions after the initial design; then the
    median over runs, and over the tasks and seeds that both have, of the ratio.
    """
    paces = {
        method: {(run.task, run.seed): _pace(run) for run in of}
        for method, of in group(runs, "method").items()
    }
    own = paces.get(reference, {})
    rows = []
    for method, of in paces.items():
        ratios = [own[key] / pace for key, pace in of.items() if key in own]
        share = f"{_number(_median(ratios))} ({np.isfinite(ratios).sum()})"
        is_other = method != reference and len(ratios) > 0
        rows.append(
            [method, _number(_median([*of.values()])), share if is_other else "-"]
        )
    return markdown(["method", "s per suggestion", f"{reference}: ratio (pairs)"], rows)


def _pace(run: Run) -> float:
    seconds = run.suggest_cpu[run.n_init :]
    return max(float(np.median(seconds)), 1e-5) if len(seconds) else np.nan


def _median(values: Sequence[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.median(finite)) if finite else np.nan
