"""Neural-BO's faithful mode against the paper written out, and its options."""

import json
import math

import numpy as np
import pytest
import torch

import wideopt as wo
from tests.methods.contract_problems import PROBLEMS, same, walk
from wideopt.bench.applications.generated import generated
from wideopt.methods.catalog import create
from wideopt.methods.faithful_neural_bo import FaithfulNeuralBO
from wideopt.methods.neural_bo import NeuralBO, theoretical_nu
from wideopt.numerics.dual import DualPosterior

M, LAM, LR = 12, 0.05, 1e-2
QUICK = {"faithful": True, "width": 20, "epochs": 5, "n_candidates": 64, "n_init": 3}


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(3)
    X = torch.rand(9, 2, generator=generator, dtype=torch.float64)
    return X, (torch.sin(5 * X[:, :1]) + X[:, 1:]) * 3.0 + 1.0


@pytest.fixture
def recipe():
    method = FaithfulNeuralBO(width=M, lam=LAM, lr=LR, epochs=7, batch_size=4)
    return method.surrogate(seed=5)


class Paper:
    """f(x; θ) = √m W_2 relu(W_1 x), weights N(0, 1/m), in the paper's own scale."""

    def __init__(self, recipe):
        generator = torch.Generator().manual_seed(recipe.seed * 1009)
        (architecture,) = recipe.architectures()
        theta_0 = architecture.initial_weights(2, generator)
        self.theta_0 = [W / math.sqrt(M) for W in theta_0]

    @staticmethod
    def inputs(X):
        return torch.cat([2 * X - 1, torch.ones_like(X[:, :1])], dim=1)

    def f(self, theta, X):
        W_1, W_2 = theta
        return math.sqrt(M) * (torch.relu(self.inputs(X) @ W_1.mT) @ W_2.mT)[:, 0]

    def g(self, x):
        theta = [W.clone().requires_grad_() for W in self.theta_0]
        value = self.f(theta, x[None, :]).sum()
        return torch.cat([p.flatten() for p in torch.autograd.grad(value, theta)])

    def loss(self, theta, X, y, rows=None):
        """L/n of all rows, or its estimate on some."""
        n, rows = len(y), torch.arange(len(y)) if rows is None else rows
        fit = 0.5 * (self.f(theta, X[rows]) - y[rows]).square().mean()
        pairs = zip(theta, self.theta_0, strict=True)
        gap = sum((a - b).square().sum() for a, b in pairs)
        return fit + 0.5 * M * LAM * gap / n


def test_sigma_is_that_of_the_dense_matrix(recipe, data):
    X, Y = data
    paper, scale = Paper(recipe), Y.std(correction=0)
    model = recipe.fit(X[:1], Y[:1])
    for i in range(1, len(X)):
        model = model.extended(X[i : i + 1], Y[i : i + 1])
    G = torch.stack([paper.g(x) for x in X])
    U = LAM * torch.eye(G.shape[1], dtype=G.dtype) + G.mT @ G / M
    A = torch.rand(5, 2, generator=torch.Generator().manual_seed(1)).double()
    g = torch.stack([paper.g(a) for a in A])
    expected = LAM * (g * torch.linalg.solve(U, g.mT).mT).sum(1) / M
    variance = model.posterior(A.unsqueeze(-2)).variance.flatten() / scale**2
    torch.testing.assert_close(variance, expected)


def test_training_is_plain_sgd_from_theta_0(recipe, data):
    X, Y = data
    paper = Paper(recipe)
    y = ((Y - Y.mean()) / Y.std(correction=0))[:, 0]
    generator = torch.Generator().manual_seed(recipe.seed + len(X))
    theta = [W.clone().requires_grad_() for W in paper.theta_0]
    optimizer = torch.optim.SGD(theta, lr=LR)
    best, best_loss = None, math.inf
    for _ in range(7):
        for rows in torch.randperm(len(X), generator=generator).split(4):
            optimizer.zero_grad()
            paper.loss(theta, X, y, rows).backward()
            optimizer.step()
        loss = float(paper.loss(theta, X, y).detach())
        if loss < best_loss:
            best, best_loss = [W.detach().clone() for W in theta], loss
    A = torch.rand(5, 2, generator=torch.Generator().manual_seed(1)).double()
    expected = paper.f(best, A) * Y.std(correction=0) + Y.mean()
    assert best_loss < 0.8 * float(paper.loss(paper.theta_0, X, y))
    model = recipe.trained(recipe.fit(X, Y))
    torch.testing.assert_close(model.posterior(A[:, None]).mean.flatten(), expected)


def test_the_factor_grows_and_is_never_made_again(monkeypatch):
    problem = PROBLEMS["constrained"]
    opt = wo.Optimizer(
        problem.space, method="neural-bo", n_constraints=2, seed=0, options=QUICK
    )
    walk(opt, problem, 4)
    monkeypatch.setattr(DualPosterior, "of", None)
    walk(opt, problem, 3)


@pytest.mark.parametrize("name", PROBLEMS)
def test_faithful_and_restored_equals_unbroken(name):
    problem = PROBLEMS[name]
    settings = {"method": "neural-bo", "n_constraints": problem.n_constraints}
    unbroken = wo.Optimizer(problem.space, **settings, seed=1, options=QUICK)
    points = walk(unbroken, problem, 6)
    unbroken.tell_failed(unbroken.ask())
    points += walk(unbroken, problem, 1) + unbroken.ask(2)
    again = wo.Optimizer(problem.space, **settings, seed=1, options=QUICK)
    repeated = []
    for _ in range(6):
        repeated += walk(again, problem, 1)
        again = wo.Optimizer.from_state_dict(json.loads(json.dumps(again.state_dict())))
    again.tell_failed(again.ask())
    assert same(repeated + walk(again, problem, 1) + again.ask(2), points)


def test_theta_0_differs_between_runs_and_stays_within_one():
    opts = [
        wo.Optimizer([(0, 1)] * 2, method="neural-bo", seed=s, options=QUICK)
        for s in (0, 1)
    ]
    seeds = []
    for opt in opts:
        walk(opt, PROBLEMS["continuous"], 5)
        seeds.append(opt.state_dict()["method_state"]["theta_0"])
        walk(opt, PROBLEMS["continuous"], 1)
        assert opt.state_dict()["method_state"]["theta_0"] == seeds[-1]
    assert seeds[0] != seeds[1]


def test_nu_of_the_theorem():
    expected = math.sqrt(2) * 3.0 + 0.5 / math.sqrt(0.01) * math.sqrt(2 * math.log(20))
    assert theoretical_nu(3.0, 0.5 / 0.1, 0.05) == pytest.approx(expected)


@pytest.mark.parametrize("faithful", [True, False])
def test_computed_nu_is_in_the_state(faithful):
    problem = PROBLEMS["constrained"]
    found = {}
    for rule in ("theory", "adaptive"):
        options = {"nu": rule, "B": 2.0, "n_init": 3, "n_candidates": 64}
        options |= (
            {"faithful": True, "width": 20} if faithful else {"activation": "erf"}
        )
        opt = wo.Optimizer(
            problem.space, method="neural-bo", n_constraints=2, seed=0, options=options
        )
        walk(opt, problem, 4)
        found[rule] = opt.state_dict()["method_state"]["nu"]
    assert found["theory"] == pytest.approx(theoretical_nu(2.0, 1.0, 0.1))
    assert found["adaptive"] > found["theory"]


def test_adaptive_nu_has_the_information_gain_of_the_data(recipe, data):
    X, Y = data
    paper = Paper(recipe)
    G = torch.stack([paper.g(x) for x in X])
    gain = 0.5 * torch.logdet(torch.eye(len(X)).double() + G @ G.mT / (M * LAM))
    model = recipe.trained(recipe.fit(X, Y))
    nu, _ = NeuralBO(nu="adaptive", R=0.2)._exploration(model, {})
    expected = theoretical_nu(1.0, 0.2 / math.sqrt(LAM), 0.1, float(gain))
    assert nu == pytest.approx(expected)


def bowl(x):
    return float(np.sum((x - 2.0) ** 2 * [1.0, 2.0, 0.5]))


def median_best(method, n_seeds, options=None):
    runs = [
        wo.minimize(
            bowl, [(-5, 10)] * 3, method=method, n_evals=40, seed=seed, options=options
        )
        for seed in range(n_seeds)
    ]
    return np.median([run.fun for run in runs])


@pytest.mark.slow  # one run of eight is worse than random search: a few would not do
def test_faithful_beats_random_search():
    best = median_best("neural-bo", 8, {"faithful": True, "n_candidates": 1000})
    assert best < 0.6 * median_best("random", 24)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"nu": 0.0}, "nu"),
        ({"nu": "large"}, "large"),
        ({"B": -1.0}, "B"),
        ({"R": 0.0}, "R"),
        ({"alpha": 1.0}, "alpha"),
        ({"lam": 0.1}, "lam"),
        ({"epochs": 3}, "faithful=True"),
        ({"faithful": True, "n_restarts": 2}, "n_restarts"),
        ({"faithful": True, "lam": 0.0}, "lam"),
        ({"faithful": True, "lr": -1.0}, "lr"),
        ({"faithful": True, "epochs": 0}, "epochs"),
        ({"n_candidates": 0}, "n_candidates"),
        ({"activation": "swish"}, "swish"),
    ],
)
def test_bad_options(options, word):
    with pytest.raises(wo.InputError, match=word):
        create("neural-bo", options)


def test_a_state_of_an_earlier_version_without_a_scale_goes_on():
    opt = wo.Optimizer([(0, 1)] * 2, method="neural-bo", seed=0)
    for x in np.random.default_rng(0).random((17, 2)):
        opt.tell(x, float(((x - 0.3) ** 2).sum()))
    x = opt.ask()
    opt.tell(x, float(((x - 0.3) ** 2).sum()))
    state = opt.state_dict()
    assert state["method_state"].pop("warp", "none") != "none"

    assert wo.Optimizer.from_state_dict(state).ask().shape == (2,)


def test_a_run_with_curves_resumes_as_it_was():
    problem = generated("curves-0")
    optimizer = wo.Optimizer(problem.space, method="neural-bo", seed=3, n_evals=60)
    for _ in range(42):
        x = optimizer.ask()
        optimizer.tell(x, problem(x))
    text = json.dumps(optimizer.state_dict())
    restored = wo.Optimizer.from_state_dict(json.loads(text))

    assert '"index": 3' in text  # the sum of curves
    for _ in range(3):
        x = optimizer.ask()
        assert np.array_equal(x, restored.ask())
        optimizer.tell(x, problem(x))
        restored.tell(x, problem(x))
