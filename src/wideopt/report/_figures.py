"""The figures of a report, each from a snapshot or its surrogate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from wideopt.report._model import Calibration, Slice
from wideopt.report._snapshot import Snapshot

__all__ = [
    "calibration",
    "coverage",
    "feasibility",
    "importance",
    "parallel",
    "progress",
    "seconds",
    "slices",
]

_BLUE, _ORANGE, _RED, _GRAY = "#0072B2", "#E69F00", "#D55E00", "#999999"
_LAYOUT: dict[str, Any] = {
    "template": "plotly_white",
    "margin": {"l": 60, "r": 20, "t": 30, "b": 50},
    "height": 380,
    "legend": {"orientation": "h", "y": 1.1},
}


def _figure(x: str, y: str, **more: Any) -> go.Figure:
    figure = go.Figure(layout={**_LAYOUT, **more})
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y)
    return figure


def _dots(pairs: Any, name: str, color: str, symbol: str = "circle") -> go.Scatter:
    x, y = zip(*pairs, strict=True)
    marker = {"color": color, "symbol": symbol, "size": 7}
    return go.Scatter(x=list(x), y=list(y), name=name, mode="markers", marker=marker)


def progress(snapshot: Snapshot) -> go.Figure:
    """Objective over evaluations, and the best feasible one so far."""
    figure = _figure("evaluation", "objective")
    numbered = list(enumerate((t for _, t in snapshot.trials), start=1))
    good = [(i, t.y) for i, t in numbered if t.is_feasible]
    bad = [(i, t.y) for i, t in numbered if t.state == "complete" and not t.is_feasible]
    if good:
        figure.add_trace(_dots(good, "feasible", _BLUE))
        accumulate = np.minimum if snapshot.sign > 0 else np.maximum
        steps = accumulate.accumulate(np.array([y for _, y in good], dtype=float))
        x = [*(i for i, _ in good), len(numbered)]
        line = {"color": _BLUE, "shape": "hv"}
        figure.add_trace(
            go.Scatter(x=x, y=[*steps, steps[-1]], name="best so far", line=line)
        )
    if bad:
        figure.add_trace(_dots(bad, "infeasible", _ORANGE, "x"))
    ys = [y for _, y in good + bad if y is not None]
    if ys and min(ys) > 0 and max(ys) / min(ys) > 1e3:
        figure.update_yaxes(type="log")
    for i, trial in numbered:
        if trial.state == "failed":
            figure.add_vline(x=i, line={"color": _RED, "width": 1, "dash": "dot"})
    return figure


def feasibility(snapshot: Snapshot) -> go.Figure | None:
    """The constraints over evaluations, each on its own scale; None without any."""
    if not snapshot.constraints or not snapshot.complete:
        return None
    label = "constraint / its median size"
    figure = _figure("evaluation", label, showlegend=True)
    numbered = [
        (i, t.c or (math.nan,) * len(snapshot.constraints))
        for i, (_, t) in enumerate(snapshot.trials, start=1)
        if t.state == "complete"
    ]
    for k, name in enumerate(snapshot.constraints):
        column = np.array([c[k] for _, c in numbered])
        size = np.nanmedian(np.abs(column)) if not np.isnan(column).all() else 1.0
        values = np.clip(column / (size or 1.0), -5, 5)
        figure.add_trace(
            go.Scatter(
                x=[i for i, _ in numbered], y=list(values), name=name, mode="markers"
            )
        )
    figure.add_hline(y=0, line={"color": _GRAY})
    return figure


def parallel(snapshot: Snapshot) -> go.Figure | None:
    """Parallel coordinates of all parameters and the objective."""
    if not snapshot.complete:
        return None
    ys = [t.y for _, t in snapshot.complete]
    dimensions: list[dict[str, Any]] = []
    for name, values, words in snapshot.columns():
        one: dict[str, Any] = {"label": name, "values": values}
        if words is not None:
            one |= {"tickvals": list(range(len(words))), "ticktext": words}
        dimensions.append(one)
    dimensions.append({"label": "objective", "values": ys})
    low, high = np.quantile(np.array(ys, dtype=float), [0.0, 0.9])
    scale = "Viridis_r" if snapshot.sign < 0 else "Viridis"
    line = {"color": ys, "colorscale": scale, "cmin": low, "cmax": high}
    margin = {"l": 60, "r": 40, "t": 60, "b": 30}
    return go.Figure(
        go.Parcoords(dimensions=dimensions, line=line),
        layout={**_LAYOUT, "margin": margin},
    )


def slices(found: list[Slice]) -> go.Figure:
    """The model through the best point along each parameter, with a 95% band."""
    n_columns = min(3, len(found))
    n_rows = -(-len(found) // n_columns)
    figure = make_subplots(
        n_rows, n_columns, shared_yaxes=True, subplot_titles=[s.name for s in found]
    )
    for i, one in enumerate(found):
        where = {"row": i // n_columns + 1, "col": i % n_columns + 1}
        for trace in _slice(one):
            figure.add_trace(trace, **where)
        if one.is_log:
            figure.update_xaxes(type="log", **where)
    layout = {**_LAYOUT, "height": 60 + 240 * n_rows, "showlegend": False}
    figure.update_layout(layout)
    return figure


def _slice(one: Slice) -> list[go.Scatter]:
    x = [v if isinstance(v, int | float) else str(v) for v in one.values]
    if any(isinstance(v, str | bool) or v is None for v in one.values):
        error = {
            "array": list(one.high - one.mean),
            "arrayminus": list(one.mean - one.low),
        }
        marker = {"color": _BLUE}
        x = [str(v) for v in one.values]
        return [
            go.Scatter(x=x, y=one.mean, error_y=error, mode="markers", marker=marker)
        ]
    edge = {"width": 0}
    fill = {"fill": "tonexty", "fillcolor": "rgba(0, 114, 178, 0.2)"}
    return [
        go.Scatter(x=x, y=list(one.low), mode="lines", line=edge, hoverinfo="skip"),
        go.Scatter(
            x=x, y=list(one.high), mode="lines", line=edge, hoverinfo="skip", **fill
        ),
        go.Scatter(x=x, y=list(one.mean), mode="lines", line={"color": _BLUE}),
    ]


def importance(shares: list[tuple[str, float]]) -> go.Figure:
    """Bars, the most important parameter on top."""
    figure = _figure("share of the variance that needs it", "")
    names, values = zip(*reversed(shares), strict=True)
    bar = go.Bar(x=values, y=names, orientation="h", marker={"color": _BLUE})
    figure.add_trace(bar)
    figure.update_layout(height=max(200, 90 + 28 * len(shares)))
    return figure


def calibration(found: Calibration) -> go.Figure:
    """Predictions made without each observation, against it."""
    figure = _figure("observed", "predicted from the others")
    error = {
        "array": list(found.high - found.mean),
        "arrayminus": list(found.mean - found.low),
        "color": "rgba(0, 114, 178, 0.3)",
    }
    pairs = zip(found.observed, found.mean, strict=True)
    dots = _dots(pairs, "mean and 95% interval", _BLUE)
    dots.error_y = error
    figure.add_trace(dots)
    ends = [float(found.observed.min()), float(found.observed.max())]
    line = {"color": _GRAY, "dash": "dash"}
    figure.add_trace(go.Scatter(x=ends, y=ends, mode="lines", line=line, name="equal"))
    return figure


def coverage(found: Calibration) -> go.Figure:
    """The share of observations in each interval against what it claims."""
    levels = np.linspace(0.05, 0.95, 19)
    figure = _figure("probability of the interval", "share of observations in it")
    shares = [found.coverage(float(level)) for level in levels]
    figure.add_trace(
        go.Scatter(x=levels, y=shares, name="model", line={"color": _BLUE})
    )
    line = {"color": _GRAY, "dash": "dash"}
    figure.add_trace(go.Scatter(x=[0, 1], y=[0, 1], name="ideal", line=line))
    return figure


def seconds(snapshot: Snapshot) -> go.Figure | None:
    """How long suggestions and evaluations took; None if nobody measured."""
    asks = [(n + 1, s) for n, s in sorted(snapshot.ask_seconds.items())]
    evals = [(n + 1, t.seconds) for n, t in snapshot.trials if t.seconds is not None]
    if not asks and not evals:
        return None
    figure = _figure("trial", "seconds")
    figure.update_yaxes(type="log")
    for name, pairs, color in (
        ("evaluation", evals, _GRAY),
        ("suggestion", asks, _BLUE),
    ):
        if pairs:
            figure.add_trace(_dots(pairs, name, color))
    return figure
