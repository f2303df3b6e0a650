"""Figures of several agents: mean curves with bands, and a path of points."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import WideoptError

__all__ = ["save_bands", "save_path"]

Array = NDArray[np.float64]
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def save_bands(panels: Mapping[str, Mapping[str, Array]], path: Path) -> None:
    """A panel for each metric; means over instances, with their standard errors."""
    figure, axes = _figure(len(panels))
    for axis, (title, curves) in zip(axes, panels.items(), strict=True):
        for (label, values), color in zip(curves.items(), _COLORS, strict=False):
            mean = values.mean(axis=0)
            error = values.std(axis=0) / np.sqrt(len(values))
            t = np.arange(1, len(mean) + 1)
            axis.plot(t, mean, label=label, color=color)
            axis.fill_between(t, mean - error, mean + error, color=color, alpha=0.2)
        axis.set_ylabel(title)
        axis.axhline(0.0, color="0.6", lw=0.6)
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=120)


def save_path(x: Array, price: Array, path: Path) -> None:
    """The points of one agent and the price of its constraint."""
    figure, axes = _figure(2)
    axes[0].plot(np.arange(1, len(x) + 1), x, ".", ms=3, color=_COLORS[0])
    axes[0].set_ylabel("x")
    axes[1].plot(price, color=_COLORS[1])
    axes[1].axhline(2 / 3, color="0.6", lw=0.6)
    axes[1].set_ylabel("price η λ")
    figure.savefig(path, dpi=120)


def _figure(n: int) -> tuple[Any, list[Any]]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise WideoptError(
            'Figures need matplotlib: pip install "wideopt[report]".'
        ) from None
    figure = Figure(figsize=(3.7 * n, 3.3), layout="constrained")
    axes = list(figure.subplots(1, n, squeeze=False).ravel())
    for axis in axes:
        axis.set_xlabel("round")
        axis.grid(alpha=0.25)
    return figure, axes
