"""Parameters that rest: one point for configs that differ in nothing that matters."""

import numpy as np
import pytest

import wideopt as wo
from wideopt.space import Condition, Conditional

SPACE = Conditional(
    {
        "kind": wo.Categorical(["plain", "deep", "odd"]),
        "n": wo.Integer(1, 3),
        "z": (0, 1),
        "x": (-1, 1),
    },
    {
        "n": Condition("kind", frozenset({"plain"})),
        "z": Condition("n", frozenset({1, 2})),
    },
)


@pytest.mark.parametrize(
    ("values", "active"),
    [
        ({"kind": "plain"}, ["kind", "x"]),
        ({"kind": "deep", "n": 1}, ["kind", "n", "x"]),
        ({"kind": "deep", "n": 3}, ["kind", "n", "z", "x"]),
    ],
)
def test_what_matters(values, active):
    assert SPACE.active(values) == active


def test_resting_parameters_make_no_difference():
    one = SPACE.encode(["plain", 1, 0.1, 0.5])
    two = SPACE.encode(["plain", 3, 0.9, 0.5])
    assert np.array_equal(one, two)
    assert not np.array_equal(one, SPACE.encode(["plain", 3, 0.9, 0.6]))
    one, two = SPACE.encode(["deep", 3, 0.1, 0.5]), SPACE.encode(["deep", 3, 0.9, 0.5])
    assert not np.array_equal(one, two)


def test_snapping_is_idempotent_and_agrees_with_encoding():
    points = SPACE.snap(np.random.default_rng(0).uniform(size=(64, SPACE.n_dims)))
    assert np.array_equal(SPACE.snap(points), points)
    for point in points:
        assert np.allclose(SPACE.encode(SPACE.decode(point)), point, atol=1e-12)


def test_every_point_once():
    space = Conditional(
        {"a": wo.Categorical([0, 1]), "b": wo.Integer(1, 5)},
        {"b": Condition("a", frozenset({0}))},
    )
    assert len(space.every_point()) == 1 + 5


def test_the_optimizer_keeps_the_conditions():
    optimizer = wo.Optimizer(SPACE, method="random", seed=0)
    assert optimizer.space is SPACE
    for x in optimizer.ask(8):
        optimizer.tell(x, float(x["x"]))
