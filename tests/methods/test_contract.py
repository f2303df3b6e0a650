"""What every method promises, on every small problem. A new method joins by its name.

A suggestion of a model costs a fit, so data are told rather than asked where that is
the same.
"""

import itertools
import json
import math

import numpy as np
import pytest

import wideopt as wo
from tests.methods.contract_problems import (
    BANDITS,
    PROBLEMS,
    WIDE,
    optimizer,
    same,
    tell,
    walk,
)
from wideopt.methods import catalog

METHODS = list(wo.methods())


def _marked(names):
    """Of methods that share a class the first; the others are slow, `auto` too."""
    seen = set()
    for name in names:
        path = catalog._CATALOG[name].path
        is_known = path in seen or name == "auto"
        seen.add(path)
        yield pytest.param(name, marks=pytest.mark.slow if is_known else ())


@pytest.fixture(params=_marked(METHODS))
def method(request):
    return request.param


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.slow if name == "auto" else ())
        for name in METHODS
    ]
)
def every_method(request):
    return request.param


@pytest.fixture
def explorer(method):
    """A method that does not come back to a config; a bandit does, by design."""
    if method in BANDITS:
        pytest.skip("a bandit repeats the arms that pay")
    return method


def _short(*names):
    """All problems, of which these are not slow."""
    for name in PROBLEMS:
        yield pytest.param(name, marks=() if name in names else pytest.mark.slow)


@pytest.fixture(params=_short("mixed"))
def problem(request):
    return PROBLEMS[request.param]


@pytest.fixture(params=_short("mixed"))
def a_problem(request):
    return PROBLEMS[request.param]


@pytest.fixture
def ring():
    return PROBLEMS["constrained"]


def restored(opt):
    text = json.dumps(opt.state_dict(), allow_nan=False)
    # what JSON cannot hold is given again
    return wo.Optimizer.from_state_dict(json.loads(text), opt.object_options)


def fed(method, problem, outcome, n=5):
    """An optimizer that was told n points of its own design."""
    opt = optimizer(method, problem, options={"n_init": n})
    for i, x in enumerate(opt.ask(n)):
        opt.tell(x, *outcome(i, x))
    return opt


def test_walk(every_method, problem):
    method = every_method
    opt = optimizer(method, problem)
    points = walk(opt, problem, 5)
    space = wo.Space(problem.space)
    for x in points:
        space.values(x)  # raises if illegal
        assert isinstance(x, dict) == space.is_named
    assert (opt.n_asked, opt.best.n_evals) == (5, 5)

    # The same seed gives the same points, another gives others.
    assert same(walk(optimizer(method, problem), problem, 4), points[:4])
    assert not same(optimizer(method, problem, seed=2).ask(3), points[:3])

    # Restored, with a point pending, it goes on bit for bit.
    opt.ask()
    copy = restored(opt)
    assert copy.state_dict() == opt.state_dict()
    assert same(walk(copy, problem, 1), walk(opt, problem, 1))
    assert copy.state_dict() == opt.state_dict()


def test_restored_after_every_step_equals_unbroken(method):
    problem = PROBLEMS["mixed"]
    unbroken = walk(optimizer(method, problem), problem, 5)
    opt, points = optimizer(method, problem), []
    for _ in range(5):
        points += walk(opt, problem, 1)
        opt = restored(opt)
    assert same(points, unbroken)


def test_pending_points_are_not_suggested_twice(explorer, a_problem):
    opt = optimizer(explorer, a_problem)
    walk(opt, a_problem, 3)
    batch = opt.ask(3)
    assert len(batch) == 3
    batch.append(opt.ask())
    assert len({repr(x) for x in batch}) == 4
    assert same(opt.pending, batch)


def test_a_tiny_space_is_exhausted_before_a_config_repeats(explorer):
    problem = PROBLEMS["discrete"]
    opt = optimizer(explorer, problem)
    points = walk(opt, problem, 9)
    assert len({repr(x) for x in points[:8]}) == 8
    assert list(opt.best.x) == [1, "a"]


@pytest.mark.parametrize("name", ["constrained", "mixed"])
def test_failures_are_survived(method, name):
    problem = PROBLEMS[name]
    opt = optimizer(method, problem)
    for i in range(5):
        x = opt.ask()
        if i % 2:
            opt.tell_failed(x, error="crashed")
        else:
            tell(opt, problem, x)
    assert opt.best.n_failed == 2
    opt.ask()


def test_all_failed(method, a_problem):
    opt = optimizer(method, a_problem)
    asked = []
    for _ in range(5):
        asked.append(opt.ask())
        opt.tell_failed(asked[-1])
    assert len({repr(x) for x in asked}) == 5
    assert opt.best.x is None
    walk(opt, a_problem, 2)
    assert opt.best.x is not None


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(lambda i, x: (3.0, [-1.0, -1.0]), id="constant"),
        pytest.param(lambda i, x: (x[0], [1.0, 2.0 + x[0]]), id="all infeasible"),
        pytest.param(lambda i, x: (x[0], [0.0, 0.0]), id="constraints zero"),
        pytest.param(lambda i, x: (x[0] * 1e300, [1e300, -1e-300]), id="huge"),
        pytest.param(lambda i, x: (x[0] * 1e-300, [-1e-300, x[0]]), id="tiny"),
        pytest.param(lambda i, x: (1e15 + x[0], [-1e9, 1e9 * x[0]]), id="offset"),
        pytest.param(lambda i, x: (1e12 if i == 3 else x[0], [-1, -1]), id="wild"),
        pytest.param(
            lambda i, x: (x[0], [-1, math.nan if i % 2 else -1]), id="NaN constraint"
        ),
        pytest.param(lambda i, x: (x[0], [math.nan] * 2), id="constraint never known"),
    ],
)
def test_awkward_outcomes(method, ring, outcome):
    opt = fed(method, ring, outcome)
    x = opt.ask()
    opt.tell(x, *outcome(9, x))
    assert opt.best.n_evals == 6


def test_a_value_may_be_missing_for_the_first_time_between_two_fits(method, ring):
    points = [np.array(x) for x in optimizer("random", ring, seed=5).ask(16)]
    opt = optimizer(method, ring)
    for x in points:
        tell(opt, ring, x)
    # an ask learns at 16, and the next time at 18
    opt.tell(opt.ask(), 1.0, [-1.0, math.nan])
    opt.tell(opt.ask(), 1.0, [math.nan, -1.0])
    opt.ask()
    assert opt.best.n_evals == 18


def test_pending_points_under_constraints(method, ring):
    opt = optimizer(method, ring)
    for x in optimizer("random", ring, seed=5).ask(8):
        tell(opt, ring, x)
    points = [opt.ask() for _ in range(6)]  # a draw is made in three of ten
    assert not any(same([x], [y]) for x, y in itertools.combinations(points, 2))


def test_points_never_asked_are_welcome(explorer, a_problem):
    opt = optimizer(explorer, a_problem)
    told = optimizer("random", a_problem, seed=9).ask(5)
    for x in told:
        tell(opt, a_problem, x)
    assert (opt.n_asked, opt.best.n_evals) == (0, 5)
    new = opt.ask()
    assert not any(same([new], [x]) for x in told)


def test_one_initial_point_is_enough(method):
    for problem in (PROBLEMS["constrained"], PROBLEMS["mixed"]):
        walk(optimizer(method, problem, options={"n_init": 1}), problem, 2)


def test_a_repeated_point_with_other_outcomes_is_noise(method):
    opt = optimizer(method, PROBLEMS["continuous"])
    for y in (1.0, 1.1, 0.9, 1.0, 1.0):
        opt.tell([0.5, 0.5], y)
    assert list(opt.ask()) != [0.5, 0.5]
    assert opt.best.n_evals == 5


def test_many_dimensions(method):
    x = walk(optimizer(method, WIDE), WIDE, 4)[-1]
    assert x.shape == (50,)
    assert np.all(np.abs(x) <= 1)


def test_bad_outcomes_store_nothing(method, ring):
    opt = optimizer(method, ring)
    x = opt.ask()
    before = opt.state_dict()
    for y, c in [("a", [0, 0]), (1, [0]), (1, None), (1, [0, "b"]), (None, [0, 0])]:
        with pytest.raises(wo.InputError):
            opt.tell(x, y, c)
    with pytest.raises(wo.InputError):
        opt.tell([2.0, 0.0], 1.0, [0, 0])
    assert opt.state_dict() == before
