"""The loss and its gradient are GPyTorch's, and the fit is a minimum of it."""

import math

import numpy as np
import pytest
import torch
from gpytorch.mlls import ExactMarginalLogLikelihood

from wideopt.numerics.stationary import correlation, correlation_and_slope
from wideopt.numerics.stationary_evidence import LogNormal, StationaryEvidence
from wideopt.surrogates import GaussianProcess
from wideopt.surrogates.gp import _prior

KERNELS = ["matern", "rbf"]


@pytest.fixture
def data(generator):
    X = torch.rand(15, 3, generator=generator, dtype=torch.float64)
    return X, (6 * X).sin().sum(dim=1)


def evidence(X, y, kernel):
    gp = GaussianProcess(kernel)._blank(X, y)
    return gp, StationaryEvidence(
        X.numpy(),
        gp.train_targets.numpy(),
        kernel,
        _prior(gp.likelihood.noise_covar.noise_prior),
        _prior(gp.covar_module.lengthscale_prior),
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_loss_and_gradient_are_gpytorchs(kernel, data):
    gp, loss = evidence(*data, kernel)
    gp.train()
    mll = ExactMarginalLogLikelihood(gp.likelihood, gp)
    parts = [
        gp.likelihood.noise_covar.raw_noise,
        gp.mean_module.raw_constant,
        gp.covar_module.raw_lengthscale,
    ]
    for theta in ([0.01, 0.2, 0.3, 0.9, 2.0], [0.5, -1.0, 0.1, 0.05, 7.0]):
        values = torch.tensor(theta, dtype=torch.float64)
        for part, value in zip(parts, values.split([1, 1, 3]), strict=True):
            part.data = value.reshape(part.shape)
        theirs = -mll(gp(data[0]), gp.train_targets)
        expected = torch.cat(
            [g.reshape(-1) for g in torch.autograd.grad(theirs, parts)]
        )
        value, gradient = loss(np.array(theta))
        assert value == pytest.approx(theirs.item(), rel=1e-7)  # its priors are float32
        assert np.allclose(gradient, expected.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_fitted_is_a_minimum_within_bounds(kernel, data):
    _, loss = evidence(*data, kernel)
    lower = np.array([1e-4, -np.inf, 0.025, 0.025, 0.025])
    start = np.array([0.01, 0.0, 0.5, 0.5, 0.5])
    theta = loss.fitted(start, lower, 200)
    assert (theta >= lower).all()
    value, gradient = loss(theta)
    assert value < loss(start)[0]
    is_free = theta > lower + 1e-9
    assert np.abs(gradient[is_free]).max() < 1e-3


def test_a_start_without_hope_is_kept(data):
    X, y = data
    twice = torch.cat([X, X])
    _, loss = evidence(twice, torch.cat([y, y + 1]), "rbf")
    start = np.array([0.0, 0.0, 1e3, 1e3, 1e3])  # a singular matrix
    assert loss(start)[0] == math.inf
    assert (loss.fitted(start, np.full(5, -np.inf), 5) == start).all()


def test_log_normal_is_torchs():
    x = torch.tensor([0.03, 1.0, 40.0], dtype=torch.float64, requires_grad=True)
    theirs = torch.distributions.LogNormal(0.7, 1.3).log_prob(x)
    (slope,) = torch.autograd.grad(theirs.sum(), x)
    value, gradient = LogNormal(0.7, 1.3).log_density(x.detach().numpy())
    assert np.allclose(value, theirs.detach().numpy())
    assert np.allclose(gradient, slope.numpy())


@pytest.mark.parametrize("kernel", KERNELS)
def test_slope_of_the_correlation(kernel, data):
    a, b = data[0][0].clone().requires_grad_(), data[0][1]
    k = correlation(a[None], b[None], kernel).squeeze()
    (slope,) = torch.autograd.grad(k, a)
    r = np.array([float((a - b).norm().detach()), 0.0])
    values, h = correlation_and_slope(r, kernel)
    assert values[0] == pytest.approx(k.item())
    assert np.allclose(h[0] * (a - b).detach().numpy(), slope.numpy())
    assert values[1] == 1.0
