"""Figures: convergence with its spread, time per suggestion, fractions of targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wideopt.bench.run_data import Run, group, padded
from wideopt.bench.stats import quartiles
from wideopt.exceptions import WideoptError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "save_bars",
    "save_convergence",
    "save_fractions",
    "save_grid",
    "save_lines",
    "save_times",
]

# Okabe and Ito's colors, which most readers with a color deficiency tell apart; with
# the line styles below, 28 methods differ.
_COLORS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000"),
)
_DASHES = ("-", "--", "-.", ":")
# The end of a curve is marked, so that a lone point is seen.
_END: dict[str, Any] = {"marker": "o", "markersize": 3.5, "markevery": [-1]}


def _figure(n_rows: int, n_columns: int) -> tuple[Figure, list[Axes]]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise WideoptError(
            'Figures need matplotlib: pip install "wideopt[report]".'
        ) from None
    width = 7.2 if n_columns == 1 else 5.2 * n_columns
    figure = Figure(figsize=(width, 3.8 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    return figure, list(axes.ravel())


def _style(i: int) -> dict[str, Any]:
    dash = _DASHES[i // len(_COLORS) % len(_DASHES)]
    return {"color": _COLORS[i % len(_COLORS)], "linestyle": dash}


def _finish(figure: Figure, axes: Sequence[Axes], path: Path) -> None:
    """One legend below the panels, and the file."""
    known = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    labels = sorted(known) if len(axes) > 1 else list(known)
    longest = max(map(len, labels), default=1)
    n_characters = 11 * figure.get_figwidth()  # in a line of the legend
    figure.legend(
        [known[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=max(1, int(n_characters // (longest + 6))),
        frameon=False,
        fontsize=9,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def save_convergence(runs: Sequence[Run], path: Path) -> None:
    """The curves of one task: medians as lines, interquartile ranges as bands."""
    first = runs[0]
    if first.has_constraints:
        panels = [
            ("scaled_gap", "feasible regret / range of f", True),
            ("headline", "log10 min([f - f*]⁺ + violation)", False),
            ("cumulative_regret", "cumulative regret R⁺", False),
            ("cumulative_violation", "cumulative violation V", False),
        ]
        figure, axes = _figure(2, 2)
    else:
        is_known = first.optimum is not None
        label = "simple regret" if is_known else "best value"
        panels = [("gap", label, is_known)]
        figure, axes = _figure(1, 1)
    for axis, (name, label, is_log) in zip(axes, panels, strict=True):
        _draw_curves(axis, runs, name, list(group(runs, "method")))
        axis.axvline(first.n_init, color="0.7", linewidth=0.8, zorder=0)
        n = max(run.n_evals for run in runs)
        axis.set(xlabel="evaluations", ylabel=label, xlim=(0.5, n + 0.5))
        axis.locator_params(axis="x", integer=True)
        if is_log and _has_positive(axis):
            axis.set_yscale("log")
    figure.suptitle(first.task)
    _finish(figure, axes[:1], path)


def save_grid(
    tasks: Mapping[str, Sequence[Run]],
    path: Path,
    *,
    name: str,
    label: str,
    is_log: bool = False,
) -> None:
    """One curve of runs, by its name in `Run`, a panel for each task.

    A method looks the same in all panels, also where others have no run.
    """
    methods = sorted({run.method for runs in tasks.values() for run in runs})
    n_columns = min(len(tasks), 3)
    figure, axes = _figure(-(-len(tasks) // n_columns), n_columns)
    for axis, (task, runs) in zip(axes, tasks.items(), strict=False):
        _draw_curves(axis, runs, name, methods)
        axis.axvline(runs[0].n_init, color="0.7", linewidth=0.8, zorder=0)
        axis.set(xlabel="evaluations", ylabel=label, title=task)
        axis.locator_params(axis="x", integer=True)
        if is_log and _has_positive(axis):
            axis.set_yscale("log")
    for axis in axes[len(tasks) :]:
        axis.set_visible(False)
    _finish(figure, axes, path)


def _draw_curves(
    axis: Axes, runs: Sequence[Run], name: str, methods: Sequence[str]
) -> None:
    """The curves of each method, in the style of its place among `methods`."""
    n = max(run.n_evals for run in runs)
    t = np.arange(1, n + 1)
    for method, of_method in group(runs, "method").items():
        i = methods.index(method)
        curves = padded([getattr(run, name) for run in of_method], n)
        low, middle, high = (_finite(q) for q in quartiles(curves))
        axis.plot(t, middle, label=method, linewidth=1.6, **_style(i), **_END)
        # a band may reach into ∞, where some seeds have no feasible point yet
        top = np.where(np.isnan(high), np.nanmax(middle, initial=0.0), high)
        is_there = ~np.isnan(middle)
        color = _style(i)["color"]
        axis.fill_between(
            t, low, top, where=is_there, color=color, alpha=0.15, linewidth=0
        )


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(values), values, np.nan)


def _has_positive(axis: Axes) -> bool:
    data = [np.asarray(line.get_ydata(), dtype=float) for line in axis.lines[:-1]]
    return any(bool(np.any(values > 0)) for values in data)


def save_bars(
    curves: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
    path: Path,
    *,
    title: str,
    ylabel: str,
) -> None:
    """Named curves of (mean, half width) against evaluations, with bars here and there.

    The bars of different methods are shifted, so that they do not hide each other.
    """
    figure, axes = _figure(1, 1)
    for i, (name, (mean, half)) in enumerate(curves.items()):
        t = np.arange(1, len(mean) + 1)
        step = max(1, len(t) // 8)
        axes[0].errorbar(
            t,
            mean,
            half,
            label=name,
            errorevery=(i % step, step),
            capsize=2,
            **_style(i),
        )
    axes[0].set(xlabel="evaluations", ylabel=ylabel, title=title)
    axes[0].locator_params(axis="x", integer=True)
    _finish(figure, axes[:1], path)


def save_times(runs: Sequence[Run], path: Path) -> None:
    """CPU seconds per suggestion against the number of observations, over all tasks."""
    figure, axes = _figure(1, 1)
    for i, (method, of_method) in enumerate(group(runs, "method").items()):
        n, seconds = times(of_method)
        axes[0].plot(n, seconds, label=method, linewidth=1.4, **_style(i))
    axes[0].set(xlabel="observations n", ylabel="CPU seconds per suggestion")
    axes[0].set_yscale("log")
    axes[0].locator_params(axis="x", integer=True)
    _finish(figure, axes[:1], path)


def times(runs: Sequence[Run]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of observations, and the median seconds of a suggestion that knew them.

    A suggestion is an ask and the tell that follows; the initial design is left out.
    """
    longest = max(len(run.Y) for run in runs)
    rows = np.full((len(runs), longest), np.nan)
    for row, run in zip(rows, runs, strict=True):
        row[run.n_init : len(run.Y)] = run.suggest_cpu[run.n_init :]
    n = np.flatnonzero(~np.all(np.isnan(rows), axis=0))
    seconds = np.nanmedian(rows[:, n], axis=0) if len(n) else np.empty(0)
    return n, np.maximum(seconds, 1e-5)


def save_lines(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    path: Path,
    *,
    labels: tuple[str, str],
    is_log: bool = False,
) -> None:
    """Named curves of (x, y) in one panel, points marked; `labels` are of the axes."""
    figure, axes = _figure(1, 1)
    for i, (name, (x, y)) in enumerate(curves.items()):
        axes[0].plot(x, y, label=name, marker="o", markersize=3.5, **_style(i))
    axes[0].set(xlabel=labels[0], ylabel=labels[1])
    if is_log and curves:
        axes[0].set(xscale="log", yscale="log")
    else:
        axes[0].locator_params(axis="x", integer=True)
    _finish(figure, axes[:1], path)


def save_fractions(
    curves: Mapping[int, Mapping[str, NDArray[np.float64]]], path: Path
) -> None:
    """Fractions of targets against evaluations by dimension, one panel a dimension."""
    n_columns = min(len(curves), 2)
    figure, axes = _figure(-(-len(curves) // n_columns), n_columns)
    names = list(dict.fromkeys(name for of in curves.values() for name in of))
    for axis, (dim, of_dim) in zip(axes, curves.items(), strict=False):
        for method, curve in of_dim.items():
            t = np.arange(1, len(curve) + 1) / dim
            axis.plot(t, curve, label=method, **_style(names.index(method)))
        axis.set(
            xlabel="evaluations / dimension",
            ylabel="fraction of function, target pairs",
            title=f"d = {dim}",
        )
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
    for axis in axes[len(curves) :]:
        axis.set_visible(False)
    _finish(figure, axes[:1], path)
