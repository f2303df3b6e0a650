"""Maximizing within bounds: against a known optimum, and where nothing is within."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from botorch.acquisition.acquisition import AcquisitionFunction

import wideopt as wo
from wideopt.acquisition.bounds import LowerBounds
from wideopt.data.dataset import Dataset
from wideopt.search.maximize import Search
from wideopt.search.within import Pool, _Climb, maximize_within
from wideopt.surrogates import Tangent


class Linear(AcquisitionFunction):
    """x_1 + x_2: its maximum within the disk is at (0.5, 0.5) + r/√2."""

    def __init__(self):
        torch.nn.Module.__init__(self)
        self.model = None

    def forward(self, X):
        return X.squeeze(-2).sum(dim=-1)


@dataclass(frozen=True)
class Exact(LowerBounds):
    """Exact bounds of known functions in place of models."""

    def excess(self, X):
        return torch.relu(self(X)).sum(dim=-1)


@dataclass(frozen=True)
class Disk(Exact):
    """A disk around the middle."""

    radius: float = 0.3

    def __call__(self, X):
        return ((X - 0.5).square().sum(-1) - self.radius**2).unsqueeze(-1)

    def apart(self, X):
        return self(X).diagonal()


SEARCH = Search(64, 0, 2, 50)


def data_in(space):
    x = torch.full((1, len(space)), 0.5, dtype=torch.float64)
    return Dataset(wo.Space(space), x, x[:, :1], x[:0])


def model():
    X = torch.rand(6, 2, generator=torch.Generator().manual_seed(0)).double()
    return Tangent(activation="erf").fit(X, X[:, :1])


def test_the_climb_ends_on_the_edge_where_the_optimum_is():
    bounds = Disk([model()], 0.0, 0.3)
    generator = torch.Generator().manual_seed(0)
    found = maximize_within(
        Linear(), bounds, data_in([(0, 1), (0, 1)]), generator, SEARCH
    )
    assert found.is_within
    expected = torch.full((2,), 0.5 + 0.3 / math.sqrt(2)).double()
    torch.testing.assert_close(found.point, expected, rtol=0, atol=1e-4)


def test_discrete_parameters_stay_legal_and_near_the_best():
    space = [wo.Integer(0, 10), wo.Real(0, 1)]
    data = data_in(space)
    generator = torch.Generator().manual_seed(0)
    bounds = Disk([model()], 0.0, 0.3)
    found = maximize_within(Linear(), bounds, data, generator, SEARCH)
    assert found.is_within
    legal = [float(data.space.encode([k, 0.5])[0]) for k in range(11)]
    assert min(abs(u - float(found.point[0])) for u in legal) < 1e-12
    inside = [u for u in legal if abs(u - 0.5) <= 0.3]
    best = max(u + 0.5 + math.sqrt(0.09 - (u - 0.5) ** 2) for u in inside)
    assert float(found.point.sum()) > best - 0.05  # a walk and a climb: not exact


def test_the_point_of_least_excess_where_nothing_is_within():
    @dataclass(frozen=True)
    class Never(Exact):
        def __call__(self, X):
            return (0.1 + (X - 0.25).square().sum(-1)).unsqueeze(-1)

    bounds = Never([model()], 0.0)
    generator = torch.Generator().manual_seed(0)
    found = maximize_within(
        Linear(), bounds, data_in([(0, 1), (0, 1)]), generator, SEARCH
    )
    assert not found.is_within
    assert found.excess == pytest.approx(0.1, abs=1e-3)
    torch.testing.assert_close(
        found.point, torch.full((2,), 0.25).double(), rtol=0, atol=0.03
    )


def test_order_is_by_excess_then_by_value():
    pool = Pool(
        torch.zeros(4, 1),
        torch.tensor([1.0, 3.0, 9.0, 8.0]),
        torch.tensor([0.0, 1e-9, 0.5, 0.2]),
    )
    assert pool.order.tolist() == [1, 0, 3, 2]


def test_bounds_are_computed_until_enough_of_the_best_are_within():
    counted = []

    class Counted(Disk):
        def __call__(self, X):
            counted.append(len(X))
            return super().__call__(X)

    X = torch.rand(2000, 2, generator=torch.Generator().manual_seed(0)).double()
    bounds = Counted([model()], 0.0, 0.3)
    few = Pool.of(Linear(), bounds, X, 3)
    assert sum(counted) < 1500
    counted.clear()
    every = Pool.of(Linear(), bounds, X)
    assert sum(counted) == 2000
    assert few.order[:3].tolist() == every.order[:3].tolist()
    tiny = Pool.of(Linear(), Counted([model()], 0.0, 1e-9), X, 3)
    assert bool(tiny.excess.isfinite().all())  # none is within, so all were computed


class AtPoint:
    """Climb x_1 from 0.1; beyond 0.4, and unseen from the start, is a wall at 0.7."""

    def __init__(self, used, constraints=(0, 1)):
        self.used, self.constraints = used, list(constraints)

    def __call__(self, x):
        self.used.append(tuple(self.constraints))
        wall = 0.7 - x[0] if x[0] > 0.4 else 5.0 + 0.0 * x[0]
        slope = -1.0 if x[0] > 0.4 else 0.0
        values = np.array([-x[0], 0.9 - x[0], wall])
        slopes = np.array([[-1.0, 0.0], [-1.0, 0.0], [slope, 0.0]])
        rows = [0, *(i + 1 for i in self.constraints)]
        return values[rows], slopes[rows]

    def restricted(self, constraints):
        return AtPoint(self.used, constraints)


def test_a_climb_leaves_out_what_looks_far_and_is_made_again_if_that_was_wrong():
    used = []
    start = torch.tensor([0.6, 0.5], dtype=torch.float64)
    end = _Climb(AtPoint(used), start, [0, 1]).end(50)
    assert end[0] == pytest.approx(0.7, abs=1e-6)  # the wall is within reach
    assert set(used) == {(0, 1), (1,)}
    assert used.count((0, 1)) == 2  # at the start, and to check the end
    used.clear()
    start = torch.tensor([0.3, 0.5], dtype=torch.float64)
    end = _Climb(AtPoint(used), start, [0, 1]).end(50)
    assert () in used  # from here both look far
    assert used[-1] == (0, 1)
    assert float(end[0]) <= 0.9 + 1e-6
