import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.data.robust import robust_constraint, robust_objective

SPACE = wo.Space([(0, 1)])
NAN = math.nan

floats = st.floats(-1e308, 1e308).map(lambda y: 0.0 if abs(y) < 1e-300 else y)
columns = st.lists(floats, min_size=1, max_size=12)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def dataset(rows, pending=(), n_constraints=0):
    observed = [
        (
            np.array([u]),
            Trial(np.array([u]), y, c, "failed" if y is None else "complete"),
        )
        for u, y, c in rows
    ]
    return Dataset.of(SPACE, observed, [np.array([u]) for u in pending], n_constraints)


@given(columns)
def testrobust_objective_is_finite_and_keeps_the_order(values):
    y = tensor(values)
    z = robust_objective(y)
    assert bool(z.isfinite().all())
    order = y.argsort()
    assert bool((z[order].diff() >= 0).all())


@given(columns)
def testrobust_constraint_keeps_sign_and_order(values):
    c = tensor(values)
    z = robust_constraint(c)
    assert bool(z.isfinite().all())
    assert bool((z.sign() == c.sign()).all())
    order = c.argsort()
    assert bool((z[order].diff() >= 0).all())


@given(
    st.lists(st.floats(-10, 10), min_size=6, max_size=12),
    st.sampled_from([1e12, 1e15, 1e30, 1e300, -1e12]),
)
def test_one_wild_value_does_not_spoil_the_rest(values, wild):
    y = tensor(values)
    assume(y.unique().numel() == y.numel())
    assume((y.quantile(0.75) - y.quantile(0.25)) > 0.5)
    z = robust_objective(torch.cat([y, tensor([wild])]))
    assert z.abs().max() <= 30
    assert z[:-1].std() > 1e-2 * y.std() / 20
    again = robust_constraint(torch.cat([y, tensor([wild])]))
    assert again.abs().max() <= 30


def test_ties_and_one_wild_value():
    z = robust_objective(tensor([0.0] * 7 + [1.0, 2.0, 1e12]))
    assert z[7] - z[0] > 0.1
    assert z[8] > z[7]


@pytest.mark.parametrize("value", [0.0, 3.0, -1e300, 1e-300])
def test_constants(value):
    assert robust_objective(tensor([value] * 4)).tolist() == [0.0] * 4
    assert robust_constraint(tensor([0.0] * 4)).tolist() == [0.0] * 4


def test_missing_values_stay_missing():
    z = robust_objective(tensor([1.0, NAN, 2.0]))
    assert z.isnan().tolist() == [False, True, False]


def test_equal_rows_count_once_unequal_outcomes_stay():
    data = dataset([(0.5, 1.0, None), (0.5, 1.0, None), (0.5, 1.1, None)])
    assert data.n == 2
    assert data.Y[:, 0].tolist() == [1.0, 1.1]


def test_failures_become_a_constraint():
    data = dataset([(0.1, 1.0, None), (0.9, None, None), (0.2, 2.0, None)])
    assert data.is_failed.tolist() == [False, True, False]
    assert data.n_complete == 2
    assert data.Z.shape == (3, 2)
    # Signed distances to the other kind, -0.8, 0.7, -0.7, by their median magnitude.
    assert data.Z[:, 1].tolist() == pytest.approx([-8 / 7, 1, -1])
    assert data.Z[1, 0].isnan()


def test_a_point_that_failed_and_succeeded_is_on_the_edge():
    rows = [(0.5, 1.0, None), (0.5, None, None), (0.9, 1.0, None), (0.1, None, None)]
    assert dataset(rows).Z[:, 1].tolist() == [0, 0, -1, 1]


def test_all_failed():
    assert dataset([(0.1, None, None), (0.2, None, None)]).Z[:, 1].tolist() == [1, 1]


def test_feasibility_is_judged_on_raw_values():
    rows = [(0.1, 1.0, (0.0,)), (0.2, 1.0, (1e-300,)), (0.3, 1.0, (NAN,))]
    data = dataset(rows, n_constraints=1)
    assert data.is_feasible.tolist() == [True, False, False]


def test_a_constraint_never_known_has_no_column():
    data = dataset([(0.1, 1.0, (NAN, -1.0))], n_constraints=2)
    assert data.Z.shape == (1, 2)


def test_pending():
    data = dataset([(0.1, 1.0, None)], pending=[0.5, 0.6])
    assert data.X_pending.shape == (2, 1)
    more = data.with_pending(tensor([[0.7]]))
    assert more.X_pending[:, 0].tolist() == [0.5, 0.6, 0.7]
    assert data.X_pending.shape == (2, 1)


def test_empty():
    data = dataset([])
    assert (data.n, data.n_dims, data.n_complete) == (0, 1, 0)


def test_many_wild_values_do_not_make_the_others_equal():
    good = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    z = robust_objective(tensor([*good, 1e12, 2e12, 3e12]))
    assert bool((z[:6].diff() > 0.1).all())
    assert bool((z[6:] > z[5]).all())
    assert bool((z[6:] < 20).all())
