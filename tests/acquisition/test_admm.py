"""The improvements of ADMMBO against sampling, and against finite differences."""

import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement

from wideopt.acquisition.admm import LogFeasibilityImprovement, Quadratic, Shifted
from wideopt.surrogates import GaussianProcess, outputs_of

BEST = [0.02, 0.6, 1.3]


def uniform(n, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, 2, generator=generator, dtype=torch.float64)


@pytest.fixture(scope="module")
def models():
    X = uniform(8, 1)
    Y = torch.stack([(5 * X).sin().sum(dim=1), X[:, 0] - 0.6], dim=1)
    return outputs_of(GaussianProcess().fit(X, Y))


@pytest.fixture(scope="module")
def quadratic():
    return Quadratic(torch.tensor([[0.2, 0.7], [0.9, 0.1]], dtype=torch.float64), 0.4)


def drawn(model, X, n=200_000):
    """Independent draws of the model's marginals at X."""
    posterior = model.posterior(X)
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(n, len(X), generator=generator, dtype=torch.float64)
    return posterior.mean[:, 0] + posterior.variance[:, 0].sqrt() * noise


def test_quadratic_is_the_penalty_of_the_paper():
    x, z, y = uniform(3, 2)
    rho = 0.3
    optimality = Quadratic((z - y / rho)[None, :], rho / 2)
    feasibility = Quadratic((x + y / rho)[None, :], rho / 2)
    expected = rho / 2 * (x - z + y / rho).square().sum()
    assert float(optimality(x)) == pytest.approx(float(expected))
    assert float(feasibility(z)) == pytest.approx(float(expected))


def test_no_anchors_no_penalty():
    assert not Quadratic(torch.empty(0, 2, dtype=torch.float64), 1.0)(
        uniform(5, 3)
    ).any()


@torch.no_grad()
def test_improvement_of_the_shifted_model_is_that_of_samples(models, quadratic):
    X, best = uniform(20, 4), 0.4
    shifted = Shifted(models[0], quadratic)
    acqf = LogExpectedImprovement(shifted, best_f=best, maximize=False)
    sampled = (best - drawn(models[0], X) - quadratic(X)).relu().mean(dim=0)
    assert torch.allclose(acqf(X[:, None, :]).exp(), sampled, atol=5e-3)


@torch.no_grad()
@pytest.mark.parametrize("best", BEST)
def test_improvement_of_feasibility_is_that_of_samples(models, quadratic, best):
    X = uniform(200, 5)
    X = X[best - quadratic(X) > 1e-3 * best]  # elsewhere it is a slope, not a value
    acqf = LogFeasibilityImprovement(models[1], quadratic, best)
    h = (drawn(models[1], X, 20_000) > 0).to(X) + quadratic(X)
    sampled = (best - h).relu().mean(dim=0)
    assert torch.allclose(acqf(X[:, None, :]).exp(), sampled, atol=0.02)


@pytest.mark.parametrize("best", BEST)
def test_gradient_of_feasibility(models, quadratic, best):
    """Where nothing can be gained, too."""
    acqf = LogFeasibilityImprovement(models[1], quadratic, best)
    X = uniform(6, 6)[:, None, :].requires_grad_()
    assert torch.autograd.gradcheck(acqf, (X,), eps=1e-7, atol=1e-4, rtol=1e-3)
    (slope,) = torch.autograd.grad(acqf(X).sum(), X)
    assert bool((slope.abs().sum(dim=-1) > 0).all())
