"""What every method promises, on every small problem. A new method joins by its name."""

import json
import math

import numpy as np
import pytest

import wideopt as wo
from tests.methods.contract_problems import PROBLEMS, optimizer, same, tell, walk

METHODS = list(wo.methods())


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


@pytest.fixture
def ring():
    return PROBLEMS["constrained"]


def restored(opt):
    return wo.Optimizer.from_state_dict(json.loads(_strict_json(opt.state_dict())))


def _strict_json(state):
    return json.dumps(state, allow_nan=False)


def test_points_are_legal_and_of_the_users_form(method, problem):
    opt = optimizer(method, problem)
    points = walk(opt, problem, 6)
    space = wo.Space(problem.space)
    for x in points:
        space.values(x)  # raises if illegal
        assert isinstance(x, dict) == space.is_named
        assert len(x) == len(space)
    assert opt.n_asked == 6
    assert opt.best.n_evals == 6


def test_same_seed_same_points_other_seed_other_points(method, problem):
    first = walk(optimizer(method, problem), problem, 6)
    assert same(first, walk(optimizer(method, problem), problem, 6))
    assert not same(first, walk(optimizer(method, problem, seed=2), problem, 6))


def test_restored_equals_unbroken(method, problem):
    opt = optimizer(method, problem)
    walk(opt, problem, 5)
    opt.ask()  # is pending in both
    copy = restored(opt)
    assert copy.state_dict() == opt.state_dict()
    assert same(walk(opt, problem, 2), walk(copy, problem, 2))
    assert copy.state_dict() == opt.state_dict()


def test_restored_at_every_step_equals_unbroken(method):
    problem = PROBLEMS["mixed"]
    unbroken = walk(optimizer(method, problem), problem, 7)
    opt, points = optimizer(method, problem), []
    for _ in range(7):
        points += walk(opt, problem, 1)
        opt = restored(opt)
    assert same(points, unbroken)


def test_pending_points_are_not_suggested_twice(method, problem):
    opt = optimizer(method, problem)
    walk(opt, problem, 4)
    batch = opt.ask(3)
    assert len(batch) == 3
    batch.append(opt.ask())
    assert len({repr(x) for x in batch}) == 4
    assert same(opt.pending, batch)


def test_a_batch_from_the_start_is_the_design(method, problem):
    opt = optimizer(method, problem)
    batch = opt.ask(4)
    assert len({repr(x) for x in batch}) == 4
    for x in reversed(batch):  # in any order
        tell(opt, problem, x)
    assert opt.pending == []
    walk(opt, problem, 1)


def test_a_tiny_space_is_exhausted_before_a_config_repeats(method):
    problem = PROBLEMS["discrete"]
    opt = optimizer(method, problem)
    points = walk(opt, problem, 10)
    assert len({repr(x) for x in points[:8]}) == 8
    assert list(opt.best.x) == [1, "a"]


def test_failures_are_survived(method, problem):
    opt = optimizer(method, problem)
    for i in range(7):
        x = opt.ask()
        if i % 2:
            opt.tell_failed(x, error="crashed")
        else:
            tell(opt, problem, x)
    assert opt.best.n_failed == 3
    assert same(walk(restored(opt), problem, 1), walk(opt, problem, 1))


@pytest.mark.parametrize("name", ["continuous", "constrained", "mixed"])
def test_all_failed(method, name):
    problem = PROBLEMS[name]
    opt = optimizer(method, problem)
    asked = []
    for _ in range(6):
        asked.append(opt.ask())
        opt.tell_failed(asked[-1])
    assert len({repr(x) for x in asked}) == 6
    assert opt.best.x is None
    walk(opt, problem, 2)
    assert opt.best.x is not None


def test_nan_constraints_are_tolerated(method, ring):
    opt = optimizer(method, ring)
    for i in range(7):
        x = opt.ask()
        y, c = ring.fun(x)
        opt.tell(x, y, [c[0], math.nan] if i % 2 else c)
    assert same([restored(opt).ask()], [opt.ask()])


def test_constraint_never_known(method, ring):
    opt = optimizer(method, ring)
    for _ in range(6):
        opt.tell(opt.ask(), 1.0, [math.nan, math.nan])
    assert not opt.best.feasible


@pytest.mark.parametrize(
    "fun",
    [
        pytest.param(lambda x: (3.0, [-1.0, -1.0]), id="constant"),
        pytest.param(lambda x: (x[0], [1.0, 2.0 + x[0]]), id="all infeasible"),
        pytest.param(lambda x: (x[0], [0.0, 0.0]), id="constraints zero"),
        pytest.param(lambda x: (x[0] * 1e300, [1e300, -1e-300]), id="huge"),
        pytest.param(lambda x: (x[0] * 1e-300, [-1e-300, x[0]]), id="tiny"),
        pytest.param(lambda x: (1e15 + x[0], [-1e9, 1e9 * x[0]]), id="offset"),
    ],
)
def test_awkward_outcomes(method, ring, fun):
    opt = optimizer(method, ring)
    for _ in range(6):
        x = opt.ask()
        opt.tell(x, *fun(x))
    assert same([restored(opt).ask()], [opt.ask()])


def test_one_wild_value_is_survived(method):
    problem = PROBLEMS["continuous"]
    opt = optimizer(method, problem)
    opt.tell([0.5, 0.5], 1e12)
    walk(opt, problem, 6)
    assert opt.best.fun < 1e3


def test_points_never_asked_are_welcome(method, problem):
    opt = optimizer(method, problem)
    donor = optimizer("random", problem, seed=9)
    for x in donor.ask(5):
        tell(opt, problem, x)
    assert opt.n_asked == 0
    assert opt.best.n_evals == 5
    points = walk(opt, problem, 2)
    told = {repr(t.x) for t in opt.history[:5]}
    assert not told & {repr(x) for x in points}


def test_one_initial_point_is_enough(method, problem):
    opt = optimizer(method, problem, options={"n_init": 1})
    walk(opt, problem, 3)


def test_a_repeated_point_with_other_outcomes_is_noise(method):
    problem = PROBLEMS["continuous"]
    opt = optimizer(method, problem)
    for y in (1.0, 1.1, 0.9, 1.0, 1.0):
        opt.tell([0.5, 0.5], y)
    walk(opt, problem, 2)
    assert opt.best.n_evals == 7


def test_many_dimensions(method):
    opt = wo.Optimizer([(-1, 1)] * 50, method=method, seed=0, options={"n_init": 3})
    for _ in range(4):
        x = opt.ask()
        assert np.all(np.abs(x) <= 1)
        opt.tell(x, float(x @ x))


def test_bad_outcomes_store_nothing(method, ring):
    opt = optimizer(method, ring)
    x = opt.ask()
    before = opt.state_dict()
    for y, c in [
        ("a", [0, 0]),
        (1.0, [0]),
        (1.0, None),
        (1.0, [0, "b"]),
        (None, [0, 0]),
    ]:
        with pytest.raises(wo.InputError):
            opt.tell(x, y, c)
    with pytest.raises(wo.InputError):
        opt.tell([2.0, 0.0], 1.0, [0, 0])
    assert opt.state_dict() == before
