"""Equations as functions of derivatives: slopes, linearity, and what is refused."""

import math

import pytest
import torch

import wideopt as wo
from wideopt.pde import PDE, Unknown, divergence, grad, laplacian, partial
from wideopt.pde._system import System

SPACE = wo.Space([wo.Real(-1, 3), wo.Real(0.1, 10, log=True)])


def nonlinear(u, x):
    return u(x) * partial(u, x, 0) - laplacian(u, x)


def first_order(u, x):
    return x[1] * partial(u, x, 0) + 2 * u(x) + 7.0


def conserved(u, x):
    return divergence(lambda z: torch.exp(z[0]) * grad(u, z), x)


def fourth(u, x):
    return partial(lambda z: x[1] * partial(u, z, 0, 2), x, 1, 2)


LINEAR = {"first": first_order, "laplacian": laplacian, "div": conserved, "4": fourth}


def wave(x):
    return torch.sin(1.3 * x[0] + 0.4) * torch.log(x[1]).square() + x[0] ** 3


def derivatives(local, u, T):
    """∂^α of u in the cube, by nested reverse mode: an independent way."""

    def of(t):
        return u(local.units(t))

    def nested(f, alpha):
        for i, k in enumerate(alpha):
            for _ in range(k):
                f = along(f, i)
        return f

    def along(f, i):
        return lambda t: torch.func.grad(f)(t)[i]

    columns = [torch.stack([nested(of, a)(t) for t in T]) for a in local.alphas]
    return torch.stack(columns, dim=1)


@pytest.mark.parametrize("name", LINEAR)
def test_linear_operators_are_sums_of_derivatives(name):
    pde = PDE(LINEAR[name], n_points=2)
    system = System.of(pde, SPACE)
    assert system.is_linear
    (local,) = system.locals
    A, F = local.linearized()
    found = F + (A * derivatives(local, wave, local.T)).sum(dim=1)
    exact = pde.residual(wave, local.units(local.T))
    torch.testing.assert_close(found, exact, rtol=1e-9, atol=1e-9)


def test_nonlinear_operators_are_linearized():
    pde = PDE(nonlinear, n_points=2)
    system = System.of(pde, SPACE)
    assert not system.is_linear
    (local,) = system.locals
    X = local.units(local.T)
    C, step = derivatives(local, wave, local.T), 1e-6
    A, F = local.linearized(C)
    torch.testing.assert_close(F, pde.residual(wave, X), rtol=1e-9, atol=1e-9)

    def bump(x):
        return torch.cos(x[0]) + x[0] * x[1]

    moved = [
        pde.residual(lambda x, s=s: wave(x) + s * bump(x), X) for s in (step, -step)
    ]
    slope = (A * derivatives(local, bump, local.T)).sum(dim=1)
    torch.testing.assert_close(
        slope, (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-6
    )


def test_only_derivatives_that_matter_are_kept():
    space = wo.Space([(0, 1)] * 2)
    (local,) = System.of(PDE(laplacian), space).locals
    assert local.alphas == ((2, 0), (0, 2))
    (local,) = System.of(PDE(lambda u, x: u(x), points=[[0.5, 1.0]]), space).locals
    assert local.alphas == ((0, 0),)
    assert local.linearized()[0].tolist() == [[1.0]]


def test_unknowns_are_shared_and_in_the_users_units():
    k, q = Unknown(1.0, 3.0), Unknown(-1.0, 1.0)
    first = PDE(lambda u, x, k: k * laplacian(u, x), unknowns={"k": k}, n_points=3)
    second = PDE(
        lambda u, x, k, q: k * u(x) + q,
        unknowns={"k": Unknown(1.0, 3.0), "q": q},
        points=[[0.0, 1.0]],
    )
    system = System.of([first, second], SPACE)
    assert system.values(torch.tensor([0.25, 0.5])) == {"k": 1.5, "q": 0.0}
    assert [len(points) for points in system.first_points] == [3, 1]
    A, F = system.locals[1].linearized(unknowns={"k": 1.5, "q": 0.5})
    assert (A.item(), F.item()) == (1.5, 0.5)
    X = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    residual = second.residual(lambda x: x[1] ** 2, X, q=0.25)
    assert residual.item() == pytest.approx(2.25)  # k in the middle of its bounds
    other = PDE(lambda u, x, k: k * u(x), unknowns={"k": Unknown(0.0, 3.0)})
    with pytest.raises(wo.InputError, match="in one equation and"):
        System.of([first, other], SPACE)


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        (lambda u, x: u(x + 2.0), "at x only"),
        (grad, r"shape \(2,\)"),
        (lambda u, x: partial(u, x, 0) / 0.0, "finite at every point"),
        (lambda u, x: u(x) if x[0] > 0 else -u(x), "branch on values"),
        (lambda u, x: 3.0, "must be a tensor"),
        (lambda u, x: math.sin(u(x)), "leave torch"),
    ],
)
def test_operators_that_cannot_be_used(operator, words):
    with pytest.raises(wo.InputError, match=words):
        System.of(PDE(operator), SPACE)


@pytest.mark.parametrize(
    ("pde", "words"),
    [
        ([], "list of them"),
        (laplacian, "list of them"),
        ("heat", "list of them"),
        ([PDE(laplacian), 3], "list of them"),
        (PDE(laplacian, points=[[0.5]]), "1 columns"),
        (PDE(laplacian, points=[[0.5, 1.0], [9.0, 1.0]]), r"\[9.0, 1.0\]"),
        (PDE(laplacian, points=[[0.5, -1.0]]), "outside the space"),
        (PDE(laplacian, lambda x: x[0] / 0.0), r"rhs\(x\)"),
    ],
)
def test_systems_that_cannot_be_used(pde, words):
    with pytest.raises(wo.InputError, match=words):
        System.of(pde, SPACE)


@pytest.mark.parametrize("pair", [(1, 1), (2, 1), (0, math.inf), (True, 2)])
def test_unknowns_that_cannot_be_used(pair):
    with pytest.raises(wo.InputError, match="An unknown has the bounds"):
        Unknown(*pair)


def test_unknowns_must_be_a_dict_of_bounds():
    with pytest.raises(wo.InputError, match="give a dict"):
        PDE(laplacian, unknowns=[Unknown(0, 1)])
    with pytest.raises(wo.InputError, match="give its bounds"):
        PDE(laplacian, unknowns={"k": (0, 1)})


def test_mixed_spaces_have_legal_points():
    space = wo.Space([wo.Real(0, 1), wo.Integer(1, 3)])
    (local,) = System.of(PDE(lambda u, x: partial(u, x, 0)), space).locals
    X = local.units(local.T)
    assert set(X[:, 1].round(decimals=6).tolist()) == {1.0, 2.0, 3.0}


def test_an_equation_that_a_wave_of_round_length_solves_is_examined():
    pde = wo.PDE(lambda u, x: wo.pde.laplacian(u, x) + u(x), n_points=8)
    system = System.of(pde, wo.Space([(0.0, 2.0), (-1.0, 1.0)]))
    assert system.is_linear
    assert set(system.locals[0].alphas) == {(0, 0), (2, 0), (0, 2)}
