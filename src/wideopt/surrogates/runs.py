"""Outputs that are known at the same rows, so that one batch of models serves them.

An evaluation may lack an output: a crash has no objective, a constraint may be NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

__all__ = ["joined", "rows_of", "runs_of"]


def runs_of(Y: Float[Tensor, "n outputs"]) -> list[list[int]]:
    """Consecutive outputs that are known at the same rows: each run is one batch."""
    known = ~Y.isnan()
    runs: list[list[int]] = []
    for i in range(Y.shape[1]):
        if i > 0 and bool((known[:, i] == known[:, i - 1]).all()):
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def rows_of(
    X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], run: list[int]
) -> tuple[Float[Tensor, "k d"], Float[Tensor, "k o"]]:
    """The rows at which a run of outputs is known."""
    known = ~Y[:, run[0]].isnan()
    return X[known], Y[known][:, run]


def joined(models: Sequence[Model]) -> Model:
    """One model of the outputs of all runs."""
    return models[0] if len(models) == 1 else ModelList(*models)
