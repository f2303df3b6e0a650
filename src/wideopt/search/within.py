"""Maximize an acquisition where the lower bounds of all constraints hold.

Candidates are ordered by excess (Σ max(LCB, 0)) and then by value, where the bounds of
those of lesser value are computed only if too few better ones keep them. From the best
a gradient search goes on under the bounds, by sequential quadratic programming (SciPy's
SLSQP), which follows the edge of the region: that is where constrained optima lie.
Where no candidate fulfills the bounds, the excess is minimized first. A climb leaves
out constraints that look out of reach from its start; should it end beyond one of them,
it is made again with all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from jaxtyping import Float
from scipy.optimize import minimize
from torch import Tensor

from wideopt.acquisition.bounds import LowerBounds, NegativeExcess
from wideopt.data.dataset import Dataset
from wideopt.search.candidates import candidates, snapped
from wideopt.search.maximize import Search, Vector, best_new, climb, maximize, score
from wideopt.search.mixed import improve_mixed, real_dims
from wideopt.surrogates.base import quiet

__all__ = ["Found", "Pool", "maximize_within"]

_CHUNK = 64  # points whose bounds are computed at once
_REACH = 0.2  # of the unit cube: how far a climb is thought to go, to first order
_TOLERANCE = 1e-6  # of an excess, in typical magnitudes of the constraints

AtPoint = Callable[[Vector], tuple[Vector, Vector]]


@runtime_checkable
class Divisible(Protocol):
    """An `AtPoint` that can leave out constraints."""

    def __call__(self, x: Vector) -> tuple[Vector, Vector]:
        """The values and their Jacobian at a point."""
        ...

    def restricted(self, constraints: list[int]) -> AtPoint:
        """The same with some of the constraints only."""
        ...


@dataclass(frozen=True)
class Found:
    """The chosen point, and the least excess that the search met."""

    point: Float[Tensor, " d"]
    excess: float

    @property
    def is_within(self) -> bool:
        """Whether the bounds of all constraints can hold at one point."""
        return self.excess <= _TOLERANCE


def maximize_within(
    acqf: AcquisitionFunction,
    bounds: LowerBounds,
    data: Dataset,
    generator: torch.Generator,
    search: Search | None = None,
    at_point: AtPoint | None = None,
) -> Found:
    """The best new legal point within the bounds, or that of least excess.

    Args:
        acqf: what to maximize.
        bounds: of the constraints.
        data: what is known.
        generator: of candidates.
        search: how hard to search.
        at_point: (-acqf, -LCB_1, ...) and their Jacobian at a point, if there is a
            faster way to them than automatic differentiation.
    """
    search = search or Search()
    if not bounds.models:
        return Found(maximize(acqf, data, generator, search), 0.0)
    X = candidates(data, search.n_global, search.n_local, generator)
    known = torch.cat([data.X, data.X_pending])
    with quiet():
        n_enough = search.n_restarts if data.space.is_continuous else len(X)
        pool = Pool.of(acqf, bounds, X, n_enough)
        if not pool.is_within:
            wider = replace(search, n_restarts=2 * search.n_restarts)
            goal = NegativeExcess(bounds)
            eased = climb(goal, data, pool.best(wider), wider, generator)
            pool = pool.joined(acqf, bounds, snapped(data.space, eased))
        starts = pool.best(search)
        if not data.space.is_continuous:
            starts = improve_mixed(_Ranked(acqf, bounds), data, starts)
            pool = pool.joined(acqf, bounds, starts)
        free = real_dims(data.space)
        if free:
            at_point = at_point or _BothByAutograd(acqf, bounds)
            ends = [_Climb(at_point, x, free).end(search.max_iter) for x in starts]
            pool = pool.joined(acqf, bounds, snapped(data.space, torch.stack(ends)))
    order = pool.order
    ranks = -torch.arange(len(order)).to(X)
    return Found(best_new(pool.X[order], ranks, known), float(pool.excess.min()))


@dataclass(frozen=True)
class Pool:
    """Points with value and excess."""

    X: Float[Tensor, "n d"]
    values: Float[Tensor, " n"]
    excess: Float[Tensor, " n"]

    @classmethod
    def of(
        cls,
        acqf: AcquisitionFunction,
        bounds: LowerBounds,
        X: Float[Tensor, "n d"],
        n_enough: int | None = None,
    ) -> Pool:
        """The points of X, scored.

        Once n_enough of the highest values are within the bounds, those of the others
        are not computed, and count as out of all bounds.
        """
        values = score(acqf, X)
        excess = torch.full_like(values, torch.inf)
        n_within = 0
        order = values.argsort(descending=True, stable=True)
        for rows in order.split(_CHUNK):
            with torch.no_grad():
                excess[rows] = bounds.excess(X[rows]).nan_to_num(nan=torch.inf)
            n_within += int((excess[rows] <= _TOLERANCE).sum())
            if n_enough is not None and n_within >= n_enough:
                break
        return cls(X, values, excess)

    def joined(
        self, acqf: AcquisitionFunction, bounds: LowerBounds, X: Float[Tensor, "m d"]
    ) -> Pool:
        """With more points, which come first."""
        new = Pool.of(acqf, bounds, X)
        return Pool(
            torch.cat([new.X, self.X]),
            torch.cat([new.values, self.values]),
            torch.cat([new.excess, self.excess]),
        )

    @property
    def is_within(self) -> bool:
        """Whether any point fulfills the bounds."""
        return bool((self.excess <= _TOLERANCE).any())

    @property
    def order(self) -> Tensor:
        """From best to worst: by excess, then by value."""
        by_value = self.values.argsort(descending=True, stable=True)
        excess = torch.where(self.excess <= _TOLERANCE, 0.0, self.excess)
        return by_value[excess[by_value].argsort(stable=True)]

    def best(self, search: Search) -> Float[Tensor, "r d"]:
        """The points from which to climb."""
        return self.X[self.order[: search.n_restarts]]


class _Ranked(AcquisitionFunction):
    """The same order as one number, for steps over discrete parameters."""

    def __init__(self, acqf: AcquisitionFunction, bounds: LowerBounds) -> None:
        super().__init__(model=acqf.model)
        self.acqf, self.bounds = acqf, bounds

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        value = self.acqf(X).clamp_min(-1e8)
        excess = self.bounds.excess(X.squeeze(-2))
        return torch.where(excess <= _TOLERANCE, value, -1e9 * (1.0 + excess))


class _BothByAutograd:
    """The same numbers for any models, by one backward pass."""

    def __init__(self, acqf: AcquisitionFunction, bounds: LowerBounds) -> None:
        self.acqf, self.bounds = acqf, bounds

    def __call__(self, x: Vector) -> tuple[Vector, Vector]:
        point = torch.from_numpy(x)
        copies = point.repeat(self.bounds.k + 1, 1).requires_grad_()
        value = -self.acqf(copies[:1].unsqueeze(-2))
        both = torch.cat([value, -self.bounds.apart(copies[1:])])
        (slopes,) = torch.autograd.grad(both.sum(), copies)
        return both.detach().cpu().numpy(), slopes.cpu().numpy()


class _Climb:
    """One climb under the bounds; discrete dimensions stay where they are."""

    def __init__(
        self, at_point: AtPoint, start: Float[Tensor, " d"], free: list[int]
    ) -> None:
        self.at_point, self.start, self.free = at_point, start, free

    def end(self, max_iter: int) -> Float[Tensor, " d"]:
        """Where the climb ends; its start if it goes astray."""
        x_0 = self.start[self.free].cpu().numpy()
        values, slopes = self._at(self.at_point, x_0)
        reach = _REACH * np.linalg.norm(slopes[1:], axis=1)
        near = np.flatnonzero(values[1:] < reach).tolist()
        if isinstance(self.at_point, Divisible) and len(near) < len(values) - 1:
            x = self._climbed(self.at_point.restricted(near), x_0, max_iter)
            if (self._at(self.at_point, x)[0][1:] >= -_TOLERANCE).all():
                return self._ended(x)
        return self._ended(self._climbed(self.at_point, x_0, max_iter))

    def _climbed(self, at_point: AtPoint, x_0: Vector, max_iter: int) -> Vector:
        known: dict[bytes, tuple[Vector, Vector]] = {}

        def at(x: Vector) -> tuple[Vector, Vector]:
            """(-value, -LCB_1, ...) and its Jacobian, each point once."""
            key = x.tobytes()
            if key not in known:
                known[key] = self._at(at_point, x)
            return known[key]

        scale = max(1.0, float(np.abs(at(x_0)[1][0]).max()))
        found: Any = minimize(  # type: ignore[call-overload]
            lambda x: (at(x)[0][0] / scale, at(x)[1][0] / scale),
            x_0,
            jac=True,
            bounds=[(0.0, 1.0)] * len(self.free),
            constraints={
                "type": "ineq",
                "fun": lambda x: at(x)[0][1:],
                "jac": lambda x: at(x)[1][1:],
            },
            method="SLSQP",
            options={"maxiter": max_iter, "ftol": 1e-8},
        )
        x: Vector = found.x
        return x if np.isfinite(x).all() else x_0

    def _ended(self, x: Vector) -> Float[Tensor, " d"]:
        return torch.from_numpy(self._point(x)).to(self.start)

    def _point(self, x: Vector) -> Vector:
        point = self.start.cpu().numpy().copy()
        point[self.free] = np.clip(x, 0.0, 1.0)
        return point

    def _at(self, at_point: AtPoint, x: Vector) -> tuple[Vector, Vector]:
        values, slopes = at_point(self._point(x))
        return (
            np.nan_to_num(values, posinf=1e30, neginf=-1e30),
            np.nan_to_num(slopes[:, self.free]),
        )
