"""COCO's measure: the fraction of targets reached against evaluations.

Hansen et al. (2021): a target is f* + Δ with 51 values of Δ, evenly spaced in the
logarithm from 10² to 10⁻⁸. Every (function, instance, target) counts once; nothing is
bootstrapped, so a run that ends at 20 · d evaluations says nothing of later ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideopt.bench.run_data import Run, group, padded

__all__ = ["TARGETS", "coco_section", "fraction_solved"]

TARGETS = 10.0 ** np.linspace(2, -8, 51)


def fraction_solved(runs: Sequence[Run], n: int) -> NDArray[np.float64]:
    """The fraction of (run, target) pairs solved after 1, ..., n evaluations."""
    gaps = padded([run.gap for run in runs], n)
    return np.asarray((gaps[:, :, None] <= TARGETS).mean(axis=(0, 2)))


def coco_section(runs: Sequence[Run], folder: Path) -> str:
    """A table and a figure of the fraction solved, by dimension."""
    from wideopt.bench.figures import save_fractions
    from wideopt.bench.tables import markdown

    dims = sorted({_dim(run) for run in runs})
    methods = list(group(runs, "method"))
    curves: dict[int, dict[str, NDArray[np.float64]]] = {}
    for dim in dims:
        of_dim = [run for run in runs if _dim(run) == dim]
        n = max(run.n_evals for run in of_dim)
        named = group(of_dim, "method")
        curves[dim] = {m: fraction_solved(named[m], n) for m in methods if m in named}
    rows = []
    for method in methods:
        final = [curves[d][method][-1] if method in curves[d] else None for d in dims]
        n_runs = sum(run.method == method for run in runs)
        cells = ["-" if value is None else f"{value:.3f}" for value in final]
        rows.append([method, str(n_runs), *cells])
    header = ["method", "runs", *(f"d = {dim}" for dim in dims)]
    save_fractions(curves, folder / "fractions.png")
    return "\n".join(
        [
            "## Fraction of (function, instance, target) solved at the end",
            "",
            "51 targets, f* + 10^(2, 1.8, ..., -8). More is better.",
            "",
            markdown(header, rows),
            "",
            f"![fraction of targets]({folder.name}/fractions.png)",
        ]
    )


def _dim(run: Run) -> int:
    return len(run.info["task"]["space"]["parameters"])
