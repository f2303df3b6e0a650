import pytest
import torch

from wideopt.numerics.parametric import (
    LinearSigmoidLinear,
    Parametric,
    flat_names,
    flat_parameters,
)


class Mixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.k = torch.nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        self.fixed = torch.nn.Parameter(torch.tensor(3.0), requires_grad=False)
        self.v = torch.nn.Parameter(torch.tensor([0.5, -1.0], dtype=torch.float64))

    def forward(self, x):
        return self.fixed * torch.exp(-self.k * x[:, 0]) + x @ self.v


def model_of(module, low=-torch.inf, high=torch.inf, **settings):
    w = flat_parameters(module)
    ends = torch.full_like(w, low), torch.full_like(w, high)
    return Parametric(module, lambda U: 4 * U, w, w.abs() + 0.1, *ends, **settings)


def test_names_and_order():
    module = Mixed()
    assert flat_names(module) == ["k", "v[0]", "v[1]"]
    assert flat_parameters(module).tolist() == [2.0, 0.5, -1.0]
    net = LinearSigmoidLinear(2, 3)
    assert flat_names(net)[:2] == ["hidden.weight[0,0]", "hidden.weight[0,1]"]
    assert len(flat_names(net)) == 3 * 2 + 3 + 3 + 1


def test_the_papers_network_has_551_parameters_in_20_dimensions():
    assert len(flat_parameters(LinearSigmoidLinear(20, 25))) == 551


@pytest.mark.parametrize("module", [Mixed(), LinearSigmoidLinear(2, 3)])
def test_at_the_origin_it_is_the_module(module):
    model = model_of(module, shift=0.7, spread=-2.0)
    U = torch.rand(6, 2, dtype=torch.float64)
    zero = torch.zeros(model.p, dtype=torch.float64)
    expected = (module(4 * U) - 0.7) / -2.0
    torch.testing.assert_close(model.one(zero, U), expected)


@pytest.mark.parametrize("module", [Mixed(), LinearSigmoidLinear(2, 3)])
def test_gradients_are_finite_differences(module):
    model = model_of(module, spread=3.0)
    generator = torch.Generator().manual_seed(0)
    Theta = 0.3 * torch.randn(2, model.p, generator=generator, dtype=torch.float64)
    U = torch.rand(4, 2, generator=generator, dtype=torch.float64)
    h, J = model.jacobians(Theta, U)
    torch.testing.assert_close(h, model.values(Theta, U.expand(2, 4, 2)))
    step = 1e-6 * torch.eye(model.p, dtype=torch.float64)
    for b in range(2):
        up = torch.stack([model.one(Theta[b] + s, U) for s in step], dim=1)
        down = torch.stack([model.one(Theta[b] - s, U) for s in step], dim=1)
        torch.testing.assert_close(J[b], (up - down) / 2e-6, rtol=1e-6, atol=1e-8)
        one = model.at(Theta[b], U)
        torch.testing.assert_close(one[0], h[b])
        torch.testing.assert_close(one[1], J[b])
        torch.testing.assert_close(h[b], model.one(Theta[b], U))


@pytest.mark.parametrize("module", [Mixed(), LinearSigmoidLinear(2, 3)])
def test_gradients_in_the_point_are_those_of_the_module(module):
    model = model_of(module, spread=3.0)
    generator = torch.Generator().manual_seed(1)
    theta = 0.3 * torch.randn(model.p, generator=generator, dtype=torch.float64)
    U = torch.rand(4, 2, generator=generator, dtype=torch.float64).requires_grad_()
    expected = torch.autograd.grad(model.one(theta, U).sum(), U)[0]
    h, G = model.at(theta, U)
    torch.testing.assert_close(
        torch.autograd.grad(h.sum(), U, retain_graph=True)[0], expected
    )
    each = model.values(theta.expand(4, -1), U[:, None, :])
    torch.testing.assert_close(torch.autograd.grad(each.sum(), U)[0], expected)
    # mixed derivatives are symmetric: d/du of (dh/dθ · t) = d/dε of dh/du at θ + ε t
    t = torch.randn(model.p, generator=generator, dtype=torch.float64)
    mixed = torch.autograd.grad((G @ t).sum(), U)[0]
    up = torch.autograd.grad(model.one(theta + 1e-5 * t, U).sum(), U)[0]
    down = torch.autograd.grad(model.one(theta - 1e-5 * t, U).sum(), U)[0]
    torch.testing.assert_close(mixed, (up - down) / 2e-5, rtol=1e-5, atol=1e-7)


def test_bounds_hold_and_the_module_is_left_alone():
    module = Mixed()
    model = model_of(module, low=-0.5, high=0.5)
    w = model.parameters(torch.full((model.p,), 9.0, dtype=torch.float64))
    torch.testing.assert_close(w, model.origin + 0.5 * model.scale)
    model.one(torch.ones(model.p, dtype=torch.float64), torch.rand(3, 2).double())
    assert flat_parameters(module).tolist() == [2.0, 0.5, -1.0]
