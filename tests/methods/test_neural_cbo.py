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


def printed(weights, x):
    """Eq. 1, literally: q'/√m D W² / √m D W¹ x."""
    first, second, q = (W.reshape(W.shape[-2:]) for W in weights)
    m = first.shape[0]
    h = torch.relu(first @ x) / math.sqrt(m)
    h = torch.relu(second @ h) / math.sqrt(m)
    return (q @ h).squeeze()


def test_theory_has_the_information_gain_of_the_data():
    data = data_of(disks, 12, 2)
    generator = torch.Generator().manual_seed(0)
    method = NeuralCBO(faithful=True, beta="theory", B=1.5, R=0.3, delta=0.2, width=8)
    model, _ = method._paper().fitted(data, {}, generator, ModelCache())
    G = model.members[0].base.kernel.features(data.X)
    gain = 0.5 * torch.logdet(torch.eye(12) + G @ G.mT).max()
    expected = theoretical_beta(1.5, 0.3, 0.2, float(gain))
    assert method._beta(model, generator) == pytest.approx(expected)


def test_theory_grows_with_the_data():
    method = NeuralCBO(beta="theory", activation="erf", R=0.3)
    generator = torch.Generator().manual_seed(0)
    betas = []
    for n in (6, 24):
        data = data_of(disks, n, 2)
        model = method._surrogate().fit(data.X, data.Z)
        betas.append(method._beta(model, generator))
        assert betas[-1] == pytest.approx(
            theoretical_beta(1.0, 0.3, 0.1, float(model.information_gain.max()))
        )
    assert betas[1] > betas[0] + 0.1
    point, _ = method.propose(data, 1, {}, generator)
    assert point.shape == (1, 2)


def test_faithful_deviation_is_that_of_equations_1_to_4():
    data = data_of(disks, 8, 2)
    paper = FaithfulNeuralCBO(width=6)
    generator = torch.Generator().manual_seed(3)
    model, _ = paper.fitted(data, {}, generator, ModelCache())
    member = model.members[0]
    theta = [W[0] if W.ndim == 3 else W for W in member.theta_0]

    def slope(z):
        inner = tuple(W.clone().requires_grad_() for W in theta[:2])
        grads = torch.autograd.grad(printed((*inner, theta[2]), z), inner)
        return torch.cat([g.reshape(-1) for g in grads])

    X = torch.rand(5, 2, generator=generator, dtype=torch.float64)
    scales = member.network.scales
    G = torch.stack([slope(z) for z in scales.embed(data.X)[0]])
    g = torch.stack([slope(z) for z in scales.embed(X)[0]])
    U = torch.eye(G.shape[-1]) + G.mT @ G
    sigma2 = (g @ torch.linalg.inv(U) * g).sum(-1)
    _, variance = member.base.marginals(X)
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
    scale = 1.0 / math.sqrt(4.0)  # eq. 1 has no other factor
    W = W.reshape(W.shape[-2:]).clone().requires_grad_()
    for z, target in zip(Z.reshape(-1, 3), y.reshape(-1), strict=True):
        h = (q.reshape(1, -1) @ (scale * torch.relu(W @ z))).squeeze()
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


@pytest.mark.parametrize("seed", range(4))
def test_a_tiny_feasible_region_is_not_overlooked_with_a_great_beta(seed):
    center = np.random.default_rng(seed).random(2) * 0.6 + 0.2
    data = data_of(lambda x: (float(x[0]), [disk(x, center, 0.02)]), 26, 1, seed + 50)
    assert not bool(data.is_feasible.any())
    method = NeuralCBO(beta=30.0, **QUICK)
    generator = torch.Generator().manual_seed(seed)
    assert "message" not in method.propose(data, 1, {}, generator)[1]


def test_the_faithful_mode_tells_when_no_candidate_is_within_the_bounds():
    method = NeuralCBO(faithful=True, lr=0.02, n_candidates=200, beta=0.01, width=40)
    never = data_of(lambda x: (float(x[0]), [1.0 + x[1]]), 24, 1)
    state = {}
    _, state = method.propose(never, 1, state, torch.Generator().manual_seed(0))
    assert "No candidate is within the lower bounds" in state["message"]
    often = data_of(lambda x: (float(x[0]), [disk(x, 0.5, 0.4)]), 24, 1)
    _, state = method.propose(often, 1, state, torch.Generator().manual_seed(0))
    assert "message" not in state


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
