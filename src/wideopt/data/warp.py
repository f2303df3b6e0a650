"""A scale for objectives that span orders of magnitude: fine where values compete.

On the scale of all values, the best ones of a bowl or of a cost in millions are equal,
and no model can tell which way is down. Here they are measured from the best feasible
value y₀, logarithmically beyond a distance δ:

    w(y) = sign(t) log(1 + |t|),   t = (y - y₀)/δ

δ is the most likely one, where infinity is no warp at all; it is not below the distance
of the tenth of values that are nearest. Likely is what a judge says: by default that
w(y) is normal (as in Box and Cox 1964), which looks at values alone. Once a search has
gathered at one place, they are dense near y₀, and that judge would draw out what is a
mere slope into a pit; one that knows a function's smoothness does not
(`surrogates.warp_evidence`). It may also measure from the best value of all, feasible
or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset

__all__ = ["Judge", "Warp"]

Judge: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Maps points (n, d) and rows of values (m, n) to log likelihoods (m) of the rows."""

_N_MIN = 8  # of fewer values, skewness says nothing
_DECADES = 8  # over which δ is tried
_MARGIN = 0.1  # gain of log likelihood for each value that makes a warp worthwhile


@dataclass(frozen=True)
class Warp:
    """The scale; `delta` infinite is none."""

    origin: float
    delta: float

    @classmethod
    def of(cls, data: Dataset, judge: Judge | None = None) -> Warp:
        """The most likely one."""
        y = data.Y[:, 0]
        is_known = ~y.isnan()
        known, X = y[is_known], data.X[is_known]
        best = cls(0.0, math.inf)
        if known.numel() < _N_MIN or not bool(known.abs().max() < 1e100):
            return best
        feasible = y[data.is_feasible]
        origins = {float((feasible if len(feasible) else known).min())}
        n_each = 1
        if judge is None:
            judge, n_each = _as_normal, 4
        else:
            origins.add(float(known.min()))
        bar = float(judge(X, known[None, :])) + _MARGIN * len(known)
        for origin in sorted(origins):
            warps = cls._around(origin, known, n_each)
            if not warps:
                continue
            values = torch.stack([warp(known) for warp in warps])
            slopes = torch.stack([warp.log_slope(known) for warp in warps])
            fits = slopes + judge(X, values)
            k = int(fits.argmax())
            if float(fits[k]) > bar:
                best, bar = warps[k], float(fits[k])
        return best

    @classmethod
    def _around(
        cls, origin: float, known: Float[Tensor, " n"], n_each: int
    ) -> list[Warp]:
        """Warps of n_each scales a decade."""
        gaps = (known - origin).abs()
        positive = gaps[gaps > 0]
        if positive.numel() < _N_MIN:
            return []
        least = max(positive.quantile(0.1), 1e-8 * positive.max())
        n_steps = 1 + _DECADES * n_each
        shares = torch.logspace(0.0, -float(_DECADES), n_steps).to(gaps)
        deltas = shares * 10 * gaps.max()
        return [cls(origin, float(delta)) for delta in deltas if delta >= least]

    def log_slope(self, y: Float[Tensor, " n"]) -> Float[Tensor, ""]:
        """Σ log dw/dy, where dw/dy = 1/(|y - y₀| + δ)."""
        return -((y - self.origin).abs() + self.delta).log().sum()

    def __call__(self, y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """Values on the scale."""
        if math.isinf(self.delta):
            return y
        t = (y - self.origin) / self.delta
        return t.sign() * t.abs().log1p()

    def applied(self, data: Dataset) -> Dataset:
        """The data with the objective on the scale."""
        Y = torch.cat([self(data.Y[:, 0])[:, None], data.Y[:, 1:]], dim=1)
        return replace(data, Y=Y)


def _as_normal(X: Float[Tensor, "n d"], W: Float[Tensor, "m n"]) -> Float[Tensor, " m"]:
    del X
    return -W.shape[1] * W.std(dim=1).log()
