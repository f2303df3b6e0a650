"""The local Lagrangian and the penalized improvement, against direct formulas."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from wideopt.acquisition.coupled import (
    Affine,
    NegativeLagrangian,
    PenalizedImprovement,
    clipped_bounds,
)
from wideopt.data.units import Units
from wideopt.space import Space
from wideopt.surrogates import GaussianProcess, Tangent, outputs_of

RECIPES = [
    GaussianProcess("rbf", max_iter=20),
    Tangent(activation="erf", is_tuned=False, noise=1e-3),
]


def rand(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.float64)


def fitted(recipe):
    X = rand(8, 2)
    Y = torch.stack([X.sum(dim=1).sin(), X[:, 0] - X[:, 1], X.prod(dim=1)], dim=1)
    return recipe.fit(X, Y)


def affine():
    A = torch.tensor([[1.0, -0.5]], dtype=torch.float64)
    return Affine(A, Units.of(Space([(-1, 1), (0, 4)])))


@pytest.mark.parametrize("recipe", RECIPES, ids=["gp", "tangent"])
@pytest.mark.parametrize("C", [float("inf"), 0.3])
def test_lagrangian(recipe, C):
    model = fitted(recipe)
    lam, mu = torch.tensor([0.7, 1.3]).double(), torch.tensor([-0.4]).double()
    acqf = NegativeLagrangian(model, 2.0, C, weights=lam, affine=affine(), slope=mu)
    U = rand(6, 2, seed=1)
    value = 0.0
    for output, weight in zip(outputs_of(model), (1.0, 0.7, 1.3), strict=True):
        posterior = output.posterior(U.unsqueeze(1))
        low = (posterior.mean - 2.0 * posterior.variance.sqrt()).flatten()
        value = value + weight * low.clamp(-C, C)
    x = torch.stack([2 * U[:, 0] - 1, 4 * U[:, 1]], dim=1)
    value = value - 0.4 * (x[:, 0] - 0.5 * x[:, 1])
    torch.testing.assert_close(acqf(U.unsqueeze(1)), -value)


def test_gradient_of_the_lagrangian():
    weights, slope = torch.tensor([0.7, 1.3]).double(), torch.tensor([-0.4]).double()
    acqf = NegativeLagrangian(
        fitted(RECIPES[1]),
        2.0,
        float("inf"),
        weights=weights,
        affine=affine(),
        slope=slope,
    )
    U = rand(3, 1, 2, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(acqf, (U,), atol=1e-4)


def test_bounds_are_clipped_on_both_sides():
    low = clipped_bounds(fitted(RECIPES[1]), rand(50, 2, seed=3), 3.0, 0.1)
    assert low.shape == (50, 3)
    assert low.min() == -0.1
    assert low.max() == 0.1


def test_penalized_improvement():
    model = outputs_of(fitted(RECIPES[0]))[0]
    target = torch.tensor([0.25]).double()
    acqf = PenalizedImprovement(model, 0.6, affine(), target, 5.0)
    U = rand(4, 1, 2, seed=4)
    gap = (2 * U[:, 0, 0] - 1) - 2 * U[:, 0, 1] - 0.25
    posterior = model.posterior(U)
    mean = posterior.mean.detach().numpy().ravel()
    sigma = posterior.variance.detach().sqrt().numpy().ravel()
    z = (0.6 - mean) / sigma
    improvement = (0.6 - mean) * norm.cdf(z) + sigma * norm.pdf(z)
    expected = improvement - 2.5 * gap.numpy() ** 2
    np.testing.assert_allclose(acqf(U).detach().numpy(), expected, rtol=1e-6)
