"""Problems drawn by chance: always the same, and with the optimum that is stated."""

import numpy as np
import pytest

from wideopt.bench.applications.generated import NAMES, OPTIMA, generated, solved


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_always_the_same_problem(name):
    first, again = generated(name), generated(name)
    x = np.array(first.bounds).mean(axis=1)

    assert first(x) == again(x)
    assert first.box == again.box


@pytest.mark.parametrize("name", ["posynomial-1", "wells-0", "wells-2", "landscape-0"])
def test_the_optimum_is_found_again(name):
    value, x = solved(generated(name), n_starts=20)

    assert value == pytest.approx(OPTIMA[name], rel=1e-6)
    assert (generated(name).constraints(x) <= 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_sampled_point_is_better(name):
    problem = generated(name)
    low, high = np.array(problem.bounds).T
    X = low + (high - low) * np.random.default_rng(1).random((20_000, problem.dim))
    is_feasible = (problem.constraints(X) <= 0).all(axis=-1)

    assert (problem.objective(X)[is_feasible] >= OPTIMA[name] - 1e-9).all()
