"""NeuralUCB, NeuralTS and NeuralGreedy: formulas by autograd, arms, and behavior."""

import math

import numpy as np
import pytest
import torch
from botorch.models.model import ModelList

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods import neural_ucb
from wideopt.methods.catalog import create
from wideopt.methods.neural_greedy import NeuralGreedy
from wideopt.methods.neural_ucb import NeuralBandit
from wideopt.numerics.training import Training
from wideopt.surrogates import Tangent, outputs_of

M, LAM = 8, 0.05


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(3)
    X = torch.rand(9, 2, generator=generator, dtype=torch.float64)
    Y = torch.stack([torch.sin(5 * X[:, 0]) + X[:, 1], X[:, 0] - 0.5], dim=1)
    return X, Y


@pytest.fixture
def points():
    generator = torch.Generator().manual_seed(1)
    return torch.rand(5, 2, generator=generator, dtype=torch.float64)


def recipe(activation="tanh", depth=2):
    return Tangent(
        activation=activation,
        depth=depth,
        width=M,
        mean="trained",
        features="current",
        training=Training("lbfgs", epochs=20),
        start="theta_0",
        noise=LAM,
        is_tuned=False,
        input_scale=0.7,
    )


def dense_gradient(network, x):
    """∂h/∂θ of one output at one point, by autograd."""
    weights = tuple(W.clone().requires_grad_() for W in network.weights)
    Z = torch.cat([0.7 * (2 * x - 1), torch.ones(1, dtype=x.dtype)])
    value = network.architecture.forward(weights, Z[None, :]).sum()
    return torch.cat([g.flatten() for g in torch.autograd.grad(value, weights)])


def variance_by_hand(network, X, A):
    """λ gᵀ U⁻¹ g with U = λI + Σ g gᵀ, p × p."""
    G, g = (torch.stack([dense_gradient(network, x) for x in part]) for part in (X, A))
    U = LAM * torch.eye(G.shape[1], dtype=G.dtype) + G.mT @ G
    return LAM * (g * torch.linalg.solve(U, g.mT).mT).sum(dim=1)


@pytest.mark.parametrize(("activation", "depth"), [("tanh", 2), ("relu", 1)])
def test_features_are_those_of_the_current_weights(activation, depth, data, points):
    X, Y = data
    model = recipe(activation, depth).fit(X, Y)
    for i, output in enumerate(outputs_of(model)):
        network = output.members[0].network
        network = type(network)(
            network.architecture, network.scales, tuple(W[0] for W in network.weights)
        )
        theta_0 = output.members[0].theta_0
        assert not torch.allclose(network.weights[0], theta_0[0])
        scale = Y[:, i].std(correction=0)
        posterior = output.posterior(points.unsqueeze(-2))
        expected = variance_by_hand(network, X, points)
        torch.testing.assert_close(posterior.variance.flatten() / scale**2, expected)


def test_growth_renews_the_features(data, points):
    X, Y = data
    model = recipe().fit(X[:6], Y[:6, :1]).extended(X[6:], Y[6:, :1])
    (member,) = model.members
    network = member.network
    network = type(network)(
        network.architecture, network.scales, tuple(W[0] for W in network.weights)
    )
    expected = variance_by_hand(network, X, points)
    variance = model.marginals(points.unsqueeze(-2))[1].flatten()
    torch.testing.assert_close(variance, expected)


def test_a_pending_point_keeps_the_mean_and_narrows_the_bound(data, points):
    X, Y = data
    model = recipe().fit(X, Y)
    trials = [(x.numpy(), Trial(x.numpy(), 0.0, (0.0,))) for x in X]
    dataset = Dataset.of(wo.Space([(0, 1)] * 2), trials, [points[0].numpy()], 1)
    aware = neural_ucb._hallucinated(model, dataset)
    assert isinstance(aware, ModelList)
    before, after = (m.posterior(points.unsqueeze(-2)) for m in (model, aware))
    torch.testing.assert_close(before.mean, after.mean)
    # At the point itself, one more observation of variance λ.
    v, w = (p.variance[0, 0] / Y.var(dim=0, correction=0) for p in (before, after))
    torch.testing.assert_close(w, v * LAM / (v + LAM))


def test_the_bound_chooses_the_arm(data):
    """On few arms nothing is searched: the arm of the lowest bound comes next."""
    rows = np.random.default_rng(0).random((12, 2))
    opt = wo.Optimizer(
        wo.Space.from_candidates(rows), method="neural-ucb", seed=0,
        options={"n_init": 5, "repeats": True, "exploration": 0.5},
    )  # fmt: skip
    for row in rows[:5]:
        opt.tell(row, float(row @ [1.0, -2.0]))
    x = opt.ask()
    seed = opt.state_dict()["method_state"]["theta_0"]
    method = create("neural-ucb", {"repeats": True, "exploration": 0.5})
    dataset = opt._data()
    model = method._surrogate(seed, dataset.n_dims).fit(dataset.X, dataset.Z)
    arms = torch.from_numpy(opt.space.every_point())
    posterior = model.posterior(arms.unsqueeze(-2))
    bound = (posterior.mean - 0.5 * posterior.variance.sqrt()).flatten()
    expected = opt.space.config(opt.space.decode(arms[int(bound.argmin())].numpy()))
    assert list(x) == list(expected)


@pytest.mark.parametrize("method", ["neural-ucb", "neural-ts"])
def test_bandits_come_back_to_the_arm_that_pays(method):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(10, 3))
    space = wo.Space.from_candidates(rows)
    cost = lambda x: float(x @ [1.0, -0.5, 0.2] + 0.05 * rng.normal())  # noqa: E731
    options = {"n_init": 5, "repeats": True}
    pulls = []
    opt = wo.Optimizer(space, method=method, seed=0, options=options)
    for _ in range(25):
        pulls.append(opt.ask())
        opt.tell(pulls[-1], cost(pulls[-1]))
    best = rows[(rows @ [1.0, -0.5, 0.2]).argmin()]
    n_best = sum(bool(np.allclose(x, best)) for x in pulls[10:])
    assert n_best >= 5  # 1.5 by chance
    opt.ask(3)


@pytest.mark.parametrize("method", ["neural-ucb", "neural-ts"])
def test_without_repeats_every_row_is_tried_once(method):
    rows = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
    result = wo.minimize(
        lambda x: float(x[0]), wo.Space.from_candidates(rows), method=method,
        n_evals=9, n_init=4, seed=0,
    )  # fmt: skip
    assert len({tuple(t.x) for t in result.history}) == 9


def test_constrained_arms():
    rows = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
    opt = wo.Optimizer(
        wo.Space.from_candidates(rows), method="neural-ucb", n_constraints=1, seed=0,
        options={"n_init": 4, "repeats": True, "exploration": 0.1},
    )  # fmt: skip
    asked = []
    for i in range(16):
        x = opt.ask()
        asked.append(x)
        opt.tell_failed(x) if i == 5 else opt.tell(x, x[0], [0.2 - x[1]])
    assert sum(x[1] >= 0.2 for x in asked[8:]) >= 5  # of 8; by chance 3


def test_repeats_need_a_finite_space():
    with pytest.raises(wo.InputError, match="finite"):
        wo.Optimizer([(0, 1)], method="neural-ucb", options={"repeats": True})


def test_greedy_networks_follow_their_perturbed_targets():
    """Without noise and ridge they pass through the data; noise moves them."""
    space = wo.Space([(0, 1)] * 2)
    X = np.random.default_rng(0).random((8, 2))
    trials = [(x, Trial(x, float(x @ x), (float(x[0] - 0.4),))) for x in X]
    trials.append((np.array([0.9, 0.9]), Trial([0.9, 0.9], state="failed")))
    dataset = Dataset.of(space, trials, [], 1)
    known = ~dataset.Z.isnan()
    errors = {}
    for noise in (0.0, 0.5):
        method = NeuralGreedy(noise=noise, lam=1e-6, n_steps=300)
        networks = method._fitted(dataset, torch.Generator().manual_seed(0))
        assert len(networks) == dataset.Z.shape[1] == 3  # objective, constraint, crash
        fit = torch.stack([network(dataset.X) for network in networks], dim=1)
        errors[noise] = float((fit - dataset.Z)[known].square().mean().sqrt())
    assert errors[0.0] < 0.02
    assert 0.3 < errors[0.5] < 0.7


def bowl(x):
    return float(np.sum((x - 2.0) ** 2 * [1.0, 2.0, 0.5]))


def mean_best(method, n_seeds, options=None):
    runs = [
        wo.minimize(
            bowl, [(-5, 10)] * 3, method=method, n_evals=20, seed=seed, options=options
        )
        for seed in range(n_seeds)
    ]
    return np.mean([run.fun for run in runs])


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("neural-ucb", marks=pytest.mark.slow),
        pytest.param("neural-ts", marks=pytest.mark.slow),
        "neural-greedy",
    ],
)
def test_best_value_is_at_most_half_of_what_random_search_finds(method):
    best = mean_best(method, 3, {"n_candidates": 256, "n_restarts": 2})
    assert best < 0.5 * mean_best("random", 12)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("neural-ucb", {"exploration": 0.0}),
        ("neural-ts", {"lam": -1.0}),
        ("neural-ucb", {"width": 3}),
        ("neural-ucb", {"activation": "swish"}),
        ("neural-ucb", {"n_steps": 0}),
        ("neural-greedy", {"noise": -0.1}),
        ("neural-greedy", {"lam": math.nan}),
        ("neural-greedy", {"width": 3}),
        ("neural-greedy", {"n_candidates": 0}),
    ],
)
def test_bad_options(method, options):
    with pytest.raises(wo.InputError, match=next(iter(options))):
        create(method, options)


def test_rule_is_known(unchecked):
    with pytest.raises(wo.InputError, match="thompson"):
        NeuralBandit(rule="thompson")
