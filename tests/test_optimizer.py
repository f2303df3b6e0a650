"""`Optimizer`: what holds whatever the method is. See methods/test_contract.py too."""

import json
import math

import numpy as np
import pytest

import wideopt as wo

BOX = [(0, 1), (-5, 10)]


@pytest.fixture
def opt():
    return wo.Optimizer(BOX, method="random", seed=0)


def test_one_point_or_a_list(opt):
    assert opt.ask().shape == (2,)
    assert [x.shape for x in opt.ask(1)] == [(2,)]
    assert len(opt.ask(7)) == 7
    assert opt.n_asked == 9 == len(opt.pending)
    assert opt.history == []


def test_before_any_tell(opt):
    best = opt.best
    assert (best.x, best.fun, best.feasible, best.n_evals) == (None, None, False, 0)


def test_told_in_any_order(opt):
    batch = opt.ask(5)
    for i in (3, 1, 4, 0, 2):
        opt.tell(batch[i], float(i))
    assert [t.y for t in opt.history] == [3, 1, 4, 0, 2]
    assert opt.pending == []
    assert opt.best.fun == 0
    assert np.array_equal(opt.best.x, batch[0])


def test_a_told_point_matches_the_pending_one_despite_rounding(opt):
    x = opt.ask()
    opt.tell(x + 1e-13, 1.0)
    assert opt.pending == []
    opt.tell(x, 2.0)  # a second time: a repeat, never asked
    assert len(opt.history) == 2


def test_failures(opt):
    opt.tell_failed(opt.ask(), error="boom", seconds=1.5)
    opt.tell(opt.ask(), math.nan)
    opt.tell(opt.ask(), math.inf)
    assert [t.state for t in opt.history] == ["failed"] * 3
    assert opt.history[0].error == "boom"
    assert opt.history[0].seconds == 1.5
    assert opt.history[0].y is None
    assert opt.best.n_failed == 3


def test_constraints():
    opt = wo.Optimizer(BOX, method="random", n_constraints=2, seed=0)
    opt.tell(opt.ask(), 0.0, [1, -1])
    assert not opt.best.feasible
    opt.tell(opt.ask(), 5.0, np.array([-1, 0]))
    assert opt.best.feasible
    assert (opt.best.fun, opt.best.constraints) == (5.0, [-1.0, 0.0])
    opt.tell(opt.ask(), 5.0, [math.inf, 0])
    assert opt.history[-1].state == "failed"


def test_what_is_handed_out_is_a_copy(opt):
    x = opt.ask()
    opt.tell(x, 1.0)
    before = json.dumps(opt.state_dict())
    x[:] = 0.123
    opt.best.x[:] = 0.456
    opt.best.history.clear()
    assert json.dumps(opt.state_dict()) == before


def test_what_is_told_is_copied(opt):
    x = np.array([0.5, 0.5])
    opt.tell(x, 1.0)
    x[:] = 9
    assert list(opt.best.x) == [0.5, 0.5]


def test_without_a_seed_every_optimizer_differs():
    first, second = (wo.Optimizer(BOX, method="random") for _ in range(2))
    assert first.seed != second.seed
    again = wo.Optimizer(BOX, method="random", seed=first.seed)
    assert list(again.ask()) == list(first.ask())


def test_the_budget_does_not_move_the_design():
    short = wo.Optimizer(BOX, seed=0, n_evals=10)
    long = wo.Optimizer(BOX, seed=0, n_evals=1000)
    assert np.array_equal(short.ask(5), long.ask(5))


@pytest.mark.parametrize(
    ("n_evals", "n_init"), [(None, 16), (48, 16), (47, 15), (24, 8), (9, 5), (1, 5)]
)
def test_of_a_small_budget_the_design_takes_a_third(n_evals, n_init):
    assert wo.Optimizer([(0, 1)] * 8, n_evals=n_evals).n_init == n_init


def test_a_small_budget_is_not_all_design():
    first, second = (wo.Optimizer([(0, 1)] * 8, seed=0, n_evals=n) for n in (10, 30))
    for opt in (first, second):
        for x in opt.ask(5):
            opt.tell(x, float(x.sum()))
    assert not np.array_equal(first.ask(), second.ask())


def test_a_batch_is_as_the_points_one_by_one(opt):
    other = wo.Optimizer(BOX, method="random", seed=0)
    assert np.array_equal(opt.ask(9), [other.ask() for _ in range(9)])


def test_the_design_has_no_repeats_in_a_small_space():
    space = {"a": wo.Integer(0, 2), "b": wo.Categorical(["x", "y", "z"])}
    for method in ("random", "gp-ei"):
        opt = wo.Optimizer(space, method=method, seed=0, options={"n_init": 9})
        assert len({repr(x) for x in opt.ask(9)}) == 9
        with pytest.warns(wo.WideoptWarning, match="All 9 configs"):
            assert opt.ask() in opt.pending[:9]  # exhausted: one comes again


@pytest.mark.parametrize("seed", [0, 2**31, 2**63, 10**30])
def test_large_seeds(seed):
    opt = wo.Optimizer(BOX, method="random", seed=seed)
    text = json.dumps(opt.state_dict())
    other = wo.Optimizer.from_state_dict(json.loads(text))
    assert np.array_equal(opt.ask(7), other.ask(7))


def test_state_of_mixed_configs_is_json():
    space = [wo.Integer(1, 5), wo.Categorical(["a", None, True]), (0, 1)]
    opt = wo.Optimizer(space, method="random", seed=0)
    opt.tell(np.array([2, None, 0.5], dtype=object), np.float32(1), seconds=0.1)
    opt.ask(2)
    state = json.loads(json.dumps(opt.state_dict(), allow_nan=False))
    other = wo.Optimizer.from_state_dict(state)
    assert other.state_dict() == opt.state_dict()
    assert list(other.history[0].x) == [2, None, 0.5]


@pytest.mark.parametrize("state", [{}, {"format": 99}, 3, None])
@pytest.mark.usefixtures("unchecked")
def test_not_a_state(state):
    with pytest.raises(wo.InputError, match="not the state of a wideopt optimizer"):
        wo.Optimizer.from_state_dict(state)


@pytest.mark.parametrize("n", [0, -1, 2.0, "3", True])
@pytest.mark.usefixtures("unchecked")
def test_a_wrong_count(opt, n):
    with pytest.raises(wo.InputError, match=f"but got {n!r}"):
        opt.ask(n)
    assert opt.n_asked == 0


@pytest.mark.parametrize(
    ("x", "y", "c"),
    [
        ([2, 0], 1.0, None),
        ([0.5], 1.0, None),
        ({"a": 1}, 1.0, None),
        ([0.5, 0.5], "1", None),
        ([0.5, 0.5], None, None),
        ([0.5, 0.5], 1.0, [1.0]),
        ([math.nan, 0.5], 1.0, None),
    ],
)
def test_a_bad_tell_stores_nothing(opt, x, y, c):
    opt.ask()
    before = opt.state_dict()
    with pytest.raises(wo.InputError):
        opt.tell(x, y, c)
    with pytest.raises(wo.InputError):
        opt.tell_failed([5, 5])
    assert opt.state_dict() == before


def test_a_small_space_that_is_used_up_says_so():
    opt = wo.Optimizer([wo.Categorical(["a", "b", "c"])], method="random", seed=0)
    for _ in range(3):
        opt.tell(opt.ask(), 1.0)

    with pytest.warns(wo.WideoptWarning, match="All 3 configs"):
        again = opt.ask()
    assert again[0] in "abc"
    opt.tell(again, 1.0)
    opt.ask()  # says it once
