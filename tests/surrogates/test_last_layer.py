"""The Bayesian last layer: identities of the model, and BoTorch's contract."""

import json
import math

import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.acquisition.knowledge_gradient import qKnowledgeGradient
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.models.model import ModelList
from botorch.optim.optimize import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler

from wideopt.exceptions import InputError
from wideopt.surrogates import LastLayer, outputs_of

D = 3
RECIPE = LastLayer(width=20)


def points(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, D, generator=generator, dtype=torch.float64)


def outputs(X):
    f = torch.sin(4 * X).sum(-1)
    c = 50 * (X.square().sum(-1) - 1.0)
    return torch.stack([f, c], dim=-1)


@pytest.fixture(scope="module")
def model():
    X = points(30)
    return RECIPE.fit(X, outputs(X))


def hidden(weights, X):
    """The last hidden layer, written out."""
    H = torch.cat([math.sqrt(3 / D) * (2 * X - 1), torch.ones_like(X[:, :1])], dim=1)
    for W in weights[:-1]:
        H = torch.tanh(H @ W.mT) / math.sqrt(W.shape[-2])
    return H


@pytest.mark.parametrize("n", [30, 12])  # more and fewer than features
def test_posterior_is_that_of_linear_regression(n):
    X, A = points(n), points(6, seed=1)
    Y = outputs(X)
    posterior = RECIPE.fit(X, Y).posterior(A.unsqueeze(-2))
    member = RECIPE.hyper(RECIPE.fit(X, Y))["runs"][0]["member"]
    for i in range(2):
        weights = [torch.tensor(W, dtype=X.dtype)[i] for W in member["weights"]]
        alpha, beta = member["output"][i] ** -2, 1 / member["noise"][i]
        Phi, phi = hidden(weights, X), hidden(weights, A)
        y, scale = Y[:, i] - Y[:, i].mean(), Y[:, i].std(correction=0)
        K = alpha * torch.eye(20, dtype=X.dtype) + beta * Phi.mT @ Phi
        m = beta * torch.linalg.solve(K, Phi.mT @ (y / scale))
        mean = phi @ m * scale + Y[:, i].mean()
        variance = (phi * torch.linalg.solve(K, phi.mT).mT).sum(1) * scale**2
        torch.testing.assert_close(posterior.mean[:, 0, i], mean, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(
            posterior.variance[:, 0, i], variance, rtol=1e-4, atol=1e-9
        )


def test_it_predicts():
    X, A = points(60), points(100, seed=1)
    model = RECIPE.fit(X, outputs(X))
    error = (model.posterior(A).mean - outputs(A)).square().mean(dim=0).sqrt()
    assert bool((error < 0.5 * outputs(A).std(dim=0)).all())


def test_restored_through_json_is_the_same_model(model):
    X, A = points(30), points(5, seed=2)
    hyper = json.loads(json.dumps(RECIPE.hyper(model)))
    again = RECIPE.restore(X, outputs(X), hyper)
    assert torch.equal(model.posterior(A).mean, again.posterior(A).mean)
    assert torch.equal(model.posterior(A).variance, again.posterior(A).variance)


def test_extended_equals_restored(model):
    X, A = torch.cat([points(30), points(5, seed=3)]), points(5, seed=2)
    Y = outputs(X)
    grown = model
    for i in range(30, 35):
        grown = grown.extended(X[i : i + 1], Y[i : i + 1])
    fresh = RECIPE.restore(X, Y, RECIPE.hyper(model))
    scale = Y.std(dim=0)
    mean, variance = (
        (getattr(grown.posterior(A), name) - getattr(fresh.posterior(A), name)) / unit
        for name, unit in (("mean", scale), ("variance", scale**2))
    )
    assert float(mean.abs().max()) < 1e-6
    assert float(variance.abs().max()) < 1e-8


def test_subset_of_outputs_and_missing_values():
    X, A = points(20), points(4, seed=1)
    Y = outputs(X)
    Y[3, 1] = math.nan
    model = RECIPE.fit(X, Y)
    assert isinstance(model, ModelList)
    again = RECIPE.restore(X, Y, json.loads(json.dumps(RECIPE.hyper(model))))
    assert torch.equal(model.posterior(A).mean, again.posterior(A).mean)
    whole = model.posterior(A).mean
    for i, part in enumerate(outputs_of(model)):
        torch.testing.assert_close(part.posterior(A).mean[:, 0], whole[:, i])


def test_runs_unmodified_in_botorch(model):
    f = outputs_of(model)[0]
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=0)
    bounds = torch.tensor([[0.0] * D, [1.0] * D], dtype=torch.float64)
    for acquisition in (
        LogExpectedImprovement(f, best_f=1.0),
        qLogExpectedImprovement(f, best_f=1.0, sampler=sampler),
        qKnowledgeGradient(f, num_fantasies=3),
    ):
        x, value = optimize_acqf(
            acquisition,
            bounds,
            q=1,
            num_restarts=2,
            raw_samples=8,
            options={"maxiter": 5},
        )
        assert x.shape == (1, D)
        assert bool(torch.isfinite(value).all())
    assert model.fantasize(points(2), sampler).posterior(points(4)).mean.shape == (
        16,
        4,
        2,
    )


def test_draws_have_the_moments_of_the_posterior(model):
    A = points(4, seed=4)
    values = model.draw(torch.Generator().manual_seed(0), n_draws=400)(A)
    posterior = model.posterior(A)
    sd = posterior.variance.sqrt()
    assert float(((values.mean(dim=0) - posterior.mean) / sd).abs().max()) < 0.3
    assert float((values.std(dim=0) / sd - 1).abs().max()) < 0.15


@pytest.mark.parametrize("n", [1, 2])
def test_few_points_and_constant_outputs(n):
    X = points(n)
    Y = torch.cat([outputs(X), torch.full((n, 1), 7.0, dtype=X.dtype)], dim=1)
    posterior = RECIPE.fit(X, Y).posterior(points(3, seed=1))
    assert bool(torch.isfinite(posterior.mean).all())
    torch.testing.assert_close(posterior.mean[:, 2], torch.full((3,), 7.0).double())


@pytest.mark.parametrize(
    "settings",
    [{"depth": 0}, {"width": 0}, {"min_noise": 0.0}, {"activation": "swish"}],
)
def test_bad_recipes(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        LastLayer(**settings)
