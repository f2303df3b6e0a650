"""Minima in every dimension against fine grids and published values."""

import math

import numpy as np
import pytest

from wideopt import problems
from wideopt.problems import _minima as minima


def test_michalewicz_beats_a_fine_grid_in_each_coordinate():
    d = 60
    best = minima.michalewicz(d)
    grid = np.linspace(0, math.pi, 100_001)
    for i, x in enumerate(best, start=1):
        on_grid = np.sin(grid) * np.sin(i * grid**2 / math.pi) ** 20
        at_best = math.sin(x) * math.sin(i * x**2 / math.pi) ** 20
        step_error = 40 * i**2 * (grid[1] - grid[0]) ** 2  # curvature times step²
        assert on_grid.max() <= at_best + 1e-14
        assert at_best - on_grid.max() < step_error


@pytest.mark.parametrize(
    ("d", "optimum"), [(2, -1.8013034), (5, -4.687658), (10, -9.6601517)]
)
def test_michalewicz_published_values(d, optimum):
    assert problems.get("michalewicz", dim=d).optimum == pytest.approx(
        optimum, abs=1e-6
    )


def test_michalewicz_coordinates_do_not_depend_on_the_dimension():
    np.testing.assert_array_equal(minima.michalewicz(100)[:7], minima.michalewicz(7))
    assert np.all(np.isfinite(minima.michalewicz(1000)))


def test_styblinski_tang_solves_its_cubic():
    (x,) = minima.styblinski_tang(1)
    assert 4 * x**3 - 32 * x + 5 == pytest.approx(0, abs=1e-12)
    assert problems.get("styblinski-tang-10").optimum == pytest.approx(
        -391.6616570377142, abs=1e-10
    )


def test_cosine_mixture_beats_a_fine_grid():
    (x,) = minima.cosine_mixture(1)
    grid = np.linspace(-1, 1, 200_001)
    on_grid = grid**2 + 0.1 * np.cos(5 * math.pi * grid)
    at_best = x**2 + 0.1 * math.cos(5 * math.pi * x)
    assert at_best <= on_grid.min() < at_best + 1e-8
    assert abs(grid[on_grid.argmin()]) == pytest.approx(x, abs=1e-4)
