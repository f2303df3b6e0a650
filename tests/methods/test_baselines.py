"""The baselines beat random search on a small problem, by a stated margin."""

import numpy as np
import pytest

import wideopt as wo

N_EVALS = 15
BOUNDS = [(-5, 10)] * 3


def bowl(x):
    return float(np.sum((x - 2.0) ** 2 * [1.0, 2.0, 0.5]))


@pytest.fixture(scope="module")
def random_best():
    """The median over many seeds."""
    best = [
        wo.minimize(bowl, BOUNDS, method="random", n_evals=N_EVALS, seed=seed).fun
        for seed in range(15)
    ]
    return float(np.median(best))


@pytest.mark.parametrize("method", ["turbo", "forest-ei", "gp-mes", "gp-pes", "gp-kg"])
def test_best_value_is_at_most_half_of_what_random_search_finds(method, random_best):
    best = [
        wo.minimize(
            bowl, BOUNDS, method=method, n_evals=N_EVALS, n_init=6, seed=seed
        ).fun
        for seed in range(2)
    ]
    assert np.mean(best) < 0.5 * random_best


@pytest.mark.parametrize("method", ["turbo", "forest-ei", "gp-mes", "gp-kg"])
def test_a_constraint_is_respected(method):
    def disk(x):
        return float(x.sum()), [float(x @ x) - 1.0]  # minimum -√2, on the circle

    result = wo.minimize(
        disk, [(-2, 2)] * 2, method=method, n_evals=18, n_init=8, seed=1
    )
    assert result.feasible
    assert result.fun < -0.9
