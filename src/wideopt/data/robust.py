"""Scales that one wild value cannot spoil: median, robust spread, compressed tails.

Notation: z = (y - median)/spread of an objective, |c|/median of a constraint. Beyond a
start the tail is compressed to start + log(1 + log(1 + z - start)), which is smooth and
keeps the order. Where values are those of a smooth function, whose tails are as they
should be, the compression only spoils it: such a column is kept `whole`.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["log_slope", "robust_constraint", "robust_objective"]

_WILD = 100.0  # a spread so many times that of the better half is one of outliers
_BAD, _GOOD = 5.0, 20.0  # where the tails of an objective begin
_HUGE = 1e100  # differences of larger values may overflow


def robust_objective(
    y: Float[Tensor, " n"], *, is_whole: bool = False
) -> Float[Tensor, " n"]:
    """Median 0, robust spread 1; far tails compressed, order kept.

    Bad values matter little, so they are compressed beyond 5 spreads; good ones are
    what we look for, so only beyond 20.
    """
    known = y[~y.isnan()]
    if known.numel() == 0:
        return y
    if known.abs().max() > _HUGE:
        y, known = y * 1e-200, known * 1e-200
    z = (y - known.median()) / _spread_of_the_good(known)
    if is_whole:
        return z
    return torch.where(z > 0, _compress(z, _BAD), -_compress(-z, _GOOD))


def robust_constraint(
    c: Float[Tensor, " n"], *, is_whole: bool = False
) -> Float[Tensor, " n"]:
    """Typical magnitude 1; 0 stays 0, so the sign is kept exactly."""
    known = c[~c.isnan()].abs()
    positive = known[known > 0]
    if positive.numel() == 0:
        return c
    z = (c / positive.median()).abs()
    z = z if is_whole else _compress(z, _BAD)
    return c.sign() * z.clamp_min(1e-300)  # it may underflow


def log_slope(z: Float[Tensor, " n"], *, is_objective: bool) -> Float[Tensor, ""]:
    """Σ log of the slope of the compression at whole values."""
    start = torch.where((z < 0) & is_objective, _GOOD, _BAD)
    excess = (z.abs() - start).clamp_min(0.0).log1p()
    return -(excess + excess.log1p()).sum()


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
