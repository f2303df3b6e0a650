"""`PDE`: residuals, and what it says of equations that cannot be used."""

import dataclasses
import math

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.exceptions import InputError
from wideopt.pde import PDE, laplacian, partial


@pytest.fixture
def X():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(10, 2, generator=generator, dtype=torch.float64)


def bowl(x):
    return (x**2).sum()


def test_public_names():
    assert wo.PDE is PDE
    assert wo.pde.laplacian is laplacian
    names = {"PDE", "Unknown", "divergence", "grad", "laplacian", "partial"}
    assert set(wo.pde.__all__) == names


@pytest.mark.parametrize("rhs", [1, 1.0, lambda x: 1.0, lambda x: torch.ones(())])
def test_residual_of_a_constant(rhs, X):
    residual = PDE(laplacian, rhs).residual(bowl, X)
    torch.testing.assert_close(residual, torch.full((10,), 3.0, dtype=torch.float64))


def test_residual_of_a_function(X):
    pde = PDE(lambda u, x: partial(u, x, 0) * u(x), lambda x: x[0] * x[1])
    expected = 2 * X[:, 0] * (X**2).sum(-1) - X[:, 0] * X[:, 1]
    torch.testing.assert_close(pde.residual(bowl, X), expected)
    assert pde.residual(bowl, X[:0]).shape == (0,)


def test_residual_is_differentiable_and_can_be_batched(X):
    pde = PDE(laplacian, lambda x: x[0])

    def mean(scale):
        return pde.residual(lambda x: torch.sin(scale * x).sum(), X).mean()

    scale = torch.tensor(1.5, dtype=torch.float64)
    step = 1e-5
    expected = (mean(scale + step) - mean(scale - step)) / (2 * step)
    torch.testing.assert_close(
        torch.func.grad(mean)(scale), expected, rtol=1e-7, atol=0
    )

    def residual(scale):
        return pde.residual(lambda x: torch.sin(scale * x).sum(), X, is_checked=False)

    scales = torch.tensor([0.5, 1.5], dtype=torch.float64)
    batch = torch.func.vmap(residual)(scales)
    torch.testing.assert_close(batch[1], residual(scale))


def test_points():
    rows = np.array([[0, 1], [2, 3], [4, 5]])
    pde = PDE(laplacian, points=rows, n_points=7)
    assert pde.n_points == 3
    assert pde.points.dtype == torch.float64
    assert pde.points.tolist() == rows.tolist()
    assert dataclasses.replace(pde, rhs=1.0).n_points == 3
    assert PDE(laplacian).points is None


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operator": 3}, "operator is 3; give a function"),
        ({"rhs": "0"}, "rhs is '0'"),
        ({"rhs": math.nan}, "rhs is nan"),
        ({"n_points": 0}, "n_points is 0"),
        ({"n_points": 2.5}, "n_points is 2.5; it must be a positive integer"),
        ({"n_points": True}, "n_points is True"),
        ({"points": [1.0, 2.0]}, r"shape \(2,\)"),
        ({"points": np.empty((0, 2))}, r"shape \(0, 2\)"),
        ({"points": [["a"]]}, "not numbers"),
        ({"points": [[math.nan]]}, "not all finite"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        PDE(**({"operator": laplacian} | settings))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("operator", "rhs", "message"),
    [
        (wo.pde.grad, 0.0, r"operator\(u, x\) has the shape \(2,\) at one point"),
        (lambda u, x: x[:1], 0.0, r"shape \(1,\)"),
        (lambda u, x: 0.0, 0.0, r"operator\(u, x\) is 0.0; it must be a tensor"),
        (lambda u, x: None, 0.0, "is None"),
        (lambda u, x: torch.log(-u(x)), 0.0, r"operator\(u, x\) is nan at x = \["),
        (lambda u, x: u(x) / (0 * x[0]), 0.0, "is inf at x"),
        (laplacian, lambda x: x, r"rhs\(x\) has the shape \(2,\)"),
        (laplacian, lambda x: x[0] / 0, r"rhs\(x\) is inf"),
    ],
)
def test_bad_values(operator, rhs, message, X):
    with pytest.raises(InputError, match=message) as info:
        PDE(operator, rhs).residual(bowl, X)
    assert "\n" not in str(info.value)


@pytest.mark.usefixtures("unchecked")
def test_one_point_is_not_a_batch(X):
    with pytest.raises(InputError, match=r"X has the shape \(2,\)"):
        PDE(laplacian).residual(bowl, X[0])


def test_nan_inside_a_gradient_is_said_too(X):
    pde = PDE(lambda u, x: torch.log(-u(x)))
    with pytest.raises(InputError, match="is nan at x"):
        torch.func.grad(lambda s: pde.residual(lambda x: s * bowl(x), X).sum())(X[0, 0])
