"""go-ucb's oracle: the choice of λ, and balls that grow row by row."""

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.data.dataset import Dataset
from wideopt.methods.go_ucb_fit import BallCache, Oracle, Output, grown, tuned
from wideopt.methods.laws import network


def test_cached_balls_are_those_of_a_replay():
    space = wo.Space([(0, 1)] * 2)
    X = torch.rand(12, 2, generator=torch.Generator().manual_seed(0)).double()
    y = X.square().sum(1)
    law = network(2, 5, torch.device("cpu"))
    oracle = Oracle(1, (1e-3,))

    def at(n):
        data = Dataset(space, X[:n], y[:n, None], X[:0])
        return data, [Output(law, y[:n], is_objective=True)]

    data, outputs = at(8)
    generator = torch.Generator().manual_seed(1)
    form = oracle.fit(outputs[0], data.X, None, generator)
    state = {"outputs": [form], "fitted_at": 8}
    kept = BallCache()
    for n in range(8, 13):
        data, outputs = at(n)
        (a,) = grown(outputs, data, state, oracle, kept)
        (b,) = grown(outputs, data, state, oracle, BallCache())
        assert torch.equal(a.ball.center, b.ball.center)
        assert torch.equal(a.ball.factor.R, b.ball.factor.R)
    assert len(kept.X) == 12


def test_tuning_agrees_with_leaving_out_one_by_one():
    """PRESS and the scale, for a model that is linear in its parameters."""
    generator = torch.Generator().manual_seed(0)
    law = network(2, 5, torch.device("cpu"))
    U = torch.rand(9, 2, generator=generator, dtype=torch.float64)
    z = torch.randn(9, generator=generator, dtype=torch.float64)
    theta = torch.randn(law.model.p, generator=generator, dtype=torch.float64)
    h, J = law.model.at(theta, U)
    y = z - h + J @ theta
    scores = []
    for lam in (0.01, 1.0, 100.0):
        errors = []
        for i in range(9):
            keep = torch.arange(9) != i
            A, b = J[keep], y[keep]
            K = A @ A.T + lam * torch.eye(8).double()
            errors.append(float(y[i] - J[i] @ A.T @ torch.linalg.solve(K, b)) ** 2)
        scores.append(sum(errors))
    lam, size = tuned(law.model, U, z, theta, (0.01, 1.0, 100.0))
    assert lam == (0.01, 1.0, 100.0)[int(np.argmin(scores))]
    K = J @ J.T + lam * torch.eye(9).double()
    assert size == pytest.approx(float(y @ torch.linalg.solve(K, y)) / 9)


def fitted_to(values, U=None):
    law = network(2, 5, torch.device("cpu"))
    y = torch.tensor(values, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    if U is None:
        U = torch.rand(len(y), 2, generator=generator, dtype=torch.float64)
    output = Output(law, y, is_objective=True)
    return Oracle(1, (1e-3,)).fit(output, U, None, generator)


def test_a_plateau_does_not_make_its_noise_the_scale():
    """Most values are equal up to noise of 0.01; the scale is still that of all."""
    noise = 0.01 * np.random.default_rng(0).normal(size=12)
    values = [0.0, 25.0, 12.0, *noise]
    form = fitted_to(values)
    assert form["spread"] == pytest.approx(np.std(values))
    assert form["shift"] == pytest.approx(np.mean(values))


@pytest.mark.parametrize("values", [[1e300, -1e300, 0.0], [2.0, 2.0], [1e-320, 0.0]])
def test_any_finite_values_have_a_scale(values):
    form = fitted_to(values)
    assert 0 < form["spread"] < np.inf
    assert np.isfinite(form["theta"]).all()
