"""SCBO: its transforms, its order of candidates, and its region."""

import json
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from scipy.stats import norm, rankdata

import wideopt as wo
from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods.scbo import SCBO, bilog, copula, ranked

NAN = float("nan")


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_copula_gives_normal_scores():
    y = [3.0, -1.0, 1e9, 3.0, 0.5]
    expected = norm.ppf(rankdata(y) / 6)
    assert copula(tensor(*y)).numpy() == pytest.approx(expected)


def test_copula_ignores_scale_and_what_is_missing():
    y = tensor(2.0, NAN, 1.0, 5.0)
    scores = copula(y)
    assert torch.equal(scores.isnan(), y.isnan())
    assert torch.allclose(scores, copula(y.exp()), equal_nan=True)
    assert float(copula(tensor(7.0))) == 0.0


def test_bilog_is_odd_and_keeps_signs_and_order():
    c = tensor(-1e9, -2.0, -1e-12, 0.0, 1e-12, 2.0, 1e9)
    out = bilog(c)
    assert torch.equal(out.sign(), c.sign())
    assert torch.allclose(out, -bilog(-c))
    assert bool((out.diff() > 0).all())
    assert float(bilog(tensor(4.0, 4.0, 12.0))[2]) == pytest.approx(np.log(4.0))


@pytest.mark.parametrize("c", [(0.0, 0.0), (NAN, NAN), (1e300, -1e-300, 1e-300)])
def test_bilog_of_awkward_values(c):
    c = tensor(*c)
    assert torch.equal(bilog(c).sign().nan_to_num(9.0), c.sign().nan_to_num(9.0))
    assert not bilog(c).isinf().any()


def drawn(f, *constraints):
    """Drawn functions, by their values."""
    draw = Mock(spec=PenalizedDraw)
    values = torch.stack([tensor(*column) for column in (f, *constraints)], dim=1)
    draw.draw = lambda X: values
    return draw


def order(draw, n):
    values = ranked(draw, torch.zeros(n, 2, dtype=torch.float64))
    return values.argsort(descending=True).tolist()


def test_feasible_candidates_come_first_and_by_objective():
    draw = drawn((5.0, -1.0, 2.0, -9.0), (-1.0, -1.0, 0.0, 0.1), (-1, 0.01, -1, 0.1))
    assert order(draw, 4) == [2, 0, 1, 3]


def test_without_feasible_candidates_the_least_total_violation_wins():
    draw = drawn((0.0, -5.0, 1.0), (1.0, 3.0, -1.0), (1.0, -9.0, 1.5))
    assert order(draw, 3) == [2, 0, 1]


def test_without_constraints_the_objective_decides():
    assert order(drawn((3.0, 1.0, 2.0)), 3) == [1, 2, 0]


def data_of(rows):
    space = wo.Space([(0, 1), (0, 1)])
    return Dataset.of(
        space, [(np.array(x), Trial(np.array(x), y, c)) for x, y, c in rows], [], 1
    )


ROWS = [
    ((0.1, 0.1), -9.0, (3.0,)),
    ((0.8, 0.3), 2.0, (0.5,)),
    ((0.4, 0.9), 1.0, (2.0,)),
    ((0.6, 0.6), 0.0, (4.0,)),
]


@pytest.mark.parametrize(
    ("extra", "center"),
    [
        ([], (0.8, 0.3)),  # nothing is feasible: least violation
        ([((0.2, 0.7), 9.0, (-1.0,))], (0.2, 0.7)),  # feasible, however bad
    ],
)
def test_points_lie_in_a_cube_around_the_best(extra, center):
    method = SCBO(length=0.2, n_candidates=64)
    generator = torch.Generator().manual_seed(0)
    points, state = method.propose(data_of(ROWS + extra), 3, {}, generator)
    assert json.loads(json.dumps(state))["center"] == pytest.approx(center)
    assert (points - tensor(*center)).abs().max() <= 0.1 + 1e-12


def test_less_violation_is_a_success_and_collapse_a_restart():
    method = SCBO(length=0.2, length_min=0.15, n_failure=1, n_candidates=16)
    generator = torch.Generator().manual_seed(0)
    _, state = method.propose(data_of(ROWS), 1, {}, generator)
    rows = [*ROWS, ((0.75, 0.3), 99.0, (0.4,))]
    _, state = method.propose(data_of(rows), 1, state, generator)
    assert (state["length"], state["successes"]) == (0.2, 1)
    rows = [*rows, ((0.7, 0.3), -99.0, (0.6,))]
    points, state = method.propose(data_of(rows), 2, state, generator)
    assert (state["restart"], state["length"], state["begin"]) == (1, 0.2, 6)
    assert points.shape == (2, 2)


@pytest.mark.parametrize(
    "options", [{"length": 2.0}, {"length_min": 0.9}, {"n_success": 0}]
)
def test_bad_options(options):
    with pytest.raises(wo.InputError, match=next(iter(options))):
        SCBO(**options)
