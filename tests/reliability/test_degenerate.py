"""Objectives that tell nothing: points fill the space, as well as random ones do."""

import numpy as np
import pytest

import wideopt as wo
from wideopt.search.design import sobol_points

D = 3
SAMPLE = sobol_points(D, 1000, seed=7).numpy()


def gaps(result):
    """How far a point of the cube is from the nearest evaluated one, in the mean."""
    X = np.array([trial.x for trial in result.history])
    return np.sqrt(((SAMPLE[:, None] - X) ** 2).sum(axis=-1)).min(axis=1).mean()


def noise(seed):
    rng = np.random.default_rng(seed)
    return lambda x: float(rng.normal())


def constant(seed):
    return lambda x: 3.0


def needle(seed):
    tip = np.random.default_rng(seed).random(D)
    return lambda x: -float(np.abs(x - tip).max() < 0.02)


@pytest.mark.parametrize(
    ("objective", "method", "n_evals"),
    [
        (constant, "auto", 40),
        (needle, "neural-cbo", 40),
        pytest.param(needle, "auto", 60, marks=pytest.mark.slow),
        pytest.param(noise, "auto", 60, marks=pytest.mark.slow),
        pytest.param(noise, "neural-cbo", 60, marks=pytest.mark.slow),
    ],
)
def test_the_space_is_filled(objective, method, n_evals):
    box = [(0, 1)] * D
    shares = []
    for seed in (0, 1):
        found, random = (
            wo.minimize(objective(seed), box, method=m, n_evals=n_evals, seed=seed)
            for m in (method, "random")
        )
        shares.append(gaps(found) / gaps(random))
    # random search is a Sobol sequence here, which fills the space better than chance
    assert np.mean(shares) < 1.1
    assert "look like a constant or like noise" in found.message


def test_what_can_be_learned_is_not_taken_for_noise():
    result = wo.minimize(
        lambda x: float(((x - 0.3) ** 2).sum()), [(0, 1)] * D, n_evals=20, seed=0
    )
    assert result.message == ""
    assert result.fun < 1e-3


def test_auto_accounts_for_itself():
    problem = wo.problems.get("three-bar-truss")
    result = wo.minimize(
        problem, problem.space, n_evals=14, seed=0, options={"verbose": True}
    )
    assert "Method neural-cbo: there are constraints." in result.message
    assert "Surrogate of" in result.message
    assert result.message.count("Method") == 1
