"""The progress plot of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wideopt.data import Trial
from wideopt.exceptions import WideoptError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_progress"]

_FEASIBLE, _INFEASIBLE, _FAILED = "#0072B2", "#E69F00", "#D55E00"


def plot_progress(
    history: list[Trial], ax: Axes | None = None, *, is_maximized: bool = False
) -> Axes:
    """Objective over evaluations: best so far, infeasible and failed ones marked."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise WideoptError(
            'Plotting needs matplotlib; install it with pip install "wideopt[report]".'
        ) from None
    if ax is None:
        _, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    numbered = list(enumerate(history, start=1))
    feasible = [(i, t.y) for i, t in numbered if t.is_feasible]
    infeasible = [
        (i, t.y) for i, t in numbered if t.state == "complete" and not t.is_feasible
    ]
    failed = [i for i, t in numbered if t.state == "failed"]
    if feasible:
        ax.plot(*zip(*feasible, strict=True), "o", ms=4, color=_FEASIBLE, alpha=0.45)
        label = "best feasible so far" if infeasible else "best so far"
        steps = _best_so_far(history, is_maximized)
        ax.step(*steps, where="post", color=_FEASIBLE, lw=1.8, label=label)
    if infeasible:
        points = zip(*infeasible, strict=True)
        ax.plot(*points, "x", ms=5, color=_INFEASIBLE, label="infeasible")
    if failed:
        # At the lower edge, whatever the scale of the objective is.
        ax.plot(
            failed,
            [0.02] * len(failed),
            "|",
            ms=9,
            mew=1.6,
            color=_FAILED,
            transform=ax.get_xaxis_transform(),
            label="failed",
        )
    _scale(ax, [y for _, y in feasible + infeasible if y is not None])
    ax.set_xlabel("evaluation")
    ax.set_ylabel("objective")
    ax.grid(alpha=0.25)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    return ax


def _best_so_far(
    history: list[Trial], is_maximized: bool
) -> tuple[list[int], list[float]]:
    better = max if is_maximized else min
    numbers, values = [], []
    best = -math.inf if is_maximized else math.inf
    for i, trial in enumerate(history, start=1):
        if trial.is_feasible and trial.y is not None:
            best = better(best, trial.y)
        if math.isfinite(best):
            numbers.append(i)
            values.append(best)
    return numbers, values


def _scale(ax: Axes, values: list[float]) -> None:
    """A log axis when positive values span more than three decades."""
    if values and min(values) > 0 and max(values) / min(values) > 1e3:
        ax.set_yscale("log")
