"""Discrete neighborhoods: what a gradient cannot reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.space import Candidates, Integer, Parameter, Real, Space

__all__ = ["improve_mixed", "neighbors", "real_dims"]

_MAX_ROUNDS = 20
_EDGE = 1e-9  # by which a point on the edge of the limits may be off
_N_ROWS = 16  # closest candidate rows that a walk tries


def real_dims(space: Space) -> list[int]:
    """Dimensions of the unit cube that belong to real parameters."""
    return [
        s.start
        for p, s in zip(space.parameters, space.slices, strict=True)
        if isinstance(p, Real)
    ]


def neighbors(space: Space, point: Float[Tensor, " d"]) -> Float[Tensor, "m d"]:
    """Legal points that differ in one discrete parameter.

    Every other choice of a category; for an integer, steps of 1, 2, 4, ... both ways;
    for candidate rows, the closest ones.
    """
    values = space.decode(point.detach().cpu().numpy())
    rows = []
    for i, parameter in enumerate(space.parameters):
        rows += [
            space.encode([*values[:i], other, *values[i + 1 :]])
            for other in _others(parameter, values[i])
        ]
    if not rows:
        return point[None, :][:0]
    found = torch.from_numpy(np.array(rows)).to(point)
    found[:, real_dims(space)] = point[real_dims(space)]
    return found


def _others(parameter: Parameter, value: Any) -> list[Any]:
    if isinstance(parameter, Real):
        return []
    if isinstance(parameter, Candidates):
        return parameter.near(value, _N_ROWS)
    if isinstance(parameter, Integer):
        span = parameter.high - parameter.low
        steps = [s * 2**e for e in range(span.bit_length()) for s in (-1, 1)]
        others = [value + s for s in steps]
        return [v for v in others if parameter.low <= v <= parameter.high]
    return [v for v in parameter.choices if v is not value]


def improve_mixed(
    acqf: AcquisitionFunction,
    data: Dataset,
    points: Float[Tensor, "r d"],
    limits: Float[Tensor, "2 d"] | None = None,
) -> Float[Tensor, "r d"]:
    """Walk each point to its best neighbor, within limits, until none is better."""
    return torch.stack([_walk(acqf, data.space, point, limits) for point in points])


def _walk(
    acqf: AcquisitionFunction,
    space: Space,
    point: Tensor,
    limits: Float[Tensor, "2 d"] | None,
) -> Tensor:
    for _ in range(_MAX_ROUNDS):
        steps = neighbors(space, point)
        if limits is not None:
            low, high = limits.to(steps)
            is_in = (steps >= low - _EDGE) & (steps <= high + _EDGE)
            # a point that begins outside may stay so where the step does not lead
            steps = steps[(is_in | (steps == point)).all(dim=1)]
        pool = torch.cat([point[None, :], steps])
        with torch.no_grad():
            values = acqf(pool.unsqueeze(-2)).nan_to_num(nan=-torch.inf)
        best = int(values.argmax())
        if values[best] <= values[0]:
            return point
        point = pool[best]
    return point
