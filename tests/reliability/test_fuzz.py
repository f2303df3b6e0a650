"""Whatever is given: a result, or a `WideoptError`; never another traceback.

About a hundred cases in `make test`, two thousand in `make test-all`.
"""

import math
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import wideopt as wo

pytestmark = pytest.mark.usefixtures("unchecked")

NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from([0, 1, -1, 1e-300, 1e300, 0.1, True, None, "1", math.inf]),
)
SENSIBLE = st.floats(-1e6, 1e6)
BOUNDS = st.one_of(
    st.tuples(NUMBERS, NUMBERS),
    st.tuples(SENSIBLE, SENSIBLE).map(lambda b: (min(b), max(b) + 1)),
)
PARAMETERS = st.one_of(
    BOUNDS,
    BOUNDS.map(lambda b: ("real", *b)),
    BOUNDS.map(lambda b: ("integer", *b)),
    st.lists(
        st.one_of(st.text(max_size=3), NUMBERS, st.none(), st.booleans()), max_size=4
    ).map(lambda c: ("categorical", c)),
)
SPACES = st.one_of(
    st.lists(PARAMETERS, max_size=3),
    st.dictionaries(st.text(max_size=3), PARAMETERS, max_size=3),
    st.sampled_from([None, 3, "ab", [[]], [()], {"a": None}]),
)
VALUES = st.one_of(
    SENSIBLE,
    NUMBERS,
    st.just(RuntimeError("boom")),
    st.tuples(st.one_of(SENSIBLE, NUMBERS), st.lists(NUMBERS, max_size=2)),
    st.sampled_from([np.zeros(2), [], {}, (1.0,), np.float32(2), 10**400, -1e12, 1e12]),
)
METHODS = ["random", "random", "gp-ei", "turbo", "forest-ei", "nonsense"]
KINDS = ("real", "integer", "categorical")


def made(item, is_log):
    """A parameter of a description; what it raises is part of the test."""
    if not isinstance(item, tuple) or not item or item[0] not in KINDS:
        return item
    kind, *rest = item
    if kind == "categorical":
        return wo.Categorical(*rest)
    return (wo.Real if kind == "real" else wo.Integer)(*rest, log=is_log)


def space_of(items, is_log):
    if isinstance(items, dict):
        return {name: made(item, is_log) for name, item in items.items()}
    return [made(item, is_log) for item in items] if isinstance(items, list) else items


class Replayed:
    """A function that returns one value after the other."""

    def __init__(self, values):
        self.values, self.calls = values, 0

    def __call__(self, _):
        value = self.values[self.calls % len(self.values)]
        self.calls += 1
        if isinstance(value, Exception):
            raise value
        return value


def attempt(items, is_log, values, method, n_evals, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wo.WideoptWarning)
        try:
            result = wo.minimize(
                Replayed(values),
                space_of(items, is_log),
                method=method,
                n_evals=n_evals,
                seed=seed,
                n_init=3,
            )
        except wo.WideoptError as error:
            assert str(error)  # noqa: PT017 (it need not be raised)
            return
    assert 1 <= result.n_evals <= n_evals
    assert repr(result)
    for trial in result.history:
        assert trial.state in ("complete", "failed")
        assert trial.y is None or math.isfinite(trial.y)


def cases(*methods):
    return given(
        SPACES,
        st.booleans(),
        st.lists(VALUES, min_size=1, max_size=6),
        st.sampled_from(methods),
        st.integers(1, 5),
        st.integers(0, 3),
    )


CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@settings(max_examples=100, derandomize=True, suppress_health_check=CHECKS)
@cases(*METHODS)
def test_a_hundred_cases(items, is_log, values, method, n_evals, seed):
    attempt(items, is_log, values, method, n_evals, seed)


@pytest.mark.slow
@settings(max_examples=2000, suppress_health_check=CHECKS)
@cases("auto", "auto", *METHODS)
def test_two_thousand_cases(items, is_log, values, method, n_evals, seed):
    attempt(items, is_log, values, method, n_evals, seed)


@settings(max_examples=60, derandomize=True, suppress_health_check=CHECKS)
@given(st.lists(st.tuples(SENSIBLE, VALUES), max_size=6), st.data())
def test_ask_and_tell(told, data):
    """Tells of anything, asked or not, in any order; and the state goes on."""
    optimizer = wo.Optimizer([(-10, 10)], method="random", seed=0)
    for x, y in told:
        point = optimizer.ask() if data.draw(st.booleans()) else [x]
        try:
            if isinstance(y, Exception):
                optimizer.tell_failed(point, error=str(y))
            else:
                optimizer.tell(point, y)
        except wo.WideoptError as error:
            assert str(error)  # noqa: PT017
    again = wo.Optimizer.from_state_dict(optimizer.state_dict())
    assert list(optimizer.ask()) == list(again.ask())
