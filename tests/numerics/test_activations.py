import math

import pytest
import torch

from wideopt.exceptions import InputError
from wideopt.numerics.activations import ACTIVATIONS, get_activation

CLOSED = [name for name, each in ACTIVATIONS.items() if each.expectations is not None]


def t(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_dphi_is_the_derivative_of_phi(name):
    act = get_activation(name)
    z = torch.linspace(-3, 3, 13, dtype=torch.float64) + 0.01
    z.requires_grad_()
    (grad,) = torch.autograd.grad(act.phi(z).sum(), z)
    torch.testing.assert_close(act.dphi(z), grad)


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("abc", [(1.0, 2.0, 0.7), (0.3, 0.5, -0.3), (2.0, 2.0, 1.9)])
def test_expectations_agree_with_quadrature(name, abc):
    act = get_activation(name)
    a, b, c = abc
    # composite trapezoid on a fine grid; u = √a s, v = c/√a s + √(b - c²/a) r
    s = torch.linspace(-8, 8, 2001, dtype=torch.float64)
    weight = torch.exp(-0.5 * s**2) / math.sqrt(2 * math.pi) * (s[1] - s[0])
    u = math.sqrt(a) * s[:, None]
    v = c / math.sqrt(a) * s[:, None] + math.sqrt(b - c**2 / a) * s[None, :]
    W = weight[:, None] * weight[None, :] * act.gain**2
    mean, slope = act.expectations(t(a), t(b), t(c))
    tol = {"rtol": 0, "atol": 2e-3 if name == "relu" else 1e-9}
    # two units: those of a network need not be alike
    u, v = (z.unsqueeze(-1).expand(*z.shape, 2) for z in (u, v))
    phi2 = (act.phi(u) * act.phi(v)).mean(-1)
    dphi2 = (act.dphi(u) * act.dphi(v)).mean(-1)
    torch.testing.assert_close(mean[0], (W * phi2).sum(), **tol)
    torch.testing.assert_close(slope[0], (W * dphi2).sum(), **tol)


@pytest.mark.parametrize("name", CLOSED)
def test_prices_theorem(name):
    act = get_activation(name)
    c = t(-0.6, 0.0, 0.3, 0.8).requires_grad_()
    mean, slope = act.expectations(t(1.0), t(0.9), c)
    (grad,) = torch.autograd.grad(mean.sum(), c)
    torch.testing.assert_close(grad, slope)


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("abc", [(1, 1, 1), (1, 1, -1), (0, 1, 0), (0, 0, 0)])
def test_gradients_are_finite_at_the_ends(name, abc):
    act = get_activation(name)
    inputs = [t(float(x)).requires_grad_() for x in abc]
    mean, slope = act.expectations(*inputs)
    grads = torch.autograd.grad((mean + slope).sum(), inputs)
    assert all(torch.isfinite(x).all() for x in (mean, slope, *grads))


def test_variance_passes_relu_layers():
    mean, slope = get_activation("relu").expectations(t(1.7), t(1.7), t(1.7))
    torch.testing.assert_close(mean, t(1.7))
    torch.testing.assert_close(slope, t(1.0))


def test_unknown_activation():
    with pytest.raises(InputError, match="gelu"):
        get_activation("gelu")
