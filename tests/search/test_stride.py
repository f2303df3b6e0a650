"""Longer steps along a slope."""

from dataclasses import replace

import pytest
import torch
from botorch.models.model import Model

import wideopt as wo
from wideopt.data.dataset import Dataset
from wideopt.search.stride import lengthened


class Slope(Model):
    """A mean of -x up to a wall, beyond which it is 1, and a deviation of 0.01."""

    def __init__(self, wall=2.0):
        super().__init__()
        self.wall = wall

    def posterior(self, X):
        mean = torch.where(X[..., :1] < self.wall, -X[..., :1], 1.0)
        posterior = type("Posterior", (), {})()
        posterior.mean, posterior.variance = mean, torch.full_like(mean, 1e-4)
        return posterior


def data_of(*rows):
    X = torch.tensor(rows, dtype=torch.float64)
    return Dataset(wo.Space([(0, 1), (0, 1)]), X, -X[:, :1], X[:0])


def step(data, x, wall=2.0):
    best = float(data.Y.min())
    point = torch.tensor(x, dtype=torch.float64)
    return lengthened(point, Slope(wall), data, best).tolist()


def test_a_step_that_goes_on_is_twice_the_last_one():
    data = data_of([0.0, 0.5], [0.1, 0.5], [0.2, 0.5])
    assert step(data, [0.21, 0.5]) == pytest.approx([0.4, 0.5])


def test_it_ends_where_no_improvement_is_hoped_for():
    data = data_of([0.0, 0.5], [0.1, 0.5], [0.3, 0.5])
    assert 0.45 < step(data, [0.31, 0.5], wall=0.5)[0] < 0.5


def test_it_ends_at_the_face_of_the_cube():
    data = data_of([0.0, 0.5], [0.4, 0.5], [0.8, 0.5])
    assert step(data, [0.81, 0.5]) == pytest.approx([1.0, 0.5])


def test_it_ends_on_no_point_that_is_known():
    data = data_of([1.0, 0.5], [0.4, 0.5], [0.8, 0.5])
    data = replace(data, Y=torch.tensor([[1.0], [-0.4], [-0.8]], dtype=torch.float64))
    assert step(data, [0.81, 0.5]) == pytest.approx([0.81, 0.5])


def test_beside_points_under_way_a_step_stays():
    data = data_of([0.0, 0.5], [0.1, 0.5], [0.2, 0.5])
    pending = torch.tensor([[0.4, 0.5]], dtype=torch.float64)
    data = replace(data, X_pending=pending)
    assert step(data, [0.21, 0.5]) == pytest.approx([0.21, 0.5])


@pytest.mark.parametrize(
    ("rows", "x"),
    [
        ([[0.0, 0.5], [0.1, 0.5], [0.2, 0.5]], [0.2, 0.6]),  # turns
        ([[0.0, 0.5], [0.2, 0.5], [0.1, 0.5]], [0.21, 0.5]),  # the last is not best
        ([[0.0, 0.5], [0.1, 0.5], [0.2, 0.5]], [0.5, 0.5]),  # long enough
        ([[0.1, 0.5], [0.2, 0.5]], [0.21, 0.5]),  # too few to tell
        ([[0.0, 0.5], [0.1, 0.5], [0.2, 0.5]], [0.2, 0.5]),  # no step at all
    ],
)
def test_other_points_stay(rows, x):
    assert step(data_of(*rows), x) == pytest.approx(x)
