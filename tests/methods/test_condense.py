"""A bounded data set: what is kept, when, and that a run goes on as before."""

import math

import numpy as np
import torch

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods.condense import condensed, telling
from wideopt.search.design import sobol_points


def data_of(n, space=None):
    X = sobol_points(2, n, seed=0).numpy()
    y = ((X - 0.3) ** 2).sum(axis=1)
    observed = [
        (x, Trial(x, float(v), (), "complete")) for x, v in zip(X, y, strict=True)
    ]
    return Dataset.of(space or wo.Space([(0, 1)] * 2), observed, [], 0)


def test_the_best_the_nearest_and_far_ones_are_kept():
    data = data_of(400)
    rows = telling(data, 90)
    kept = data.selected(rows)

    assert len(rows) == len(set(rows.tolist())) == 90
    assert bool((rows.diff() > 0).all())
    best = data.Y[:, 0].argsort()[:30]
    assert set(best.tolist()) <= set(rows.tolist())
    # no point of the space is far from what is kept
    gaps = torch.cdist(data.X, kept.X).min(dim=1).values
    assert float(gaps.max()) < 0.2


def test_few_data_and_finite_spaces_are_left_alone():
    data = data_of(100)
    assert condensed(data, {}, 90) == (data, {})
    finite = wo.Space([wo.Integer(0, 99), wo.Integer(0, 99)])
    data = data_of(400, finite)
    assert condensed(data, {}, 90)[0] is data


def test_new_rows_are_seen_until_the_next_choice():
    state = {"fitted_at": 390, "searched_at": 300, "hyper": {}}
    seen, state = condensed(data_of(400), state, 100)
    assert (seen.n, state["fitted_at"], state["condensed_at"]) == (100, 100, 400)
    more, again = condensed(data_of(420), state, 100)
    assert again is state
    assert torch.equal(more.X[:100], seen.X)
    assert torch.equal(more.X[100:], data_of(420).X[400:])
    _, later = condensed(data_of(426), state, 100)
    assert later["condensed_at"] == 426


def test_a_restored_run_goes_on_as_the_unbroken_one(monkeypatch):
    from wideopt.methods import neural_bo

    monkeypatch.setattr(
        neural_bo, "condensed", lambda data, state: condensed(data, state, 16)
    )

    def fun(x):
        return float(np.sin(5 * x[0]) + (x[1] - 0.4) ** 2)

    opt = wo.Optimizer([(0, 1)] * 2, method="neural-bo", seed=0)
    for _ in range(24):
        x = opt.ask()
        opt.tell(x, fun(x))
    again = wo.Optimizer.from_state_dict(opt.state_dict())
    for _ in range(2):
        x, other = opt.ask(), again.ask()
        assert np.array_equal(x, other)
        opt.tell(x, fun(x))
        again.tell(other, fun(other))
    assert math.isfinite(opt.best.fun)
    assert opt.best.fun < -0.99
