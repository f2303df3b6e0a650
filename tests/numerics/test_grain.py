"""Grain beside a trend: the kernel, the posterior of the trend, draws, learning."""

import math

import pytest
import torch

from wideopt.numerics.evidence import log_joint
from wideopt.numerics.hyper import NO_GRAIN, Hyper, Prior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.scales import Scales
from wideopt.numerics.squared_exponential import SquaredExponentialKernel
from wideopt.search.design import sobol_points
from wideopt.surrogates.tangent import Tangent

ERF = Architecture(depth=1, width=2, activation="erf")
RHO, TAU, NOISE = 0.6, 9.0, 0.01


@pytest.fixture
def scales():
    bend = torch.tensor([[1.0, -0.5]], dtype=torch.float64)
    grain = torch.tensor([[RHO, TAU]], dtype=torch.float64)
    one = torch.tensor([0.8], dtype=torch.float64)
    return Scales(torch.tensor([[0.9, 0.4]]).double(), one, one.clone(), bend, grain)


@pytest.fixture
def trend(scales):
    plain = Scales(scales.input, scales.bias, scales.output, scales.bend)
    return InfiniteKernel(ERF, plain)


@pytest.fixture
def fine(scales):
    rho = torch.tensor([RHO]).double()
    return SquaredExponentialKernel(
        Scales(TAU * scales.input, scales.bias, rho, scales.bend)
    )


def test_the_kernel_is_a_sum_of_two(scales, trend, fine, uniform):
    kernel, A, B = InfiniteKernel(ERF, scales), uniform(5, 2), uniform(7, 2)
    torch.testing.assert_close(kernel.block(A, B), trend.block(A, B) + fine.block(A, B))
    torch.testing.assert_close(kernel.diag(A), trend.diag(A) + fine.diag(A))


def test_the_smooth_posterior_is_that_of_the_trend(scales, trend, fine, uniform):
    X, Y, A = uniform(12, 2), uniform(1, 12), uniform(4, 2)
    noise = torch.tensor([NOISE]).double()
    smooth = fit_posterior(InfiniteKernel(ERF, scales), X, Y, noise).smooth()
    mean, covariance = smooth.moments(A[None])

    # The grain is noise that correlates: the textbook formula, without factors.
    cross = trend.block(A, X)[0]
    S = trend.block(X, X)[0] + fine.block(X, X)[0] + NOISE * torch.eye(12).double()
    weights = torch.linalg.solve(S, cross.T).T
    torch.testing.assert_close(mean[0], weights @ Y[0])
    expected = trend.block(A, A)[0] - weights @ cross.T
    torch.testing.assert_close(covariance[0], expected)


@pytest.mark.parametrize("is_smooth", [False, True])
def test_draws_have_the_moments_of_the_posterior(scales, uniform, is_smooth):
    X, Y = uniform(6, 2), uniform(1, 6)
    A = torch.cat([X[:1] + 1e-3, uniform(2, 2)])
    noise = torch.tensor([NOISE]).double()
    posterior = fit_posterior(InfiniteKernel(ERF, scales), X, Y, noise)
    posterior = posterior.smooth() if is_smooth else posterior
    mean, covariance = posterior.moments(A[None])
    # Draws of one call share the units of their network: many calls are averaged.
    values = torch.cat(
        [
            posterior.draw(torch.Generator().manual_seed(seed), 100)(A[None])[:, 0]
            for seed in range(60)
        ]
    )
    spread = covariance[0].diagonal().sqrt()
    assert float(((values.mean(0) - mean[0]) / spread).abs().max()) < 0.08
    ratio = torch.cov(values.T) - covariance[0]
    assert float((ratio / torch.outer(spread, spread)).abs().max()) < 0.12


def test_vectors_and_json_go_there_and_back_in_two_dimensions():
    # two bends and a grain have as many numbers as each other
    for spread in (0.0, 1.0):
        prior = Prior(bend_spread=spread, has_grain=True)
        hyper = prior.typical(2, (3,))
        assert hyper.vector.shape == (3, prior.n_hyper(2))
        again = prior.hyper(hyper.vector + 0.1, 2)
        torch.testing.assert_close(again.grain, hyper.grain + 0.1)
        assert (again.bend is None) == (spread == 0.0)
        restored = Hyper.from_json(again.to_json())
        assert torch.equal(restored.vector, again.vector)


def test_variances_grow_with_the_grain_where_there_is_one():
    prior = Prior(has_grain=True)
    grain = torch.tensor([[NO_GRAIN, 1.0], [0.0, 1.0]]).double()
    hyper = Hyper(**{**vars(prior.typical(3, (2,))), "grain": grain})
    grown = hyper.inflated(torch.tensor([4.0, 4.0]).double())

    assert hyper.is_grainy.tolist() == [False, True]
    assert grown.is_grainy.tolist() == [False, True]
    torch.testing.assert_close(grown.scales.grain[1, 0], torch.tensor(2.0).double())


def test_evidence_is_a_density_of_both(scales, trend, fine, uniform):
    X, Y = uniform(9, 2), uniform(1, 9)
    prior = Prior(bend_spread=1.0, has_grain=True)
    logs = {"log_input": scales.input.log(), "bend": scales.bend}
    logs |= {"log_bias": scales.bias.log(), "log_output": scales.output.log()}
    noise = torch.tensor([NOISE]).double()
    hyper = Hyper(**logs, log_noise=noise.log(), grain=scales.grain.log())
    S = trend.block(X, X)[0] + fine.block(X, X)[0] + NOISE * torch.eye(9).double()
    normal = torch.distributions.MultivariateNormal(torch.zeros(9).double(), S)
    z = hyper.vector[0] - prior.center(2)
    penalty = 0.5 * z @ torch.linalg.solve(prior.covariance(2), z)

    found = log_joint(InfiniteKernel(ERF, Scales.ones(2)), X, Y, hyper, prior)
    torch.testing.assert_close(found[0], normal.log_prob(Y[0]) - penalty)


def rippled(X):
    """A bowl with ripples a fiftieth of the cube long, and a bowl."""
    bowl = (X - 0.4).square().sum(dim=1)
    ripples = torch.cos(2 * math.pi * 25 * X).sum(dim=1)
    return torch.stack([bowl + 0.05 * ripples, bowl], dim=1)


@pytest.fixture(scope="module")
def clustered():
    """Points everywhere, and a few within one ripple, as a search makes them."""
    spread = sobol_points(3, 60, seed=3)
    cluster = 0.43 + 0.01 * sobol_points(3, 20, seed=4)
    return torch.cat([spread, cluster])


def test_grain_is_learned_where_there_are_ripples_and_only_there(clustered):
    recipe = Tangent(activation="erf", has_grain=True)
    model = recipe.fit(clustered, rippled(clustered))
    (run,) = recipe.hyper(model)["runs"]
    ripples, none = run["members"][0]["hyper"]["grain"]

    assert model.has_grain
    assert math.exp(ripples[0]) > 0.05
    assert none[0] == NO_GRAIN
    warm = recipe.fit(clustered, rippled(clustered), warm=recipe.hyper(model))
    (run,) = recipe.hyper(warm)["runs"]
    assert run["members"][0]["hyper"]["grain"][1][0] == NO_GRAIN
    smooth = recipe.fit(clustered, rippled(clustered)[:, 1:])
    assert not smooth.has_grain
    assert "grain" not in recipe.hyper(smooth)["runs"][0]["members"][0]["hyper"]


def test_the_trend_of_a_rippled_function_is_seen(clustered):
    new = sobol_points(3, 200, seed=5)
    bowl = (new - 0.4).square().sum(dim=1)
    errors = {}
    for has_grain in (False, True):
        model = Tangent(has_grain=has_grain).fit(clustered, rippled(clustered)[:, :1])
        with torch.no_grad():
            mean = model.smooth().posterior(new[:, None, :]).mean[:, 0, 0]
        errors[has_grain] = float((mean - bowl).square().mean().sqrt())
    assert errors[True] < 0.8 * errors[False]


def test_a_grown_model_is_one_made_anew(clustered):
    recipe = Tangent(activation="erf", has_grain=True)
    Y = rippled(clustered)[:, :1]
    model = recipe.fit(clustered[:70], Y[:70])
    grown = model.extended(clustered[70:], Y[70:]).smooth()
    fresh = recipe.restore(clustered, Y, recipe.hyper(model)).smooth()
    A = sobol_points(3, 5, seed=6)
    for found, expected in zip(grown.moments(A), fresh.moments(A), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-9)
