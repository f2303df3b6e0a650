"""Where in a group of tasks a method is better: by dimension, and task by task.

Ranks are those among the methods with at least half of the runs that the reference has
in the part that is looked at, over the pairs of task and seed that all of them have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wideopt.bench.ranking import means_of_all, ranks_present
from wideopt.bench.run_data import Run, group
from wideopt.bench.tables import markdown

__all__ = ["dimension_table", "lag_table"]


def dimension_table(runs: Sequence[Run], reference: str) -> str:
    """The mean ranks in each dimension; empty where all tasks have the same."""
    parts: dict[int, list[Run]] = {}
    for run in runs:
        parts.setdefault(_dimension(run), []).append(run)
    if len(parts) < 2:
        return ""
    means = {
        d: means_of_all(*ranks_present(parts[d]), reference) for d in sorted(parts)
    }
    methods = dict.fromkeys(m for mean, _ in means.values() for m in mean)
    order = sorted(
        methods, key=lambda m: _middle(mean.get(m) for mean, _ in means.values())
    )
    rows = [
        [str(d), str(n), *(f"{mean[m]:.2f}" if m in mean else "-" for m in order)]
        for d, (mean, n) in means.items()
    ]
    return markdown(["parameters", "pairs", *order], rows)


def lag_table(runs: Sequence[Run], reference: str) -> str:
    """The tasks where another method has a lower mean rank; empty if there is none."""
    rows = []
    for task, of in group(runs, "task").items():
        mean, n = means_of_all(*ranks_present(of), reference)
        best = min(mean, key=lambda m: mean[m], default=reference)
        if reference in mean and mean[best] < mean[reference]:
            cells = (f"{mean[best]:.2f}", f"{mean[reference]:.2f}", str(n))
            rows.append([task, best, *cells])
    if not rows:
        return ""
    return markdown(["task", "best", "its mean rank", f"{reference}'s", "seeds"], rows)


def _dimension(run: Run) -> int:
    return len(run.info["task"]["space"]["parameters"])


def _middle(values: Iterable[float | None]) -> float:
    return float(np.mean([v for v in values if v is not None]))
