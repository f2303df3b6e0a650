"""Neural-CBO in one dimension: what its networks believe, and where it looks next.

The illustration of Neural-CBO's paper (Phan-Trong, Tran and Gupta 2025, figure 1):
minimize sin x + sin(10 x / 3) where (x - 7)² <= 1. The paper does not say the box, here
[0, 10], and shows iteration 200, where little is left to see; here it is an early one.
Left, the objective is ranked by expected improvement (EI); right, by its lower
confidence bound (LCB). In both, only points whose constraint has an LCB of 0 or less
are considered.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

import wideopt as wo

PLOT = Path("out/constrained_illustration.png")
HIGH = 10.0  # the box is [0, HIGH]
BETA = 2.0  # of all bounds
N_EVALS = 6
START = [0.5, 3.5, 6.2, 9.5]
GRID = torch.linspace(0, HIGH, 801, dtype=torch.float64)
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
NORMAL = torch.distributions.Normal(0.0, 1.0)


def problem(x):
    x = float(np.squeeze(x))
    return np.sin(x) + np.sin(10 * x / 3), [(x - 7) ** 2 - 1]


def outcomes(points):
    """Objective and constraint of each point, in two columns."""
    found = [problem(x) for x in points]
    return torch.tensor([[y, *c] for y, c in found], dtype=torch.float64)


def believed(points):
    """Mean and deviation of both outputs on the grid, of networks that saw points."""
    X = torch.tensor(points, dtype=torch.float64)[:, None] / HIGH
    model = wo.surrogates.Tangent().fit(X, outcomes(points))
    with torch.no_grad():
        posterior = model.posterior(GRID[:, None, None] / HIGH)
    return posterior.mean.squeeze(1), posterior.variance.squeeze(1).sqrt()


def values(rule, points, mean, sd):
    """What the rule maximizes: EI, or minus the LCB of the objective."""
    u, s = mean[:, 0], sd[:, 0]
    if rule == "LCB":
        return -(u - BETA * s)
    Y = outcomes(points)
    is_feasible = Y[:, 1] <= 0
    best = Y[is_feasible, 0].min()
    z = (best - u) / s
    return s * (z * NORMAL.cdf(z) + NORMAL.log_prob(z).exp())


def choose(rule, points):
    """Beliefs, values, the points that may be feasible, and the best of them."""
    mean, sd = believed(points)
    score = values(rule, points, mean, sd)
    is_possible = mean[:, 1] - BETA * sd[:, 1] <= 0
    at = torch.where(is_possible, score, -torch.inf).argmax()
    return mean, sd, score, is_possible, float(GRID[at])


def draw_output(axis, points, mean, sd, i):
    """Truth, mean and band of output i, with what was observed."""
    seen, truth = outcomes(points), outcomes(GRID)[:, i]
    low, high = mean[:, i] - BETA * sd[:, i], mean[:, i] + BETA * sd[:, i]
    axis.fill_between(GRID, low, high, color=BLUE, alpha=0.2, lw=0, label="mean ± 2σ")
    axis.plot(GRID, mean[:, i], color=BLUE, lw=1.6, label="mean")
    axis.plot(GRID, truth, "k--", lw=1, label="truth")
    is_feasible = seen[:, 1] <= 0
    x = torch.tensor(points)
    axis.plot(x[~is_feasible], seen[~is_feasible, i], "o", mfc="w", mec="k", ms=5)
    axis.plot(x[is_feasible], seen[is_feasible, i], "o", color="k", ms=5)


def draw(axes, rule, points):
    """One column: objective, constraint, acquisition."""
    mean, sd, score, is_possible, following = choose(rule, points)
    draw_output(axes[0], points, mean, sd, 0)
    draw_output(axes[1], points, mean, sd, 1)
    axes[1].axhline(0, color="0.5", lw=0.8)
    axes[1].set_ylim(-9, 22)
    is_feasible = outcomes(GRID)[:, 1] <= 0
    score = score / score[is_possible].max() if rule == "EI" else score
    axes[2].plot(GRID, score, color="0.75", lw=1.2)
    if rule == "EI":
        axes[2].set_ylim(0, 1.4)  # beyond the bounds it may be many times as large
    inside = torch.where(is_possible, score, torch.nan)
    axes[2].plot(GRID, inside, color=ORANGE, lw=1.8)
    for axis in axes:
        axis.fill_between(
            GRID, 0, 1, where=is_possible, color=GREEN, alpha=0.13, lw=0,
            transform=axis.get_xaxis_transform(), label="LCB of the constraint ≤ 0",
        )  # fmt: skip
        axis.plot(
            GRID[is_feasible], torch.zeros(int(is_feasible.sum())), color=GREEN, lw=5,
            transform=axis.get_xaxis_transform(), label="feasible",
            solid_capstyle="butt", clip_on=False,
        )  # fmt: skip
        axis.axvline(following, color=ORANGE, ls=":", lw=1.4, label="next point")
        axis.set_xlim(0, HIGH)
    axes[0].set_title(f"{rule} of the objective, LCB of the constraint")
    axes[2].set_xlabel("x")


def main() -> None:
    result = wo.minimize(
        problem, [(0, HIGH)], method="neural-cbo", n_evals=20, n_init=5, seed=0
    )
    print(result)

    figure, axes = plt.subplots(
        3, 2, figsize=(10, 7), sharex=True, layout="constrained",
        gridspec_kw={"height_ratios": [3, 3, 2]},
    )  # fmt: skip
    for column, rule in zip(axes.T, ("EI", "LCB"), strict=True):
        points = list(START)
        while len(points) < N_EVALS:
            points.append(choose(rule, points)[-1])
        draw(column, rule, points)
    for row, name in zip(axes, ("objective", "constraint", "EI, scaled"), strict=True):
        row[0].set_ylabel(name)
    axes[2, 1].set_ylabel("− LCB")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, dpi=110)
    print(f"{'plot':>16}: {PLOT}")


if __name__ == "__main__":
    main()
