"""A scale for objectives that span orders of magnitude: fine where values compete.

On the scale of all values, the best ones of a bowl or of a cost in millions are equal,
and no model can tell which way is down. Here they are measured from the best feasible
value y₀, logarithmically beyond a distance δ:

    w(y) = sign(t) log(1 + |t|),   t = (y - y₀)/δ

δ is the most likely one if w(y) were normal (as in Box and Cox 1964), where infinity is
no warp at all; it is not below the distance of the tenth of values that are nearest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset

__all__ = ["Warp", "warped"]

_N_MIN = 8  # of fewer values, skewness says nothing
_N_STEPS = 33  # of δ tried, over eight decades
_MARGIN = 0.1  # gain of log likelihood for each value that makes a warp worthwhile


@dataclass(frozen=True)
class Warp:
    """The scale; `delta` infinite is none."""

    origin: float
    delta: float

    @classmethod
    def of(cls, data: Dataset) -> Warp:
        """The most likely one."""
        y = data.Y[:, 0]
        known = y[~y.isnan()]
        none = cls(0.0, math.inf)
        if known.numel() < _N_MIN:
            return none
        best = y[data.is_feasible] if bool(data.is_feasible.any()) else known
        origin = best.min()
        gaps = (known - origin).abs()
        positive = gaps[gaps > 0]
        if positive.numel() < _N_MIN or not bool(gaps.max() < 1e100):
            return none
        least = max(positive.quantile(0.1), 1e-8 * positive.max())
        deltas = torch.logspace(0.0, -8.0, _N_STEPS).to(gaps) * 10 * gaps.max()
        deltas = deltas[deltas >= least]
        t = (known - origin) / deltas[:, None]
        w = t.sign() * t.abs().log1p()
        # dw/dy = 1/(|y - y₀| + δ)
        slopes = -(gaps + deltas[:, None]).log().sum(dim=1)
        fits = slopes - len(known) * w.std(dim=1).log()
        plain = -len(known) * known.std().log()
        k = int(fits.argmax())
        if float(fits[k] - plain) < _MARGIN * len(known):
            return none
        return cls(float(origin), float(deltas[k]))

    def __call__(self, y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """Values on the scale."""
        if math.isinf(self.delta):
            return y
        t = (y - self.origin) / self.delta
        return t.sign() * t.abs().log1p()


def warped(data: Dataset, n: int) -> Dataset:
    """The data with the objective on a scale learned from the first n rows."""
    first = replace(data, X=data.X[:n], Y=data.Y[:n])
    warp = Warp.of(first)
    Y = torch.cat([warp(data.Y[:, 0])[:, None], data.Y[:, 1:]], dim=1)
    return replace(data, Y=Y)
