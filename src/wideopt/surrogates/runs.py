"""Outputs that are known at the same rows, so that one batch of models serves them.

An evaluation may lack an output: a crash has no objective, a constraint may be NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

__all__ = ["are_alike", "joined", "recipes_of", "rows_of", "runs_of"]


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


def are_alike(Y: Float[Tensor, "n outputs"], runs: Sequence[Sequence[int]]) -> bool:
    """Whether the outputs of each run are still known at the same rows."""
    known = ~Y.isnan()
    return all(bool((known[:, run] == known[:, run[:1]]).all()) for run in runs)


def rows_of(
    X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], run: list[int]
) -> tuple[Float[Tensor, "k d"], Float[Tensor, "k o"]]:
    """The rows at which all outputs of a run are known."""
    known = ~Y[:, run].isnan().any(dim=1)
    return X[known], Y[known][:, run]


def joined(models: Sequence[Model]) -> Model:
    """One model of the outputs of all runs."""
    return models[0] if len(models) == 1 else ModelList(*models)


def recipes_of(model: Model) -> Iterator[tuple[list[int], Any]]:
    """The outputs of each run, and the `recipe` that its model carries."""
    parts: list[Any] = list(model.models) if isinstance(model, ModelList) else [model]
    start = 0
    for part in parts:
        stop = start + part.num_outputs
        yield list(range(start, stop)), part.recipe
        start = stop
