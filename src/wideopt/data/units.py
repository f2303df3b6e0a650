"""The unit cube in the user's units, differentiably: what a user's own model sees.

One column for each dimension of the cube. A real or integer parameter has its value in
the user's units (an integer that is searched over passes through what lies between), a
row of candidates its columns, and a category stays as it is encoded: 0 or 1 for two
choices, one column of 0 and 1 for each of three or more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wideopt.space import Candidates, Categorical, Parameter, Real, Space

__all__ = ["Units"]


@dataclass(frozen=True)
class Units:
    """x = a + b u, or exp(a + b u) where the parameter is on a log scale."""

    a: Float[Tensor, " d"]
    b: Float[Tensor, " d"]
    is_log: Bool[Tensor, " d"]

    @classmethod
    def of(cls, space: Space, device: torch.device | str = "cpu") -> Units:
        """The map of a space."""
        rows = [row for parameter in space.parameters for row in _rows(parameter)]
        a, b, is_log = zip(*rows, strict=True)
        return cls(
            torch.tensor(a, dtype=torch.float64, device=device),
            torch.tensor(b, dtype=torch.float64, device=device),
            torch.tensor(is_log, device=device),
        )

    def __call__(self, U: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """The points in the user's units."""
        X = self.a + self.b * U
        # exp of a column that is not on a log scale may overflow, and spoil gradients
        return torch.where(self.is_log, torch.where(self.is_log, X, 0.0).exp(), X)

    def inverse(self, X: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """The points of the cube; differentiable, and not confined to the cube."""
        # log of a column that is not on a log scale would spoil gradients
        logs = torch.where(self.is_log, X, 1.0).log()
        b = torch.where(self.b == 0, 1.0, self.b)
        return (torch.where(self.is_log, logs, X) - self.a) / b


def _rows(parameter: Parameter) -> list[tuple[float, float, bool]]:
    """(a, b, is_log) for each dimension of a parameter."""
    if isinstance(parameter, Categorical):
        return [(0.0, 1.0, False)] * parameter.n_dims
    if isinstance(parameter, Candidates):
        pairs = zip(parameter.low, parameter.span, strict=True)
        return [(float(low), float(span), False) for low, span in pairs]
    # the cells of integers reach half a unit beyond the bounds
    edge = 0.0 if isinstance(parameter, Real) else 0.5
    low, high = parameter.low - edge, parameter.high + edge
    if parameter.log:
        return [(math.log(low), math.log(high) - math.log(low), True)]
    return [(low, high - low, False)]
