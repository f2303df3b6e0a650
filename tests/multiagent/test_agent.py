"""What an agent accepts, and its share of the affine constraints."""

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.multiagent import Agent


def zero(config):
    return 0.0


@pytest.mark.parametrize(
    "space",
    [
        [(-2, 3), (0, 5)],
        {"a": wo.Real(1e-3, 10, log=True), "b": wo.Integer(1, 6)},
        wo.Space.from_candidates([[0.0, 1.0], [2.0, -3.0], [5.0, 0.5]]),
    ],
)
def test_affine_shares_in_both_forms(space):
    A = [[1.0, -2.0], [0.5, 0.0], [0.0, 3.0]]
    agent = Agent(zero, space, A=A)
    points = agent.space.snap(np.random.default_rng(0).random((20, 2)))
    shares = agent.affine(torch.from_numpy(points)).numpy()
    for point, share in zip(points, shares, strict=True):
        config = agent.space.config(agent.space.decode(point))
        np.testing.assert_allclose(agent.Ax(config), share, atol=1e-9)


def test_reach_is_the_range_of_the_shares():
    agent = Agent(zero, [(-1, 3), (0, 5)], A=[[1.0, -2.0]])
    corners = [agent.Ax(np.array([a, b])) for a in (-1.0, 3.0) for b in (0.0, 5.0)]
    assert agent.reach == pytest.approx(np.ptp(corners))


def test_without_affine_constraints():
    agent = Agent(zero, [wo.Categorical(["a", "b"])])
    assert agent.affine is None
    assert agent.Ax(np.array(["a"], dtype=object)) == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"A": [[1.0, 2.0]]}, "A needs 1 columns"),
        ({"A": [[float("nan")]]}, "A must be finite"),
        ({"n_constraints": -1}, "n_constraints must be at least 0, but got -1"),
        ({"n_constraints": 2, "constraints": [2]}, "indices below n_constraints=2"),
        ({"n_constraints": 2, "constraints": [1, 1]}, "distinct indices"),
        ({"surrogate": "tree"}, "surrogate is 'gp', 'tangent' or a recipe"),
        ({"beta": 0.0}, "beta must be positive"),
        ({"C": -1.0}, "C must be positive"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"n_candidates": 0}, "n_candidates must be at least 1"),
        ({"n_restarts": -1}, "n_restarts must be at least 0"),
    ],
)
def test_bad_options(options, words, unchecked):
    with pytest.raises(wo.InputError, match=words):
        Agent(zero, [(0, 1)], **options)


def test_no_matrix_for_categories():
    with pytest.raises(wo.InputError, match="categorical"):
        Agent(zero, [wo.Categorical(["a", "b"])], A=[[1.0]])
