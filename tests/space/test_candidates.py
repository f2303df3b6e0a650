"""Spaces made of the rows of an array: every config is a row, for every method."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import wideopt as wo
from tests.methods.contract_problems import Small, optimizer, walk
from wideopt.methods.catalog import create

ROWS = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 100.0, 1e-3]
METHODS = list(wo.methods())


def is_row(x):
    return any(np.array_equal(x, row) for row in ROWS)


@pytest.fixture
def space():
    return wo.Space.from_candidates(ROWS)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(1, 4)),
        elements=st.integers(-9, 9).map(float) | st.floats(-1e3, 1e3, width=16),
    )
)
def test_decode_after_encode_is_the_identity(rows):
    rows = np.unique(rows, axis=0)
    if len(rows) < 2:
        return
    space = wo.Space.from_candidates(rows)
    for row in rows:
        (index,) = space.values(row)
        point = space.encode((index,))
        assert np.all((point >= 0) & (point <= 1))
        assert space.decode(point) == (index,)
        assert np.array_equal(space.snap(point[None, :])[0], point)
        assert np.array_equal(space.config((index,)), row)


def test_columns_are_scaled_to_the_unit_interval(space):
    points = space.every_point()
    assert points.shape == (40, 3)
    assert np.array_equal(points.min(axis=0), np.zeros(3))
    assert np.array_equal(points.max(axis=0), np.ones(3))
    assert space.n_configs == 40
    assert len(space) == space.n_dims == 3
    assert not space.is_continuous


def test_snap_goes_to_the_nearest_row(space):
    U = np.random.default_rng(1).random((9, 3))
    codes = space.every_point()
    for u, snapped in zip(U, space.snap(U), strict=True):
        best = np.linalg.norm(codes - u, axis=1).argmin()
        assert np.array_equal(snapped, codes[best])


def test_json_round_trip(space):
    again = wo.Space.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    assert hash(again) == hash(space)
    assert wo.Space(space) == space
    assert repr(space) == "Space.from_candidates(Candidates(40 rows of 3))"
    assert space != wo.Space.from_candidates(ROWS[:39])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1.0, 2.0], "shape"),
        ([[1.0, 2.0]], "two rows"),
        ([[1.0], [np.nan]], "row 1"),
        ([[1.0, 0.0], [1.0, -0.0], [2.0, 0.0]], "only 2"),
        ([["a"], ["b"]], "numbers"),
        ([[-1e308], [1e308]], "too far"),
    ],
)
def test_bad_rows(rows, message):
    with pytest.raises(wo.SpaceError, match=message):
        wo.Space.from_candidates(rows)


def test_candidates_stand_alone(space):
    with pytest.raises(wo.SpaceError, match="alone"):
        wo.Space([space.candidates, (0, 1)])


@pytest.mark.parametrize("x", [[0.0, 0.0, 0.0], [1.0], "abc", None, {"a": 1}])
def test_a_point_that_is_no_row_is_refused(space, x):
    with pytest.raises(wo.InputError, match="row"):
        space.values(x)


def test_a_row_is_found_again_after_rounding(space):
    assert space.values(ROWS[7] * (1 + 1e-14)) == (7,)
    assert space.values(list(ROWS[7])) == (7,)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_suggests_rows_only(method, space):
    problem = Small(space, lambda x: (float(x[0] ** 2), []))
    opt = optimizer(method, problem)
    assert all(is_row(x) for x in walk(opt, problem, 5))
    batch = opt.ask(2)
    state = json.loads(json.dumps(opt.state_dict()))
    copy = wo.Optimizer.from_state_dict(state, opt.object_options)
    assert np.array_equal(copy.ask(), opt.ask())
    if not getattr(create(method), "is_bandit", False):
        told = [t.x for t in opt.history]
        assert len({x.tobytes() for x in [*told, *batch]}) == 7


def test_the_best_row_is_found_and_all_rows_before_a_repeat(space):
    result = wo.minimize(lambda x: x[0] ** 2, space, method="gp-ei", n_evals=12, seed=0)
    assert result.fun == (ROWS[:, 0] ** 2).min()
    opt = wo.Optimizer(space, method="random", seed=0)
    assert len({x.tobytes() for x in opt.ask(40)}) == 40


def test_many_rows_are_searched_by_samples():
    rows = np.random.default_rng(2).random((5000, 4))
    result = wo.minimize(
        lambda x: float(((x - 0.5) ** 2).sum()),
        wo.Space.from_candidates(rows),
        method="gp-ei",
        n_evals=12,
        seed=0,
    )
    values = ((rows - 0.5) ** 2).sum(axis=1)
    assert (values < result.fun).mean() < 0.01


def test_a_study_stores_the_index_and_resumes(space, sqlite):
    def f(x):
        return float(x[1])

    settings = {"method": "random", "seed": 0, "storage": sqlite}
    wo.minimize(f, space, n_evals=4, **settings)
    whole = wo.minimize(f, space, n_evals=8, **settings)
    straight = wo.minimize(f, space, n_evals=8, method="random", seed=0)
    assert np.array_equal([t.x for t in whole.history], [t.x for t in straight.history])
    rows = [ROWS[trial.params["row"]] for trial in whole.study.trials]
    assert np.array_equal(rows, [t.x for t in whole.history])
