"""The squared exponential GP: against the formula, through JSON, as data grow."""

import json

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.numerics.scales import Scales
from wideopt.numerics.squared_exponential import SquaredExponentialKernel
from wideopt.surrogates import GaussianProcess, SquaredExponential


def data(n=12, d=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    X = torch.rand(n, d, generator=generator, dtype=torch.float64)
    Y = torch.stack([(3 * X).sin().sum(1), X[:, 0] ** 2 - 3.0], dim=1)
    return X, Y


def test_known_scales_give_equation_5():
    X, Y = data()
    A = torch.rand(7, 2, dtype=torch.float64)
    length, noise, scale = 0.3, 1e-2, 1.5

    def k(P, Q):
        return scale**2 * np.exp(
            -0.5 * (np.square(P[:, None] - Q[None]).sum(-1) / length**2)
        )

    x, y, a = X.numpy(), Y.numpy(), A.numpy()
    C = k(a, x) @ np.linalg.inv(k(x, x) + noise * np.eye(len(x)))
    posterior = SquaredExponential(length, noise, scale).fit(X, Y).posterior(A)
    np.testing.assert_allclose(posterior.mean.numpy(), C @ y, atol=1e-9)
    variance = scale**2 - np.sum(C * k(a, x), axis=1)
    for column in posterior.variance.numpy().T:
        np.testing.assert_allclose(column, variance, atol=1e-9)


def test_learned_scales_predict_as_well_as_botorch():
    X, Y = data(25)
    A, truth = data(200, seed=1)
    ours = SquaredExponential().fit(X, Y).posterior(A)
    theirs = GaussianProcess("rbf").fit(X, Y).posterior(A)
    error = (ours.mean - truth).square().mean(0).sqrt()
    assert torch.all(error < 2e-2 * truth.std(0))
    assert torch.all(error < 3 * (theirs.mean - truth).square().mean(0).sqrt() + 1e-2)


def test_scales_survive_json_and_warm_the_next_fit():
    X, Y = data(20)
    recipe = SquaredExponential()
    model = recipe.fit(X[:15], Y[:15])
    hyper = json.loads(json.dumps(recipe.hyper(model)))
    again = recipe.restore(X[:15], Y[:15], hyper)
    assert torch.equal(again.posterior(X).mean, model.posterior(X).mean)
    warm = recipe.fit(X, Y, hyper)
    assert warm.posterior(X).mean.shape == (20, 2)


def test_missing_values():
    X, Y = data(10)
    Y[3, 1] = torch.nan
    recipe = SquaredExponential()
    model = recipe.fit(X, Y)
    assert model.posterior(X).mean.isfinite().all()
    again = recipe.restore(X, Y, recipe.hyper(model))
    assert torch.equal(again.posterior(X).mean, model.posterior(X).mean)


def test_draws_have_the_moments_of_the_posterior():
    X, Y = data(6)
    A = torch.rand(5, 2, dtype=torch.float64)
    model = SquaredExponential(0.4, 1e-2).fit(X, Y[:, :1])
    draws = model.draw(torch.Generator().manual_seed(0), 3000)(A)[..., 0]
    posterior = model.posterior(A)
    spread = posterior.variance.sqrt().squeeze(-1)
    gap = (draws.mean(0) - posterior.mean.squeeze(-1)).abs()
    assert torch.all(gap < 0.1 * spread + 0.02)
    torch.testing.assert_close(draws.std(0), spread, rtol=0.15, atol=0.02)


def test_prior_draws_have_the_kernel():
    kernel = SquaredExponentialKernel(Scales.ones(2))
    A = torch.rand(4, 2, dtype=torch.float64)
    f = kernel.prior_draw(torch.Generator().manual_seed(0), (4000,))(A)
    torch.testing.assert_close(f.T @ f / 4000, kernel.block(A, A), rtol=0, atol=0.12)


def test_bad_options():
    with pytest.raises(wo.InputError, match="both given or both learned"):
        SquaredExponential(length_scale=0.3)
    with pytest.raises(wo.InputError, match="noise must be positive"):
        SquaredExponential(0.3, 0.0)
