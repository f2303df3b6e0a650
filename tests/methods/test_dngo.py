"""DNGO: training at every ask is bounded and leaves nothing in the state."""

import json

import numpy as np
import pytest

import wideopt as wo
from tests.methods.contract_problems import PROBLEMS, walk
from wideopt.methods import dngo
from wideopt.methods.catalog import create
from wideopt.surrogates import LastLayer


def test_state_is_a_seed_and_training_is_bounded(monkeypatch):
    recipes = []

    def recorded(*args, **kwargs):
        recipes.append(LastLayer(*args, **kwargs))
        return recipes[-1]

    monkeypatch.setattr(dngo, "LastLayer", recorded)
    problem = PROBLEMS["constrained"]
    options = {"n_init": 3, "n_steps": 7, "n_candidates": 64, "n_restarts": 1}
    opt = wo.Optimizer(
        problem.space, method="dngo", n_constraints=2, seed=0, options=options
    )
    walk(opt, problem, 5)
    state = opt.state_dict()["method_state"]
    assert list(state) == ["theta_0"]
    assert len(json.dumps(state)) < 100
    asked = [recipe for recipe in recipes if recipe.seed == state["theta_0"]]
    assert len(asked) == 2  # one training for each ask after the design
    assert all(recipe.training.epochs == 7 for recipe in asked)


def bowl(x):
    return float(np.sum((x - 2.0) ** 2 * [1.0, 2.0, 0.5]))


def mean_best(method, n_seeds, options=None):
    runs = [
        wo.minimize(
            bowl, [(-5, 10)] * 3, method=method, n_evals=16, seed=seed, options=options
        )
        for seed in range(n_seeds)
    ]
    return np.mean([run.fun for run in runs])


def test_best_value_is_at_most_half_of_what_random_search_finds():
    best = mean_best("dngo", 3, {"n_candidates": 256, "n_restarts": 2})
    assert best < 0.5 * mean_best("random", 12)


@pytest.mark.parametrize(
    "options",
    [
        {"depth": 0},
        {"width": 0},
        {"decay": -1.0},
        {"n_steps": 0},
        {"activation": "swish"},
        {"n_restarts": 0},
    ],
)
def test_bad_options(options):
    with pytest.raises(wo.InputError, match=next(iter(options))):
        create("dngo", options)
