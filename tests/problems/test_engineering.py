"""Engineering problems: printed optima, searches from several starts, shares."""

import math

import numpy as np
import pytest
import torch

from wideopt import problems
from wideopt.problems._engineering import ENGINEERING

# As printed: Coello 2000, Ray & Saini 2001, Gandomi et al. 2013, Liang et al. 2006.
PRINTED = {
    "pressure-vessel": 5885.3327736,
    "welded-beam": 1.724852309,
    "tension-spring": 0.012665232788,
    "three-bar-truss": 263.8958433765,
    "cantilever-beam": 1.339956,
    "himmelblau": -30665.5386717834,
    "i-beam": 0.0130741,
}


@pytest.mark.parametrize("name", PRINTED)
def test_optimum_is_the_printed_one(name):
    assert problems.get(name).optimum == pytest.approx(PRINTED[name], rel=2e-6)


@pytest.mark.parametrize("name", ENGINEERING)
def test_the_minimizer_is_feasible_and_attains_the_optimum(name):
    problem = problems.get(name)
    (x,) = problem.x_optimum

    assert problem.objective(x) == pytest.approx(problem.optimum, rel=1e-7)
    scale = np.abs(problem.constraints(np.array(problem.bounds).mean(axis=1)))
    assert (problem.constraints(x) <= 1e-7 * np.maximum(scale, 1)).all()


@pytest.mark.parametrize("name", ENGINEERING)
def test_search_from_several_starts_finds_nothing_better(name, draw, descend):
    problem = problems.get(name)
    X = draw(problem, 400, seed=4)
    violation = np.clip(problem.constraints(X), 0, None)
    scaled = (violation / (np.abs(problem.constraints(X)).mean(axis=0))).sum(axis=-1)
    found = np.array([descend(problem, x) for x in X[np.argsort(scaled)[:12]]])
    size = np.abs(problem.constraints(X)).mean(axis=0)
    is_feasible = np.all(problem.constraints(found) <= 1e-7 * size, axis=-1)

    best = problem.objective(found[is_feasible]).min()
    assert best == pytest.approx(problem.optimum, rel=1e-5)


@pytest.mark.parametrize("name", ENGINEERING)
def test_feasible_share(name, draw):
    problem = problems.get(name)
    n = 100_000
    share = np.mean(np.all(problem.constraints(draw(problem, n)) <= 0, axis=-1))
    error = math.sqrt(share * (1 - share) / n)

    assert abs(share - problem.feasible_share) < 5 * error + 5e-5


@pytest.mark.parametrize("name", ENGINEERING)
def test_torch_gives_the_same(name, draw):
    problem = problems.get(name)
    X = draw(problem, 20)

    for part in (problem.objective, problem.constraints):
        np.testing.assert_allclose(part(torch.from_numpy(X)).numpy(), part(X))
