"""The data set that methods see: unit cube, float64, minimized, c <= 0 feasible.

Notation: X (n, d) points of finished trials, Y (n, 1 + k) objective and constraints as
told, with NaN where a value is missing, Z (n, 1 + k') the same on a scale that one wild
value cannot spoil. If any trial failed, Z has one more column, the *crash* constraint:
positive where the evaluation failed, negative where it succeeded, so that methods keep
away from crashes exactly as they do from infeasible points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from wideopt.data._trial import Trial
from wideopt.data.robust import robust_constraint, robust_objective
from wideopt.space import Space

__all__ = ["Dataset"]

Point: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True)
class Dataset:
    """Finished and pending trials as tensors; build it with `Dataset.of`."""

    space: Space
    X: Float[Tensor, "n d"]
    Y: Float[Tensor, "n outputs"]
    X_pending: Float[Tensor, "q d"]
    whole: tuple[int, ...] = ()  # columns of Z whose tails are not compressed

    @classmethod
    def of(
        cls,
        space: Space,
        observed: Sequence[tuple[Point, Trial]],
        pending: Sequence[Point],
        n_constraints: int,
        device: str = "cpu",
        *,
        keeps_repeats: bool = False,
    ) -> Dataset:
        """Gather encoded trials; one told twice with the same outcome counts once.

        Repeats with *different* outcomes stay separate: they tell how noisy it is. For
        a bandit every pull counts: `keeps_repeats`.
        """
        rows: dict[bytes | int, Point] = {}
        for i, (point, trial) in enumerate(observed):
            row = np.concatenate([point, _outcome(trial, n_constraints)])
            rows.setdefault(i if keeps_repeats else row.tobytes(), row)
        n_dims = space.n_dims
        table = np.array(list(rows.values())).reshape(-1, n_dims + 1 + n_constraints)
        kwargs: Any = {"dtype": torch.float64, "device": device}
        return cls(
            space,
            torch.tensor(table[:, :n_dims], **kwargs),
            torch.tensor(table[:, n_dims:], **kwargs),
            torch.tensor(np.array(pending).reshape(-1, n_dims), **kwargs),
        )

    def with_pending(self, X: Float[Tensor, "q d"]) -> Dataset:
        """This data set with more points under way."""
        return replace(self, X_pending=torch.cat([self.X_pending, X]))

    def selected(self, rows: Int[Tensor, " m"]) -> Dataset:
        """Some of the observations."""
        return replace(self, X=self.X[rows], Y=self.Y[rows])

    @property
    def n(self) -> int:
        """Number of distinct finished observations."""
        return self.X.shape[0]

    @property
    def n_dims(self) -> int:
        """Dimensions of the unit cube."""
        return self.X.shape[1]

    @cached_property
    def is_failed(self) -> Bool[Tensor, " n"]:
        """Rows without an objective value."""
        return self.Y[:, 0].isnan()

    @cached_property
    def n_complete(self) -> int:
        """Number of rows with an objective value."""
        return int((~self.is_failed).sum())

    @cached_property
    def is_feasible(self) -> Bool[Tensor, " n"]:
        """Complete rows whose constraints all hold (a missing one does not)."""
        return ~self.is_failed & (self.Y[:, 1:] <= 0).all(dim=1)

    @cached_property
    def Z(self) -> Float[Tensor, "n columns"]:
        """Objective, constraints and, after a failure, the crash constraint; robust.

        A constraint of which no value is known yet has no column.
        """
        columns = [robust_objective(self.Y[:, 0], is_whole=0 in self.whole)]
        columns += [
            robust_constraint(c, is_whole=i in self.whole)
            for i, c in enumerate(self.known_constraints, start=1)
        ]
        if bool(self.is_failed.any()):
            columns.append(robust_constraint(_crash_margin(self.X, self.is_failed)))
        return torch.stack(columns, dim=1)

    @property
    def known_constraints(self) -> list[Tensor]:
        """The constraints of which any value is known."""
        return [c for c in self.Y[:, 1:].unbind(dim=1) if not bool(c.isnan().all())]


def _outcome(trial: Trial, n_constraints: int) -> Point:
    y = np.nan if trial.y is None else trial.y
    c = trial.c if trial.c is not None else (np.nan,) * n_constraints
    return np.array([y, *c], dtype=np.float64)


def _crash_margin(
    X: Float[Tensor, "n d"], is_failed: Bool[Tensor, " n"]
) -> Float[Tensor, " n"]:
    """Signed distance to the nearest point of the other kind: + failed, - succeeded.

    Unlike labels ±1, which a GP takes for a function of tiny length scale and forgets
    between the points, it crosses zero smoothly at the edge of what works.
    """
    if bool(is_failed.all()):
        return torch.ones_like(X[:, 0])
    # Without matrix products, whose rounding would part equal points.
    distance = torch.cdist(X, X, compute_mode="donot_use_mm_for_euclid_dist")
    is_same = is_failed[:, None] == is_failed[None, :]
    nearest = distance.masked_fill(is_same, torch.inf).min(dim=1).values
    return torch.where(is_failed, nearest, -nearest)
