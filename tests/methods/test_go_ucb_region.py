"""The region of go-ucb's network: its life, its box, and the steps within it."""

import json

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.acquisition.optimism import Belief
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods.go_ucb_region import region_now, spared
from wideopt.methods.laws import network
from wideopt.numerics.ellipsoid import Ball
from wideopt.search.candidates import snapped

SPACE = wo.Space([wo.Real(0, 1), wo.Integer(0, 100), wo.Categorical(["a", "b", "c"])])


def data_of(values):
    rng = np.random.default_rng(0)
    configs = [(rng.random(), int(rng.integers(101)), "b") for _ in values]
    trials = [
        (SPACE.encode(x), Trial(x, y)) for x, y in zip(configs, values, strict=True)
    ]
    return Dataset.of(SPACE, trials, [], 0)


def belief(n_dims):
    model = network(n_dims, 3, torch.device("cpu")).model
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(model.p, generator=generator, dtype=torch.float64)
    return Belief(model, Ball.around(theta, theta[None, :][:0], 1.0))


def test_the_box_bounds_reals_and_integers_but_no_category():
    data = data_of([1.0, 0.0, 2.0])
    _, limits = region_now(data, {}, 0.1)
    center = data.X[1]
    low, high = limits
    assert float((high - center)[0]) == pytest.approx(0.05)
    assert float((high - low)[1]) <= 0.1
    assert bool(((center >= low) & (center <= high)).all())
    assert low[2:].tolist() == [0.0] * 3
    assert high[2:].tolist() == [1.0] * 3


def test_four_failures_halve_the_region_and_three_successes_double_it():
    values = [1.0]
    state, _ = region_now(data_of(values), {}, None)
    for value, length in ((2, 0.4), (2, 0.4), (2, 0.4), (2, 0.2), (0, 0.2), (-1, 0.2)):
        values.append(float(value))
        state, _ = region_now(data_of(values), json.loads(json.dumps(state)), None)
        assert state["region"][0] == pytest.approx(length)
    state, _ = region_now(data_of([*values, -2.0]), state, None)
    assert state["region"][0] == pytest.approx(0.4)


def test_a_step_is_sparing_only_without_constraints():
    data = data_of([1.0, 0.0, 2.0])
    b = belief(data.n_dims)
    X = torch.rand(200, data.n_dims, generator=torch.Generator().manual_seed(1))
    X = snapped(SPACE, X.double())
    point = X[int(b.bound(X).argmin())]  # promises more than the center
    step, center = spared([b], data, point, 0.2), data.X[1]
    n_moved = sum(not torch.equal(step[s], center[s]) for s in SPACE.slices)
    assert 0 < n_moved < 3
    assert torch.equal(spared([b, b], data, point, 0.2), point)
