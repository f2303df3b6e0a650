"""The formulas against independent forms: BoTorch's, SciPy's, and their PDEs."""

import math
import warnings

import numpy as np
import pytest
import torch
from scipy.optimize import rosen

from wideopt import problems

PEERS = {
    "ackley-4": "Ackley",
    "branin": "Branin",
    "drop-wave": "DropWave",
    "griewank-4": "Griewank",
    "hartmann-3": "Hartmann",
    "hartmann-6": "Hartmann",
    "levy-4": "Levy",
    "michalewicz-10": "Michalewicz",
    "rastrigin-4": "Rastrigin",
    "rosenbrock-4": "Rosenbrock",
    "six-hump-camel": "SixHumpCamel",
    "styblinski-tang-4": "StyblinskiTang",
}


@pytest.fixture(scope="module")
def synthetic():
    with warnings.catch_warnings():
        # GPyTorch's linear_operator uses torch.jit.script, which torch deprecates
        warnings.simplefilter("ignore", DeprecationWarning)
        return pytest.importorskip("botorch.test_functions.synthetic")


@pytest.mark.parametrize("name", PEERS)
def test_same_values_as_botorch(name, synthetic, draw):
    problem = problems.get(name)
    is_fixed = name in ("branin", "drop-wave", "six-hump-camel")
    peer = getattr(synthetic, PEERS[name])(**({} if is_fixed else {"dim": problem.dim}))
    X = torch.as_tensor(draw(problem, 50))
    expected = peer.to(torch.float64)(X)
    # BoTorch rounds Hartmann's constants to float32, and some optima to four digits
    torch.testing.assert_close(problem.objective(X), expected, rtol=1e-7, atol=1e-7)
    assert problem.optimum == pytest.approx(peer.optimal_value, abs=5e-5)


def test_rosenbrock_is_scipy_s(draw):
    problem = problems.get("rosenbrock-5")
    X = draw(problem, 20)
    np.testing.assert_allclose(problem.objective(X), rosen(X.T))


def test_levy_in_one_dimension():
    w = 1 + (3.0 - 1) / 4
    expected = math.sin(math.pi * w) ** 2
    expected += (w - 1) ** 2 * (1 + math.sin(2 * math.pi * w) ** 2)
    assert problems.get("levy-1")([3.0]) == pytest.approx(expected)


def test_go_ucb_f1_is_the_network_of_ones(draw):
    problem = problems.get("go-ucb-f1-20")
    for x in draw(problem, 20):
        hidden = 1 / (1 + np.exp(-(np.ones((25, 20)) @ x + np.ones(25))))
        assert problem(x) == pytest.approx(-(np.ones(25) @ hidden + 1))
    assert problem.optimum == -26


def test_go_ucb_f1_does_not_overflow():
    assert problems.get("go-ucb-f1-500")(np.full(500, -5.0)) == -1


def gradients(name, X):
    f = problems.get(name).objective
    return f(X), torch.func.vmap(torch.func.grad(f))(X)


def rotation(X, f, g):
    return X[:, 0] * g[:, 1] - X[:, 1] * g[:, 0], torch.zeros(len(X))


def total_slope(X, f, g):
    return g.sum(-1), (2 * X**3 - 16 * X + 2.5).sum(-1)


def euler(X, f, g):
    wave = 2 * math.pi * X
    terms = X**2 + 10 * wave * wave.sin() + 10 * wave.cos() - 10
    return (X * g).sum(-1) - f, terms.sum(-1)


def weighted(X, f, g):
    i = torch.arange(1, X.shape[-1] + 1)
    h = 1 / (1 / X.tan() + 40 * i * X / math.pi / (i * X**2 / math.pi).tan())
    return (h * g).sum(-1), f


def cosine(X, f, g):
    residual = g - 2 * X + 0.5 * math.pi * (5 * math.pi * X).sin()
    return (residual**2).sum(-1), torch.zeros(len(X))


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("drop-wave", rotation),
        ("styblinski-tang-4", total_slope),
        ("rastrigin-4", euler),
        ("michalewicz-4", weighted),
        ("cosine-mixture-4", cosine),
    ],
)
def test_pde_of_pinn_bo_holds(name, operator, draw):
    X = torch.as_tensor(draw(problems.get(name), 50))
    left, right = operator(X, *gradients(name, X))
    torch.testing.assert_close(left, right.to(left), rtol=1e-9, atol=1e-9)
