"""Improvement and bounds at one point against BoTorch's and automatic gradients."""

import mpmath
import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement

from wideopt.acquisition.at_point import ImprovementAtPoint, log_h
from wideopt.acquisition.bounds import constraint_bounds
from wideopt.search.within import _BothByAutograd
from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.gp import GaussianProcess
from wideopt.surrogates.tangent import Tangent


@pytest.fixture(scope="module")
def data():
    g = torch.Generator().manual_seed(0)
    X = torch.rand(25, 3, generator=g, dtype=torch.float64)
    f = (3 * X - 1).square().sum(1) + torch.sin(9 * X[:, 0])
    c = torch.stack([X[:, 0] - X[:, 1], 1e3 * (X[:, 2].abs() - 0.5).abs()], dim=1)
    return X, torch.cat([f[:, None], c], dim=1)


@pytest.mark.parametrize("beta", [-1.5, 0.0, 2.0])
@pytest.mark.parametrize("share", [[0.3, 0.3, 0.3], [0.0, 0.4, 1.0], [0.2, 0.0, 0.0]])
def test_a_mixture_gives_what_botorch_and_autograd_give(data, beta, share):
    X, Z = data
    model = Tangent(bend_spread=1.0).fit(X, Z)
    rest = [1.0 - w for w in share]
    recipe = [
        {**model.recipe[0], "weights": share},
        {"index": 1, "hyper": model.recipe[0]["hyper"], "weights": rest},
    ]
    model = Tangent().restore(
        X, Z, {"runs": [{"outputs": [0, 1, 2], "members": recipe}]}
    )
    best = float(Z[:, 0].min())
    improvement = LogExpectedImprovement(
        outputs_of(model)[0], best_f=best, maximize=False
    )
    slow = _BothByAutograd(improvement, constraint_bounds(model, beta))
    fast = ImprovementAtPoint.of(model, best, beta)
    assert len(fast.members) == 2
    for x in np.random.default_rng(1).random((6, 3)):
        for a, b in zip(fast(x), slow(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
        for kept in ([], [1], [0, 1]):
            rows = [0, *(i + 1 for i in kept)]
            for a, b in zip(fast.restricted(kept)(x), fast(x), strict=True):
                np.testing.assert_allclose(a, b[rows], rtol=1e-12)


def test_other_models_have_no_such_view(data):
    assert ImprovementAtPoint.of(GaussianProcess().fit(*data), 0.0, 1.0) is None


@pytest.mark.parametrize("u", [-1e4, -300.0, -26.0, -24.0, -3.0, -1.0, -0.5, 0.0, 4.0])
def test_log_h_is_exact_far_below_zero(u):
    with mpmath.workdps(60):
        phi, cdf = mpmath.npdf(u), mpmath.ncdf(u)
        h = phi + u * cdf
        wanted = float(mpmath.log(h)), float(cdf / h)
    np.testing.assert_allclose(log_h(u), wanted, rtol=1e-8)
