"""Draws from GPs: their moments are those of the posterior, joint ones included."""

import pytest
import torch

from wideopt.surrogates import GaussianProcess
from wideopt.surrogates.gp import marginals_of
from wideopt.surrogates.gp_draws import GPDraw


@pytest.fixture(scope="module", params=["matern", "rbf"])
def model(request):
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(12, 2, generator=generator, dtype=torch.float64)
    noise = 0.1 * torch.randn(12, generator=generator, dtype=torch.float64)
    Y = torch.stack([(5 * X[:, 0]).sin() + noise, 3e4 * X.sum(dim=1)], dim=1)
    return GaussianProcess(request.param).fit(X, Y)


def test_means_and_covariances_are_those_of_the_posterior(model):
    A = torch.tensor([[0.1, 0.9], [0.2, 0.8], [0.95, 0.05]], dtype=torch.float64)
    generator = torch.Generator().manual_seed(1)
    n = 3000

    with torch.no_grad():
        draws = [GPDraw.of(marginals_of(model), generator) for _ in range(n)]
        sample = torch.stack([draw(A) for draw in draws])
        for i, output in enumerate(model.models):
            posterior = output.posterior(A)
            covariance = posterior.distribution.covariance_matrix
            deviation = covariance.diagonal().sqrt()
            off = sample[:, :, i].mean(dim=0) - posterior.mean[:, 0]
            assert bool((off.abs() < 5 * deviation / n**0.5).all())
            found = torch.cov(sample[:, :, i].mT)
            scale = deviation[:, None] * deviation
            assert torch.allclose(found / scale, covariance / scale, atol=0.1)


def test_a_draw_is_a_function_with_gradients(model):
    draw = GPDraw.of(marginals_of(model), torch.Generator().manual_seed(2))
    X = torch.rand(5, 3, 2, dtype=torch.float64, requires_grad=True)
    values = draw(X)

    assert values.shape == (5, 3, 2)
    assert torch.allclose(draw(X[2]), values[2])
    scales = marginals_of(model).scale[:, 0]
    assert torch.autograd.gradcheck(lambda Z: draw(Z) / scales, X)
