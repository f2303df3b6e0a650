"""Lower bounds of constraints."""

import pytest
import torch

from wideopt.acquisition.bounds import constraint_bounds
from wideopt.surrogates import Tangent


@pytest.fixture(scope="module")
def model():
    g = torch.Generator().manual_seed(0)
    X = torch.rand(30, 2, generator=g, dtype=torch.float64)
    r = (X - 0.3).square().sum(1)
    Y = [r, r - 0.2, torch.sin(4 * X[:, 0]) - 2.0, X[:, 1] - 0.5, 3.0 + r]
    noise = 0.01 * torch.randn(30, 5, generator=g, dtype=torch.float64)
    return Tangent().fit(X, torch.stack(Y, dim=1) + noise)


@pytest.mark.parametrize("beta", [0.0, 1.5, -1.5])
@pytest.mark.parametrize("where", [slice(None), slice(1)])
def test_excess_is_the_sum_of_positive_bounds(model, beta, where):
    g = torch.Generator().manual_seed(1)
    X = torch.rand(40, 2, generator=g, dtype=torch.float64)[where].requires_grad_()
    bounds = constraint_bounds(model, beta)
    both = bounds.excess(X), torch.relu(bounds(X)).sum(dim=-1)
    torch.testing.assert_close(*both)
    slopes = [torch.autograd.grad(each.sum(), X)[0] for each in both]
    torch.testing.assert_close(*slopes)


def test_no_deviation_is_computed_where_means_are_enough(model, monkeypatch):
    third = model.subset_output([0, 2, 2])  # far below zero everywhere
    bounds = constraint_bounds(third, 1.0)
    monkeypatch.setattr(type(third), "posterior", None)
    X = torch.rand(5, 2, dtype=torch.float64)
    assert not bounds.excess(X).any()


def test_means_are_those_of_the_posterior(model):
    X = torch.rand(3, 4, 2, dtype=torch.float64)
    expected = model.posterior(X.unsqueeze(-2)).mean.squeeze(-2)
    torch.testing.assert_close(model.means(X), expected)
