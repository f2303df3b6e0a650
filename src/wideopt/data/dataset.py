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
from wideopt.space import Space

__all__ = ["Dataset"]

_WILD = 100.0  # a spread so many times that of the better half is one of outliers

Point: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True)
class Dataset:
    """Finished and pending trials as tensors; build it with `Dataset.of`."""

    space: Space
    X: Float[Tensor, "n d"]
    Y: Float[Tensor, "n outputs"]
    X_pending: Float[Tensor, "q d"]

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
        columns = [_robust_objective(self.Y[:, 0])]
        columns += [_robust_constraint(c) for c in self._known_constraints]
        if bool(self.is_failed.any()):
            columns.append(_robust_constraint(_crash_margin(self.X, self.is_failed)))
        return torch.stack(columns, dim=1)

    @property
    def _known_constraints(self) -> list[Tensor]:
        return [c for c in self.Y[:, 1:].unbind(dim=1) if not bool(c.isnan().all())]


def _outcome(trial: Trial, n_constraints: int) -> Point:
    y = np.nan if trial.y is None else trial.y
    c = trial.c if trial.c is not None else (np.nan,) * n_constraints
    return np.array([y, *c], dtype=np.float64)


def _robust_objective(y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Median 0, robust spread 1; far tails compressed, order kept.

    Bad values matter little, so they are compressed beyond 5 spreads; good ones are
    what we look for, so only beyond 20.
    """
    known = y[~y.isnan()]
    if known.numel() == 0:
        return y
    if known.abs().max() > 1e100:  # or differences would overflow
        y, known = y * 1e-200, known * 1e-200
    z = (y - known.median()) / _spread_of_the_good(known)
    return torch.where(z > 0, _compress(z, 5.0), -_compress(-z, 20.0))


def _robust_constraint(c: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Typical magnitude 1; 0 stays 0, so the sign is kept exactly."""
    known = c[~c.isnan()].abs()
    positive = known[known > 0]
    if positive.numel() == 0:
        return c
    z = (c / positive.median()).abs()
    return c.sign() * _compress(z, 5.0).clamp_min(1e-300)  # z may underflow


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


def _spread_of_the_good(y: Float[Tensor, " n"]) -> Tensor:
    """The spread; that of the better half alone, if a quarter and more are wild.

    Else those would be 1 apart, and all the others equal.
    """
    spread, median = _spread(y), y.median()
    better = (median - y.quantile(0.25)) / 0.6745
    is_wild = spread > _WILD * better and better > 1e-12 * median.abs()
    return better if is_wild else spread


def _spread(y: Float[Tensor, " n"]) -> Tensor:
    """Interquartile range over that of a unit normal; falls back for ties."""
    median = y.median()
    spread = (y.quantile(0.75) - y.quantile(0.25)) / 1.349
    rounding = 1e-12 * median.abs()
    if spread > rounding:
        return spread
    # More than half are equal. The median of the other deviations, not their mean,
    # since one of them may be wild.
    deviations = (y - median).abs()
    deviations = deviations[deviations > rounding]
    return deviations.median() if deviations.numel() > 0 else torch.ones_like(median)


def _compress(z: Tensor, start: float) -> Tensor:
    """Identity up to start, then start + log(1 + log(1 + excess)): smooth, monotone."""
    excess = (z - start).clamp(0.0, 1e300)
    return torch.where(z > start, start + excess.log1p().log1p(), z)
