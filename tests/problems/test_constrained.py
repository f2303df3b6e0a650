"""Constrained problems: optima by search, active constraints, feasible shares."""

import math

import numpy as np
import pytest
import torch

from wideopt import problems

# f* and the share of the box by multi-start SLSQP and sampling. The speed reducer's
# f* is that of Kumar et al. 2020, whose constants Neural-CBO prints.
REFERENCE = {
    "ackley-constrained": (0.0, 0.135),
    "branin-disk": (0.397887358, 0.70),
    "gas-transmission": (2964895.4173, 0.52),
    "hartmann-ball": (-3.32236801, 0.08),
    "simionescu": (-0.072, 0.51),
    "speed-reducer": (2994.4244658, 0.001),
}

ACTIVE = {
    "ackley-constrained": [],
    "branin-disk": [],
    "gas-transmission": [1],
    "hartmann-ball": [],
    "simionescu": [1],
    "speed-reducer": [5, 6, 8, 11],
}


@pytest.mark.parametrize("name", REFERENCE)
def test_optimum_is_the_reference(name):
    assert problems.get(name).optimum == pytest.approx(REFERENCE[name][0], rel=1e-8)


@pytest.mark.parametrize("name", REFERENCE)
def test_feasible_share(name, draw):
    problem = problems.get(name)
    n = 300_000
    c = problem.constraints(draw(problem, n))
    share = np.mean(np.all(c <= 0, axis=-1))
    error = math.sqrt(share * (1 - share) / n)
    assert abs(share - problem.feasible_share) < 5 * error
    assert problem.feasible_share == pytest.approx(REFERENCE[name][1], rel=0.04)


@pytest.mark.parametrize("name", REFERENCE)
def test_active_constraints(name):
    problem = problems.get(name)
    for c in problem.constraints(problem.x_optimum):
        active = (np.flatnonzero(np.abs(c) < 1e-8) + 1).tolist()
        assert active == ACTIVE[name]


@pytest.mark.parametrize(
    "name", ["branin-disk", "gas-transmission", "simionescu", "speed-reducer"]
)
def test_search_from_several_starts_reaches_the_optimum(name, draw, descend):
    problem = problems.get(name)
    found = np.array([descend(problem, x) for x in draw(problem, 12, seed=4)])
    is_feasible = np.all(problem.constraints(found) <= 1e-7, axis=-1)
    best = problem.objective(found[is_feasible]).min()
    assert best == pytest.approx(problem.optimum, rel=1e-6)


def test_simionescu_is_defined_on_the_axes():
    X = np.array([[0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 0.0]])
    expected = [1 - 1.44, 1 - 1.44, 1 - 1.44, -1.44]
    assert problems.get("simionescu").constraints(X)[:, 0] == pytest.approx(expected)


def test_simionescu_is_the_printed_formula(draw):
    problem = problems.get("simionescu")
    X = draw(problem, 100)
    angle = np.arctan(X[:, 1] / X[:, 0])
    expected = np.sum(X**2, axis=1) - (1 + 0.2 * np.cos(8 * angle)) ** 2
    np.testing.assert_allclose(problem.constraints(X)[:, 0], expected, atol=1e-12)


def test_only_one_minimum_of_branin_is_in_the_disk():
    disk = problems.get("branin-disk")
    minima = problems.get("branin").x_optimum
    assert (disk.constraints(minima) <= 0).ravel().tolist() == [False, True, False]


def test_speed_reducer_bounds_the_ratio_from_both_sides():
    x = torch.tensor([3.0, 0.75, 20.0, 7.8, 7.8, 3.4, 5.2], dtype=torch.float64)
    c = problems.get("speed-reducer").constraints(x)
    assert c[7:9].tolist() == pytest.approx([5 - 4, 4 - 12])
