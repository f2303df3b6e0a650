"""How many evaluations it takes to come within 1% of the range, as a section.

Notation: N = the first t with gap_t <= 0.01 · range of the objective over the box, ∞ if
the budget ends before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wideopt.bench.run_data import Run, by_task, group

__all__ = ["n_reached", "reached_section"]

_SHARE = 0.01

_ABOUT = """\
Evaluations, the initial ones included, until the best true value is within 1% of the
objective's range of the optimum: the median over seeds, and how many of the runs get
there within the budget. `>` stands before the budget where the median run does not."""


def n_reached(run: Run, share: float = _SHARE) -> float:
    """N of a run; ∞ if it never comes so near."""
    is_near = run.scaled_gap <= share
    return float(np.argmax(is_near)) + 1.0 if is_near.any() else np.inf


def reached_section(runs: Sequence[Run], folder: Path) -> str:
    """The table of all tasks and methods."""
    from wideopt.bench.tables import markdown

    del folder
    methods = list(group(runs, "method"))
    rows = [
        [task, *(_cell(found.get(method, ())) for method in methods)]
        for task, found in by_task(runs).items()
    ]
    parts = ["## Evaluations to 1% of the range", _ABOUT]
    return "\n\n".join([*parts, markdown(["task", *methods], rows)])


def _cell(runs: Sequence[Run]) -> str:
    if not runs:
        return "-"
    counts = np.array([n_reached(run) for run in runs])
    n_there = int(np.isfinite(counts).sum())
    # sorted by hand: the mean of two infinite counts is not a number
    middle = np.sort(counts)[(len(counts) - 1) // 2 : len(counts) // 2 + 1]
    median = float(middle.mean()) if np.isfinite(middle).all() else np.inf
    shown = f"{median:g}" if np.isfinite(median) else f"> {runs[0].n_evals}"
    return f"{shown} ({n_there}/{len(runs)})"
