"""The baselines beat random search on a small problem, by a stated margin."""

import numpy as np
import pytest

import wideopt as wo

BOUNDS = [(-5, 10)] * 3


def bowl(x):
    return float(np.sum((x - 2.0) ** 2 * [1.0, 2.0, 0.5]))


def mean_best(method, n_evals, n_seeds):
    runs = [
        wo.minimize(bowl, BOUNDS, method=method, n_evals=n_evals, n_init=6, seed=seed)
        for seed in range(n_seeds)
    ]
    return np.mean([run.fun for run in runs])


@pytest.mark.parametrize(
    ("method", "n_evals"),
    [
        ("turbo", 15),
        ("forest-ei", 30),  # no smoothness assumed: it needs more data
        ("gp-mes", 14),
        ("gp-pes", 20),  # explores first: at 12 it is still behind random search
        ("gp-kg", 14),
    ],
)
def test_best_value_is_at_most_half_of_what_random_search_finds(method, n_evals):
    best = mean_best(method, n_evals, n_seeds=2)
    assert best < 0.5 * mean_best("random", n_evals, n_seeds=12)


@pytest.mark.parametrize(
    ("method", "n_evals"),
    [("turbo", 16), ("forest-ei", 30), ("gp-mes", 14), ("gp-kg", 14)],
)
def test_a_constraint_is_respected(method, n_evals):
    def disk(x):
        return float(x.sum()), [float(x @ x) - 1.0]  # minimum -√2, on the circle

    result = wo.minimize(
        disk, [(-2, 2)] * 2, method=method, n_evals=n_evals, n_init=8, seed=1
    )
    assert result.feasible
    assert result.fun < -0.9
