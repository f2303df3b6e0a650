"""Neural-CBO: bounds, infeasibility, the paper's form, and what it reaches."""

import math

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.acquisition.bounds import constraint_bounds
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import ModelCache
from wideopt.methods.faithful_neural_cbo import FaithfulNeuralCBO
from wideopt.methods.neural_cbo import NeuralCBO, theoretical_beta
from wideopt.surrogates import Tangent

SPACE = wo.Space([(0, 1), (0, 1)])
QUICK = {"n_candidates": 256, "n_restarts": 1, "activation": "erf"}


def disk(x, center, radius):
    return float(((np.asarray(x) - center) ** 2).sum() - radius**2)


def disks(x):
    return float(x[0]), [disk(x, 0.2, 0.2), disk(x, 0.8, 0.2)]


def data_of(fun, n, n_constraints, seed=0):
    points = np.random.default_rng(seed).random((n, 2))
    outcomes = [(x, *fun(x)) for x in points]
    observed = [(x, Trial(x, y, tuple(c))) for x, y, c in outcomes]
    return Dataset.of(SPACE, observed, [], n_constraints)


def test_needed_is_the_beta_at_which_a_point_comes_within_its_bounds():
    data = data_of(disks, 12, 2)
    model = Tangent(activation="erf").fit(data.X, data.Z)
    X = torch.rand(50, 2, generator=torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        needed = constraint_bounds(model, 0.0).needed(X)
        for x, beta in zip(X, needed.tolist(), strict=True):
            assert constraint_bounds(model, beta + 1e-6).excess(x) == 0
            assert constraint_bounds(model, beta - 1e-6).excess(x) > 0


def test_beta_of_the_lemma():
    expected = 2.0 + 0.5 * math.sqrt(3.0 + 2.0 + 2.0 * math.log(10.0))
    assert theoretical_beta(2.0, 0.5, 0.1, 3.0) == pytest.approx(expected)


def test_faithful_deviation_is_that_of_the_dense_matrix():
    data = data_of(disks, 8, 2)
    paper = FaithfulNeuralCBO(width=6)
    generator = torch.Generator().manual_seed(3)
    model, _ = paper.fitted(data, {}, generator, ModelCache())
    member = model.members[0].base
    X = torch.rand(5, 2, generator=generator, dtype=torch.float64)
    G, g = member.kernel.features(data.X), member.kernel.features(X)
    U = torch.eye(G.shape[-1]) + G.mT @ G
    sigma2 = (g @ torch.linalg.inv(U) * g).sum(-1)
    _, variance = member.marginals(X)
    torch.testing.assert_close(variance, sigma2.expand_as(variance))


def test_faithful_mean_is_one_pass_of_sgd():
    data = data_of(lambda x: (float(x.sum()), []), 6, 0)
    paper = FaithfulNeuralCBO(width=4, depth=1, lr=0.05)
    model, _ = paper.fitted(data, {}, torch.Generator().manual_seed(0), ModelCache())
    posterior = model.members[0]
    network = posterior.network
    theta = [W.clone() for W in posterior.theta_0]
    Z, y = network.scales.embed(data.X), posterior.base.Y
    W, q = theta
    gain = math.sqrt(2.0) / math.sqrt(4.0)
    W = W.reshape(W.shape[-2:]).clone().requires_grad_()
    for z, target in zip(Z.reshape(-1, 3), y.reshape(-1), strict=True):
        h = (q.reshape(1, -1) @ (gain * torch.relu(W @ z))).squeeze()
        (slope,) = torch.autograd.grad(0.5 * (h - target) ** 2, W)
        W = (W - 0.05 * slope).detach().requires_grad_()
    trained = network.weights[0].reshape(W.shape)
    torch.testing.assert_close(trained, W.detach())


def test_an_infeasible_problem_is_recognized_but_not_in_haste():
    method = NeuralCBO(n_candidates=256, n_restarts=1, activation="erf")
    few, many = data_of(disks, 20, 2), data_of(disks, 26, 2)
    for data, is_told in ((few, False), (many, True)):
        points, state = method.propose(data, 1, {}, torch.Generator().manual_seed(0))
        assert points.shape == (1, 2)
        assert ("No point looks feasible" in state.get("message", "")) == is_told


def test_a_message_goes_when_a_feasible_point_is_known():
    data = data_of(lambda x: (float(x[0]), [disk(x, 0.5, 0.4)]), 10, 1)
    method = NeuralCBO(n_candidates=64, n_restarts=1)
    generator = torch.Generator().manual_seed(0)
    _, state = method.propose(data, 1, {"message": "No point."}, generator)
    assert "message" not in state


@pytest.mark.parametrize("factor", [1e-3, pytest.param(1e6, marks=pytest.mark.slow)])
def test_scales_of_constraints_do_not_matter(factor):
    def fun(x):
        c = [1.5 - x[0] - 2 * x[1], x[0] ** 2 + x[1] ** 2 - 1.5]
        return x[0] + x[1], [c[0] * factor, c[1]]

    result = wo.minimize(fun, [(0, 1), (0, 1)], method="neural-cbo", n_evals=20, seed=1)
    assert result.feasible
    assert result.fun < 0.751 + 0.01  # the optimum is 0.75 at (0, 0.75)


def test_a_missing_constraint_value_is_no_obstacle():
    def fun(x):
        c = [1.5 - x[0] - 2 * x[1], x[0] ** 2 + x[1] ** 2 - 1.5]
        return x[0] + x[1], [c[0], math.nan if x[0] > 0.5 else c[1]]

    result = wo.minimize(fun, [(0, 1), (0, 1)], method="neural-cbo", n_evals=20, seed=1)
    assert result.feasible
    assert result.fun < 0.8


@pytest.mark.slow
def test_beats_random_by_far_on_simionescu():
    problem = wo.problems.get("simionescu")
    gaps = [
        wo.minimize(
            problem,
            problem.space,
            method="neural-cbo",
            n_evals=25,
            seed=seed,
            options=QUICK,
        ).fun
        - problem.optimum
        for seed in range(3)
    ]
    assert np.median(gaps) < 3e-3  # random search: about 1e-2 after 100


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"beta": "big"}, "beta"),
        ({"delta": 1.0}, "delta"),
        ({"confidence": -1}, "confidence"),
        ({"lr": 0.1}, "faithful"),
        ({"faithful": True, "n_restarts": 2}, "n_restarts"),
        ({"faithful": True, "lr": 0.0}, "lr"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(InputError, match=words):
        NeuralCBO(**options)


def test_ripples_are_learned_if_asked_for():
    def fun(x):
        ripples = 0.1 * np.cos(50 * np.asarray(x)).sum()
        return float(((x - 0.4) ** 2).sum() + ripples), [disk(x, 0.5, 0.4)]

    data = data_of(fun, 40, 1)
    for has_grain in (False, True):
        method = NeuralCBO(**QUICK, has_grain=has_grain)
        generator = torch.Generator().manual_seed(0)
        points, state = method.propose(data, 2, {}, generator)
        members = state["hyper"]["runs"][0]["members"]
        assert any("grain" in m["hyper"] for m in members) == has_grain
        assert points.shape == (2, 2)
