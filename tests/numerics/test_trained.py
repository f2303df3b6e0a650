import pytest
import torch

from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.regression import Network
from wideopt.numerics.scales import Scales
from wideopt.numerics.trained import TrainedPosterior
from wideopt.numerics.training import Training


@pytest.fixture
def data(uniform):
    X = uniform(10, 2)
    return X, torch.stack([torch.sin(4 * X[:, 0]), X.sum(-1) - 1])


@pytest.fixture
def posterior(data, generator):
    X, Y = data
    arch = Architecture(width=512)
    network = Network(arch, Scales.ones(2, (2,)), arch.initial_weights(2, generator))
    kernel = TangentKernel.of(arch, network.weights, network.scales)
    base = fit_posterior(kernel, X, Y, torch.full((2,), 0.01).double())
    return TrainedPosterior.of(base, network, Training("lbfgs", epochs=60))


def test_mean_is_the_network_and_covariance_the_tangents(posterior, uniform):
    A = uniform(5, 2)
    mean, cov = posterior.moments(A)
    linear, expected = posterior.base.moments(A)
    assert torch.equal(mean, posterior.network(A))
    assert torch.equal(cov, expected)
    torch.testing.assert_close(mean, linear, rtol=0, atol=0.2)
    assert torch.equal(posterior.marginals(A)[0], mean)


def test_growing_trains_on(posterior, uniform):
    x, y, A = uniform(1, 2), uniform(2, 1), uniform(5, 2)
    grown = posterior.extended(x, y)
    close = (grown.marginals(x)[0] - y).abs()
    assert (close < (posterior.marginals(x)[0] - y).abs()).all()
    torch.testing.assert_close(
        grown.marginals(A)[1], posterior.base.extended(x, y).marginals(A)[1]
    )
    for W, V in zip(grown.theta_0, posterior.theta_0, strict=True):
        assert torch.equal(W, V)
    same = posterior.extended(x, torch.cat([posterior.Y, y], dim=-1))
    torch.testing.assert_close(same.marginals(A)[0], grown.marginals(A)[0])


def test_selected_outputs(posterior, uniform):
    A = uniform(5, 2)
    for each in (posterior, posterior.base):
        mean, cov = each.moments(A)
        one_mean, one_cov = each.selected([1]).moments(A)
        torch.testing.assert_close(one_mean, mean[1:])
        torch.testing.assert_close(one_cov, cov[1:])


def test_draws_scatter_about_the_network(posterior, uniform, generator):
    A = uniform(3, 2)
    values = posterior.draw(generator, 4_000)(A)
    mean, variance = posterior.marginals(A)
    assert values.shape == (4_000, 2, 3)
    atol = 4 * (variance.max() / 4_000).sqrt().item()
    torch.testing.assert_close(values.mean(0), mean, rtol=0, atol=atol)
    torch.testing.assert_close(values.var(0), variance, rtol=0.15, atol=1e-4)
