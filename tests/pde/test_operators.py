"""Operators against nested reverse mode and closed forms; how they compose."""

import math

import pytest
import torch
from torch.func import functional_call, vmap

from wideopt.exceptions import InputError
from wideopt.numerics.network import Architecture
from wideopt.pde import _jet, divergence, grad, laplacian, partial


def nested(u, i, order):
    """The derivative by reverse mode of reverse mode of ..."""
    if order == 0:
        return u
    return lambda x: torch.func.grad(nested(u, i, order - 1))(x)[i]


@pytest.fixture
def points():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(20, 3, generator=generator, dtype=torch.float64)


@pytest.fixture
def no_nesting(monkeypatch):
    """Forward mode is not there: everything must have a rule."""

    def refuse(*_):
        raise AssertionError("there was no rule")

    monkeypatch.setattr(_jet, "_by_nesting", refuse)


@pytest.fixture
def module():
    generator = torch.Generator().manual_seed(1)
    layers = [torch.nn.Linear(3, 200), torch.nn.Tanh(), torch.nn.Linear(200, 200)]
    net = torch.nn.Sequential(*layers, torch.nn.Tanh(), torch.nn.Linear(200, 1))
    for weight in net.double().parameters():
        scale = weight.shape[-1] ** -0.5
        weight.data = scale * torch.randn(
            weight.shape, generator=generator, dtype=torch.float64
        )
    return net


@pytest.mark.usefixtures("no_nesting")
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_network_of_width_200_as_nested_reverse_mode(module, points, order):
    def u(x):
        return module(x).squeeze(-1)

    for i in (0, 2):
        got = vmap(lambda x, i=i: partial(u, x, i, order))(points)
        expected = vmap(nested(u, i, order))(points)
        torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.usefixtures("no_nesting")
@pytest.mark.parametrize("activation", ["tanh", "erf", "sin", "silu"])
@pytest.mark.parametrize("depth", [1, 2])
def test_every_smooth_activation(activation, depth, points):
    net = Architecture(depth=depth, width=20, activation=activation, init="gaussian")
    weights = net.initial_weights(2, torch.Generator().manual_seed(0))

    def u(x):
        return net.forward(weights, x[None]).squeeze(0)

    got = vmap(lambda x: partial(u, x, 1, 4))(points)
    expected = vmap(nested(u, 1, 4))(points)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


def test_gradient_in_the_parameters(module, points):
    weights = dict(module.named_parameters())

    def loss(derivative):
        def of(weights):
            def u(x):
                return functional_call(module, weights, (x,)).squeeze(-1)

            return vmap(lambda x: derivative(u, x))(points).square().sum()

        return of

    got = torch.func.grad(loss(lambda u, x: partial(u, x, 0, 4)))(weights)
    expected = torch.func.grad(loss(lambda u, x: nested(u, 0, 4)(x)))(weights)
    for name in weights:
        torch.testing.assert_close(got[name], expected[name], rtol=1e-8, atol=1e-8)
    loss(lambda u, x: partial(u, x, 0, 4))(weights).backward()
    assert module[-1].bias.grad is None  # a constant has no derivatives
    for name, weight in list(module.named_parameters())[:-1]:
        torch.testing.assert_close(weight.grad, got[name])


FUNCTIONS = {
    "sin": lambda x: torch.sin(x[0] * x[1]) + x[2].cos(),
    "sinh": lambda x: torch.sinh(x[0]) * x[1] + x.cosh().sum(),
    "exp": lambda x: torch.exp(-(x**2).sum()),
    "log": lambda x: (1 + x.square()).log().sum() / (2 - x[0]),
    "sqrt": lambda x: torch.sqrt(1 + x @ x) + (1 + x[0]) ** -1.5,
    "rsqrt": lambda x: torch.rsqrt(1 + x[0]) - torch.reciprocal(1 + x[0]),
    "tan": lambda x: torch.tan(x[0]) + torch.atan(x).sum() - torch.sigmoid(2 * x)[0],
    "lines": lambda x: (3 * x[0]).tanh() - (x[0] / 2).tan() + (-2 * x[0]).sigmoid(),
    "powers": lambda x: (x**5).sum() + x[0] ** 1 + x[1] ** 0 + 3 / (1 + x[0] ** 2),
    "softplus": lambda x: torch.nn.functional.softplus(x)[0] * x[1],
    "lists": lambda x: torch.stack([x[0], x[1] ** 2, x[0] * x[2]]).cumsum(0)[1].sin(),
    "cat": lambda x: torch.cat([x, x[:1] ** 3, torch.ones(1).double()]).mean().exp(),
    "unbind": lambda x: math.prod(x) + sum(part**2 for part in x.split(1))[0],
    "where": lambda x: torch.where(x > 0.5, x**3, 1.0).sum(),
    "outer": lambda x: torch.outer(x, x.sin()).T.reshape(-1)[1:6].sum(),
    "addcmul": lambda x: torch.addcmul(x, x, x.sin(), value=2.0).sum(),
    "sub": lambda x: (1 - x)[0] * (x - 2)[0] - torch.rsub(x, 1.0)[0] * -x[0],
    "kernel": lambda x: torch.dot(x, torch.linalg.vecdot(x, x) * torch.erf(x)),
    "clone": lambda x: x.clone().unsqueeze(0).mT.squeeze(-1).flip(0).square().sum(),
}


@pytest.mark.usefixtures("no_nesting")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_rule(name, points):
    for order in (1, 2, 4):
        got = vmap(lambda x, k=order: partial(FUNCTIONS[name], x, 0, k))(points)
        expected = vmap(nested(FUNCTIONS[name], 0, order))(points)
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


WITHOUT_RULES = {
    "prod": lambda x: x.prod() * torch.exp(x[0]),
    "lgamma": lambda x: torch.lgamma(1 + x).sum(),
    "power": lambda x: 2.0 ** x[0] + x[1] ** (1 + x[0]),
    "norm": lambda x: torch.linalg.vector_norm(x).sin(),
    "alpha": lambda x: torch.add(x, x**2, alpha=3).sum(),
    "softplus": lambda x: torch.nn.functional.softplus(x, 2.0).sum(),
    "copy": lambda x: torch.empty_like(x).copy_(x).square().sum(),
    "grad": lambda x: torch.func.grad(lambda z: z.sin().prod())(x).sum(),
    "vmap": lambda x: vmap(lambda z: z.sin() ** 2)(x).sum(),
    "jvp": lambda x: torch.func.jvp(torch.sin, (x,), (x**2,))[1].sum(),
}


@pytest.mark.parametrize("name", WITHOUT_RULES)
def test_functions_without_a_rule(name, points):
    u = WITHOUT_RULES[name]
    for order in (1, 3):
        got = vmap(lambda x, k=order: partial(u, x, 0, k))(points)
        expected = vmap(nested(u, 0, order))(points)
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["sin", "exp", "log", "prod"])
def test_operators_compose(name, points):
    u = (FUNCTIONS | WITHOUT_RULES)[name]

    def rigidity(z):
        return torch.exp(z[0] * z[1])

    def beam(x):
        return partial(lambda z: rigidity(z) * partial(u, z, 0, 2), x, 0, 2)

    def bent(x):
        return rigidity(x) * nested(u, 0, 2)(x)

    expected = vmap(nested(bent, 0, 2))(points)
    torch.testing.assert_close(vmap(beam)(points), expected, rtol=1e-9, atol=1e-9)

    def flux(z):
        return rigidity(z) * grad(u, z)

    def flux_by_reverse(z):
        return rigidity(z) * torch.func.grad(u)(z)

    expected = vmap(lambda x: torch.func.jacrev(flux_by_reverse)(x).trace())(points)
    got = vmap(lambda x: divergence(flux, x))(points)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)

    hessian = torch.func.hessian(u)
    twice = vmap(lambda x: laplacian(lambda z: laplacian(u, z), x))(points)
    expected = vmap(torch.func.hessian(lambda z: hessian(z).trace()))(points)
    expected = expected.diagonal(dim1=-2, dim2=-1).sum(-1)
    torch.testing.assert_close(twice, expected, rtol=1e-9, atol=1e-9)
    mixed = vmap(lambda x: partial(lambda z: partial(u, z, 1), x, 0))(points)
    torch.testing.assert_close(mixed, vmap(hessian)(points)[:, 0, 1])


def test_gradient_in_the_point(module, points):
    def u(x):
        return module(x).squeeze(-1)

    got = vmap(torch.func.grad(lambda x: partial(u, x, 0, 3)))(points)
    expected = vmap(torch.func.grad(nested(u, 0, 3)))(points)
    torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-10)
    x = points[0].clone().requires_grad_()
    partial(u, x, 0, 3).backward()
    torch.testing.assert_close(x.grad, got[0])


def test_directions_are_not_confused():
    """d/dx [x d/dy (x + y)] = 1 at y = 1; one level for both would give 2."""
    one = torch.ones(1, dtype=torch.float64)

    def inner(x):
        return x[0] * partial(lambda y: x[0] + y[0], one, 0)

    x = torch.tensor([3.0], dtype=torch.float64)
    assert partial(inner, x, 0) == 1.0


def test_closed_forms(points):
    waves = vmap(lambda x: laplacian(lambda z: torch.sin(z).sum(), x))(points)
    torch.testing.assert_close(waves, -points.sin().sum(-1))
    swirl = vmap(lambda x: divergence(lambda z: z**2, x))(points)
    torch.testing.assert_close(swirl, 2 * points.sum(-1))
    slopes = vmap(lambda x: grad(lambda z: (z**3).sum(), x))(points)
    torch.testing.assert_close(slopes, 3 * points**2)
    x = torch.tensor([0.3], dtype=torch.float64)
    wave = partial(lambda z: torch.sin(math.pi * z[0]), x, 0, 4)
    assert float(wave) == pytest.approx(math.pi**4 * math.sin(0.3 * math.pi))


def test_what_does_not_depend_on_the_point(points):
    x = points[0]
    assert partial(lambda z: points.sum(), x, 0, 2) == 0
    assert partial(lambda z: z[1], x, 0, 2) == 0
    assert partial(lambda z: 2 * z[0], x, 0, 2) == 0
    assert laplacian(lambda z: z.sum(), x) == 0
    torch.testing.assert_close(grad(lambda z: z[0] * 2, x), 2 * torch.eye(3)[0].to(x))


def test_float32_stays(points):
    assert partial(torch.sum, points[0].float(), 0).dtype == torch.float32


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda u, x: partial(u, x, 3), r"i is 3; .* i = 0, \.\.\., 2"),
        (lambda u, x: partial(u, x, -1), "i is -1"),
        (lambda u, x: partial(u, x, 0.5), "i is 0.5; it must be an integer"),
        (lambda u, x: partial(u, x, 0, 0), "order is 0"),
        (lambda u, x: partial(u, x, 0, 1.5), "order is 1.5"),
        (lambda u, x: partial(u, x[None], 0), r"x has the shape \(1, 3\)"),
        (lambda u, x: grad(lambda z: z, x), r"shape \(3,\) .* return a scalar"),
        (lambda u, x: laplacian(lambda z: z[:1], x), r"shape \(1,\)"),
        (divergence, r"F\(x\) has the shape \(\)"),
    ],
)
def test_bad_arguments(call, message, points):
    with pytest.raises(InputError, match=message):
        call(torch.sum, points[0])


def test_an_error_of_the_function_is_its_own(points):
    def broken(x):
        return x @ torch.ones(7, dtype=torch.float64)

    with pytest.raises(RuntimeError):
        partial(broken, points[0], 0, 2)
    assert not _jet.is_inside_a_jet()
