"""Kernels of exact solutions: waves solve, and forms of one kernel agree."""

import math
from functools import cached_property

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.numerics.smooth import Functionals
from wideopt.numerics.solutions import SolutionKernel, Waves

F64 = torch.float64

EQUATIONS = {
    "laplace": (((2, 0), (0, 2)), (1.0, 1.0)),
    "stretched": (((2, 0), (0, 2)), (1.0, 0.3)),
    "heat": (((1, 0), (0, 2)), (1.0, -0.1)),
    "wave": (((2, 0), (0, 2)), (1.0, -4.0)),
    "advection": (((1, 0), (0, 1)), (1.0, 2.0)),
    "drift": (((2, 0), (0, 2), (1, 0)), (1.0, 1.0, -3.0)),
    "laplace-3": (((2, 0, 0), (0, 2, 0), (0, 0, 2)), (1.0, 1.0, 1.0)),
}


def tensor(values):
    return torch.tensor(values, dtype=F64)


def points(n, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, d, generator=generator, dtype=F64)


def kernel_of(name, a=0.7, o=1.3, beta=0.8):
    alphas, coefficients = EQUATIONS[name]
    waves = Waves.of(tensor(coefficients), alphas)
    d = len(alphas[0])
    return SolutionKernel(waves, tensor([a] * d), tensor(o), beta)


@pytest.mark.parametrize("name", EQUATIONS)
def test_every_wave_solves_the_equation(name):
    alphas, coefficients = EQUATIONS[name]
    z = kernel_of(name).waves.z
    terms = torch.stack(
        [
            c * torch.stack([z[:, i] ** n for i, n in enumerate(alpha)]).prod(0)
            for c, alpha in zip(coefficients, alphas, strict=True)
        ]
    )
    assert (terms.sum(0).abs() <= 1e-9 * terms.abs().sum(0)).all()


@pytest.mark.parametrize("name", EQUATIONS)
def test_no_wave_exceeds_one_in_the_cube(name):
    waves = kernel_of(name).waves
    corners = points(200, waves.z.shape[1]).round().to(waves.z.dtype)
    assert ((corners @ waves.z.mT).real - waves.height <= 1e-9).all()


def test_the_kernel_of_harmonic_functions_is_the_sum_over_edges_of_decaying_cosines():
    kernel, S, T = kernel_of("laplace"), points(4, 2, 1), points(3, 2, 2)
    sizes = np.exp(np.linspace(math.log(0.5), math.log(400.0), 40))
    w = (1 + sizes**2) ** -0.7
    w /= 4 * w.sum()
    for i, s in enumerate(S.tolist()):
        for j, t in enumerate(T.tolist()):
            total = 0.8**2
            for axis in (0, 1):
                along = s[1 - axis] - t[1 - axis]
                for depth in (s[axis] + t[axis], 2 - s[axis] - t[axis]):
                    decay = w * np.exp(-sizes * depth)
                    total += 1.3**2 * float((decay * np.cos(sizes * along)).sum())
            found = kernel.block(Functionals.values(S), Functionals.values(T))[i, j]
            assert float(found) == pytest.approx(total, rel=1e-10)


def test_derivatives_of_the_kernel_are_those_by_differentiation():
    kernel, S = kernel_of("drift"), points(1, 2, 3)
    T = points(1, 2, 4)
    functional = Functionals(T, tensor([[2.0, -1.0]]), ((1, 0), (1, 1)))

    def k(t):
        return kernel.block(Functionals.values(S), Functionals.values(t[None]))[0, 0]

    def slope(t, i):
        return torch.func.grad(k)(t)[i]

    mixed = torch.func.grad(lambda t: slope(t, 0))(T[0])[1]
    expected = 2.0 * slope(T[0], 0) - mixed
    found = kernel.block(Functionals.values(S), functional)[0, 0]
    assert torch.allclose(found, expected, rtol=1e-9)


def test_the_diagonal_is_that_of_the_block():
    kernel = kernel_of("heat")
    a = Functionals(points(5, 2), points(5, 2, 1), ((0, 0), (0, 2)))
    assert torch.allclose(kernel.diagonal(a), kernel.block(a, a).diagonal())


def test_variances_sum_to_one_whatever_the_roughness():
    waves = kernel_of("laplace-3").waves
    assert float(waves.weights(tensor([0.2, 0.7, 2.0])).sum()) == pytest.approx(1.0)


def test_double_roots_have_no_waves():
    biharmonic = ((4, 0), (2, 2), (0, 4))
    assert Waves.of(tensor([1.0, 2.0, 1.0]), biharmonic) is None


@pytest.mark.parametrize("d", [1, 4])
def test_other_dimensions_have_no_waves(d):
    alphas = tuple(tuple(2 * int(i == j) for j in range(d)) for i in range(d))
    assert Waves.of(tensor([1.0] * d), alphas) is None


BOX = [(0.0, 2.0), (-1.0, 1.0)]
WITHOUT = {
    "right side": wo.PDE(wo.pde.laplacian, 1.0),
    "coefficient": wo.PDE(lambda u, x: x[0] * wo.pde.laplacian(u, x)),
    "term in u": wo.PDE(lambda u, x: wo.pde.laplacian(u, x) + u(x)),
    "points": wo.PDE(wo.pde.laplacian, points=[[1.0, 0.0]]),
    "two equations": [wo.PDE(wo.pde.laplacian), wo.PDE(wo.pde.laplacian)],
    "not linear": wo.PDE(lambda u, x: wo.pde.laplacian(u, x) * u(x)),
    "unknown": wo.PDE(
        lambda u, x, c: wo.pde.partial(u, x, 0, 2) + c * wo.pde.partial(u, x, 1, 2),
        unknowns={"c": wo.pde.Unknown(0.5, 2.0)},
    ),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_an_equation_of_another_kind_has_no_known_solutions(name):
    assert wo.surrogates.Physics(WITHOUT[name], BOX).solved == {}


def test_an_equation_without_faces_has_waves():
    drift = wo.PDE(lambda u, x: wo.pde.laplacian(u, x) + wo.pde.partial(u, x, 0))
    assert list(wo.surrogates.Physics(drift, BOX).solved) == ["exact"]


def test_coefficients_are_those_in_the_cube():
    alphas = ((2, 0), (0, 2))
    surrogate = wo.surrogates.Physics(
        wo.PDE(wo.pde.laplacian, n_points=8), [(0.0, 4.0), (0.0, 2.0)]
    )
    a, found = surrogate.system.symbol
    slopes = dict(zip(found, a.tolist(), strict=True))
    assert [slopes[alpha] for alpha in alphas] == pytest.approx([1 / 16, 1 / 4])


def rough(X):
    """Harmonic on the square, with a jump on the boundary next to a corner."""
    return torch.atan2(X[:, 1] + 0.004, X[:, 0] + 0.004).unsqueeze(1)


class OnlyWaves(wo.surrogates.Physics):
    """As if the faces of the square were not known to be such."""

    @cached_property
    def solved(self):
        return {"exact": super().solved["exact"]}


def fitted(kind="exact"):
    X = points(18, 2, 7)
    X[::3, 0], X[1::3, 1] = 0.0, 0.0
    X[:6] = X[:6] * 0.1  # near the corner
    pde = wo.PDE(wo.pde.laplacian, n_points=30)
    surrogate = OnlyWaves if kind == "exact" else wo.surrogates.Physics
    return surrogate(pde, [(0.0, 1.0)] * 2).fit(X, rough(X))


@pytest.mark.parametrize("kind", ["exact", "faces"])
def test_rough_boundary_values_are_told_by_exact_solutions(kind):
    model = fitted(kind)
    assert model.shares_by_kind.get(kind, 0.0) > 0.5
    assert model.held_share > 0.9


@pytest.mark.parametrize("kind", ["exact", "faces"])
def test_the_mean_of_an_exact_belief_obeys_the_equation_between_points(kind):
    model = fitted(kind)
    exact = next(part for part in model.parts if part.belief.kind == kind)

    T = 0.05 + 0.9 * points(20, 2, 8)  # where steps of 1e-3 are small
    ones = torch.ones_like(T)
    laplacian = Functionals(T, ones, ((2, 0), (0, 2)))
    one_term = Functionals(T, ones[:, :1], ((2, 0),))
    values, _ = exact.posterior.of_functionals(laplacian)
    curved, _ = exact.posterior.of_functionals(one_term)
    assert values.abs().max() < 1e-8 * curved.abs().max()

    h = 1e-3  # an independent form: the five-point formula

    def mean(*step):
        return exact.posterior.project(T + tensor(step)).mean

    around = mean(h, 0.0) + mean(-h, 0.0) + mean(0.0, h) + mean(0.0, -h)
    found = (around - 4 * mean(0.0, 0.0)) / h**2
    assert found.abs().max() < 1e-2 * curved.abs().max()


@pytest.mark.parametrize("kind", ["exact", "faces"])
def test_a_grown_exact_model_is_a_restored_one(kind):
    model = fitted(kind)
    X = points(3, 2, 9)
    both = torch.cat([model.train_X, X])
    grown = model.grown(X, rough(both))
    again = model.surrogate.restore(both, rough(both), model.hyper)
    P = points(6, 2, 10)
    with torch.no_grad():
        a, b = grown.posterior(P), again.posterior(P)
    assert torch.allclose(a.mean, b.mean, atol=1e-7)
    assert torch.allclose(a.variance, b.variance, atol=1e-7)


@pytest.mark.parametrize("kind", ["exact", "faces"])
def test_draws_have_the_moments_of_the_posterior(kind):
    model = fitted(kind)
    exact = next(part for part in model.parts if part.belief.kind == kind)
    draw = exact.posterior.draw(torch.Generator().manual_seed(0), 4000)
    P = points(3, 2, 11)
    with torch.no_grad():
        f = draw(P)
        view = exact.posterior.project(P)
        sd = exact.posterior.variance(view).sqrt()
    assert torch.allclose(f.mean(0), view.mean, atol=float(5 * sd.max() / 60))
    assert torch.allclose(f.std(0), sd, rtol=0.1)
