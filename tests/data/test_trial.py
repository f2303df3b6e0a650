import json
import math

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.data import Trial, best_trial, check_outcome


def trial(y, c=None, state="complete"):
    return Trial(np.zeros(1), y, c, state)


@pytest.mark.parametrize(
    ("c", "is_feasible"),
    [
        (None, True),
        ((0.0, -1.0), True),
        ((1e-9, -1.0), False),
        ((math.nan, -1.0), False),
    ],
)
def test_feasible(c, is_feasible):
    assert trial(1.0, c).is_feasible is is_feasible


def test_the_unfinished_are_not_feasible():
    assert not trial(None, state="failed").is_feasible
    assert not trial(None, state="pending").is_feasible


def test_best_is_the_best_feasible():
    trials = [trial(0.0, (1.0,)), trial(2.0, (-1.0,)), trial(1.0, (-9.0,))]
    assert best_trial(trials) is trials[2]
    assert best_trial([]) is None
    assert best_trial([trial(None, state="failed")]) is None


def test_else_the_least_infeasible_on_each_constraints_own_scale():
    small = trial(1.0, (2e-3, 1e6))
    large = trial(0.0, (1e-3, 4e6))
    assert best_trial([large, small, trial(0.0, (9e-3, 2e6))]) is small
    assert best_trial([trial(0.0, (math.nan, 1e6)), small]) is small


def test_best_with_no_constraint_known():
    assert best_trial([trial(0.0, (math.nan,))]) is not None


def test_json():
    one = Trial(np.ones(1), 1.0, (math.nan, -1.0), "complete", 0.5)
    text = json.dumps(one.to_json([1.0]), allow_nan=False)
    again = Trial.from_json(json.loads(text), np.ones(1))
    assert repr(again) == repr(one)


@pytest.mark.parametrize(
    "y", [1, 1.0, np.float32(1), np.array(1.0), np.array([1]), torch.tensor([[1.0]])]
)
def test_numbers_of_all_kinds(y):
    assert check_outcome(y, None, 0) == (1.0, None)


@pytest.mark.parametrize(
    "c", [[1, 2], (1.0, 2.0), np.array([1, 2]), torch.tensor([1.0, 2.0])]
)
def test_constraints_of_all_kinds(c):
    assert check_outcome(0.0, c, 2) == (0.0, (1.0, 2.0))
    assert check_outcome(0.0, c, None) == (0.0, (1.0, 2.0))


@pytest.mark.parametrize("c", [1, 1.0, np.array(1.0), torch.tensor(1.0), np.int64(1)])
def test_a_single_constraint_needs_no_list(c):
    assert check_outcome(0.0, c, 1) == (0.0, (1.0,))


def test_a_failure_needs_no_constraints():
    y, c = check_outcome(math.nan, None, 2)
    assert math.isnan(y)
    assert c is None
    with pytest.raises(wo.InputError, match="Expected 2"):
        check_outcome(math.nan, [1.0], 2)


@pytest.mark.parametrize("y", [None, "1", True, 1j, [1.0], np.array([]), np.zeros(2)])
def test_not_a_number(y):
    with pytest.raises(wo.InputError, match="The objective must be a number, but got"):
        check_outcome(y, None, 0)
