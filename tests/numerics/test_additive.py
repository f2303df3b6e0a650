"""Sums of curves: the kernel, draws, and when evidence asks for them."""

import math

import pytest
import torch

from wideopt.numerics.additive import AdditiveKernel
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.scales import Scales
from wideopt.search.design import sobol_points
from wideopt.surrogates.tangent import Tangent


def row(values):
    return None if values is None else torch.tensor([values], dtype=torch.float64)


def kernel_of(*inputs, bias=0.5, output=1.3, bend=None, grain=None):
    one = torch.ones(1, dtype=torch.float64)
    scales = Scales(row(inputs), bias * one, output * one, row(bend), row(grain))
    return AdditiveKernel(scales)


def test_it_is_a_sum_of_matern_kernels():
    # on short scales, where the ends of the interval are far
    kernel, X = kernel_of(4.0, 8.0), torch.rand(9, 2, dtype=torch.float64)
    gaps = 2.0 * (X[:, None] - X[None]).abs() * torch.tensor([4.0, 8.0]).double()
    r = math.sqrt(5.0) * gaps
    matern = ((1.0 + r + r.square() / 3.0) * torch.exp(-r)).mean(-1)
    expected = 1.3**2 * (matern + 0.5**2)

    torch.testing.assert_close(kernel.block(X, X)[0], expected, rtol=0.0, atol=5e-3)
    torch.testing.assert_close(kernel.diag(X), kernel.block(X, X).diagonal(0, 1, 2))


def test_it_has_no_interactions():
    kernel = kernel_of(1.0, 3.0, bend=(1.0, -2.0))
    a, b, c, d = torch.rand(4, 1, dtype=torch.float64)
    corners = torch.stack([torch.cat(p) for p in ((a, b), (a, d), (c, b), (c, d))])
    signs = torch.tensor([1.0, -1.0, -1.0, 1.0], dtype=torch.float64)
    other = torch.rand(5, 2, dtype=torch.float64)
    assert float((signs @ kernel.block(corners, other)[0]).abs().max()) < 1e-12


def test_what_is_no_sum_is_grain():
    plain, kernel = kernel_of(1.0, 3.0), kernel_of(1.0, 3.0, grain=(0.7, 2.0))
    A, B = sobol_points(2, 5, seed=1), sobol_points(2, 6, seed=2)
    gaps = (2.0 * (A[:, None] - B[None]) * row((1.0, 3.0))).square().sum(-1)
    rest = 0.7**2 * torch.exp(-0.5 * 2.0**2 * gaps)

    torch.testing.assert_close(kernel.block(A, B), plain.block(A, B) + rest)
    torch.testing.assert_close(kernel.diag(A), plain.diag(A) + 0.7**2)


@pytest.mark.parametrize("is_smooth", [False, True])
def test_draws_with_a_grain_have_the_moments_of_the_posterior(is_smooth):
    kernel = kernel_of(1.0, 3.0, bend=(0.5, 0.0), grain=(0.7, 2.0))
    X, A = sobol_points(2, 8, seed=1), sobol_points(2, 3, seed=2)
    noise = torch.tensor([0.01], dtype=torch.float64)
    posterior = fit_posterior(kernel, X, X.prod(1)[None], noise)
    if is_smooth:  # the textbook formula, the grain being noise that correlates
        posterior = posterior.smooth()
        plain = kernel_of(1.0, 3.0, bend=(0.5, 0.0))
        S = kernel.block(X, X)[0] + 0.01 * torch.eye(8, dtype=torch.float64)
        weights = torch.linalg.solve(S, plain.block(X, A)[0]).T
        found = posterior.moments(A[None])
        torch.testing.assert_close(found[0][0], weights @ X.prod(1))
        rest = plain.block(A, A)[0] - weights @ plain.block(X, A)[0]
        torch.testing.assert_close(found[1][0], rest)
    mean, covariance = posterior.moments(A[None])
    values = torch.cat(
        [
            posterior.draw(torch.Generator().manual_seed(seed), 200)(A[None])[:, 0]
            for seed in range(60)
        ]
    )
    spread = covariance[0].diagonal().sqrt()
    assert float(((values.mean(0) - mean[0]) / spread).abs().max()) < 0.06
    off = (torch.cov(values.T) - covariance[0]) / torch.outer(spread, spread)
    assert float(off.abs().max()) < 0.1


def test_draws_have_the_moments_of_the_posterior():
    kernel = kernel_of(1.0, 3.0, bend=(0.5, 0.0))
    X, A = sobol_points(2, 8, seed=1), sobol_points(2, 4, seed=2)
    noise = torch.tensor([0.01], dtype=torch.float64)
    posterior = fit_posterior(kernel, X, X.sum(1)[None], noise)
    mean, covariance = posterior.moments(A[None])
    draw = posterior.draw(torch.Generator().manual_seed(0), 20_000)
    values = draw(A[None])[:, 0]
    spread = covariance[0].diagonal().sqrt()
    assert float(((values.mean(0) - mean[0]) / spread).abs().max()) < 0.04
    off = (torch.cov(values.T) - covariance[0]) / torch.outer(spread, spread)
    assert float(off.abs().max()) < 0.05
    few = posterior.draw(torch.Generator().manual_seed(0), 3, nu=1e-9)(A[None])
    torch.testing.assert_close(few[:, 0], mean.expand(3, -1), rtol=0.0, atol=1e-6)


def test_draws_take_batches():
    kernel = kernel_of(1.0, 3.0)
    draw = kernel.prior_draw(torch.Generator().manual_seed(0), (3, 1))
    X = torch.rand(5, 1, 4, 2, dtype=torch.float64)
    values = draw(X)
    assert values.shape == (3, 5, 1, 4)
    torch.testing.assert_close(values[:, 2], draw(X[2]))


def targets(X):
    """A sum of waves, one for each input, and a wave of all inputs."""
    waves = torch.sin(2 * math.pi * (1.0 + torch.arange(4)) * X)
    together = torch.sin(3.0 * X.sum(dim=1)) * X[:, 0]
    return torch.stack([waves.sum(dim=1), together], dim=1)


def test_curves_are_learned_where_there_are_any_and_only_there():
    X, new = sobol_points(4, 90, seed=3), sobol_points(4, 200, seed=4)
    errors = {}
    for has_curves in (False, True):
        recipe = Tangent(has_curves=has_curves)
        model = recipe.fit(X, targets(X))
        with torch.no_grad():
            mean = model.posterior(new[:, None, :]).mean[:, 0]
        errors[has_curves] = (mean - targets(new)).square().mean(dim=0).sqrt()
        members = recipe.hyper(model)["runs"][0]["members"]
    weights = {member["index"]: member["weights"] for member in members}
    assert weights[3][0] == 0.5  # of a clear sum, no more
    assert weights[3][1] == 0.0
    assert float(errors[True][0]) < 0.7 * float(errors[False][0])
    assert float(errors[True][1]) == pytest.approx(float(errors[False][1]), rel=0.05)


def test_a_grown_model_is_one_made_anew():
    X = sobol_points(4, 50, seed=3)
    Y = targets(X)[:, :1]
    recipe = Tangent(has_curves=True)
    model = recipe.fit(X[:45], Y[:45])
    grown = model.extended(X[45:], Y[45:])
    fresh = recipe.restore(X, Y, recipe.hyper(model))
    A = sobol_points(4, 5, seed=6)
    for found, expected in zip(grown.moments(A), fresh.moments(A), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-9)
