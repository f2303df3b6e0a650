"""The written-out gradient of the regression objective is autograd's."""

import pytest
import torch

from wideopt.numerics.backprop import value_and_gradient
from wideopt.numerics.network import Architecture
from wideopt.numerics.regression import Network, Regression, flattened
from wideopt.numerics.scales import Scales


@pytest.mark.parametrize(
    "architecture",
    [
        Architecture(1, 8, "relu", "gaussian"),
        Architecture(3, 6, "tanh"),
        Architecture(2, 6, "erf", readout="fixed"),
        Architecture(2, 6, "silu", "zero-last"),
    ],
    ids=str,
)
def test_it_is_the_gradient(architecture):
    generator = torch.Generator().manual_seed(0)
    kwargs = {"generator": generator, "dtype": torch.float64}
    theta_0 = architecture.initial_weights(3, generator)
    X, Y = torch.rand(7, 3, **kwargs), torch.randn(2, 7, **kwargs)
    Y[1, 2] = torch.nan
    scales = Scales.ones(3, (2,))
    network = Network(architecture, scales, theta_0)
    ridge = torch.tensor([0.1, 0.0], dtype=torch.float64)
    problem = Regression.of(network, X, Y, theta_0, ridge)
    theta = flattened(architecture, theta_0, (2,))
    theta = theta + torch.randn(theta.shape, **kwargs)
    for part in (problem, problem.rows(torch.tensor([0, 2, 5]))):
        loss, gradient = value_and_gradient(part, theta)
        expected_loss, expected = part.gradient(theta)
        torch.testing.assert_close(loss, expected_loss)
        torch.testing.assert_close(gradient, expected)
