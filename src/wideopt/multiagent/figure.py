"""The plot of the rounds of several agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import WideoptError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wideopt.multiagent.result import MultiAgentResult

__all__ = ["plot_rounds"]


def plot_rounds(result: MultiAgentResult) -> list[Axes]:
    """Three panels: objectives, violations averaged over the rounds so far, prices."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise WideoptError(
            'Plotting needs matplotlib; install it with pip install "wideopt[report]".'
        ) from None
    _, panels = plt.subplots(1, 3, figsize=(11.0, 3.4), layout="constrained")
    rounds = np.arange(1, result.n_rounds + 1)
    panels[0].plot(rounds, result.objectives, "o-", ms=3, lw=0.8)
    panels[0].set_ylabel("sum of objectives")
    for label, values in _violations(result).items():
        panels[1].plot(rounds, values / rounds, label=label)
    panels[1].set_ylabel("average violation")
    for name, prices in (("λ", result.lam), ("μ", result.mu)):
        for j, column in enumerate(prices.T if prices.size else []):
            panels[2].plot(result.eta * column, label=f"η {name}{j + 1}")
    panels[2].set_ylabel("price")
    for ax in panels:
        ax.set_xlabel("round")
        ax.grid(alpha=0.25)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False)
    return list(panels)


def _violations(result: MultiAgentResult) -> dict[str, NDArray[np.float64]]:
    found = {}
    if result.sums.shape[1] > 0:
        found["V / t"] = result.V
        found["V⁺ / t"] = result.V_plus
    if result.shifts.shape[1] > 0:
        found["S / t"] = result.S
    return found
