"""Moments at one point against those by automatic differentiation."""

import math

import numpy as np
import pytest
import torch

from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.point import PointPosterior
from wideopt.numerics.posterior import DualPosterior
from wideopt.numerics.scales import Scales


def _posterior(
    activation, depth, is_bent, o=3, d=4, n=30, seed=0, is_grainy=False, **kwargs
):
    g = torch.Generator().manual_seed(seed)
    rand = lambda *shape: torch.rand(*shape, generator=g, dtype=torch.float64)  # noqa: E731
    bend = 4.0 * rand(o, d) - 2.0 if is_bent else None
    if bend is not None:
        bend[0] = 0.0
        bend[1, 0] = 5e-5
    grain = torch.stack([rand(o), 3.0 + 5.0 * rand(o)], dim=1) if is_grainy else None
    scales = Scales(0.3 + rand(o, d), 0.5 + rand(o), 0.5 + rand(o), bend, grain)
    kernel = InfiniteKernel(Architecture(depth, 2, activation, **kwargs), scales)
    X = rand(n, d)
    return DualPosterior.of(kernel, X, torch.sin(9 * rand(o, n)), 1e-3 * (1 + rand(o)))


@pytest.mark.parametrize("is_bent", [False, True])
@pytest.mark.parametrize(
    ("activation", "depth"),
    [("erf", 1), ("erf", 2), ("relu", 1), ("relu", 3), ("bowl", 1)],
)
def test_values_and_gradients_are_those_of_autograd(activation, depth, is_bent):
    _compare(_posterior(activation, depth, is_bent))


@pytest.mark.parametrize("activation", ["erf", "bowl"])
@pytest.mark.parametrize("is_smooth", [False, True])
def test_a_grain_counts_unless_the_trend_is_asked_for(activation, is_smooth):
    posterior = _posterior(activation, 1, is_bent=True, is_grainy=True)
    _compare(posterior.smooth() if is_smooth else posterior)


def _compare(posterior):
    view = PointPosterior.of(posterior)
    for x in torch.rand(5, 4, dtype=torch.float64):
        copies = x.repeat(3, 1).requires_grad_()
        mean, variance = posterior.marginals(copies.unsqueeze(-2))
        (mean_slope,) = torch.autograd.grad(mean.sum(), copies, retain_graph=True)
        (variance_slope,) = torch.autograd.grad(variance.sum(), copies)
        found = view(x.numpy())
        wanted = mean.squeeze(-1), variance.squeeze(-1), mean_slope, variance_slope
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(("activation", "depth"), [("erf", 1), ("relu", 3)])
def test_gradients_are_finite_at_an_observation(activation, depth):
    posterior = _posterior(activation, depth, is_bent=True)
    found = PointPosterior.of(posterior)(posterior.X[3].numpy())
    assert all(np.isfinite(part).all() for part in found)
    assert (found.variance >= 0).all()


def test_of_what_is_not_written_out_there_is_no_view():
    assert PointPosterior.of(_posterior("sin", 1, is_bent=False)) is None
    assert PointPosterior.of(_posterior("erf", 1, False, readout="fixed")) is None
    assert PointPosterior.of(math.pi) is None
