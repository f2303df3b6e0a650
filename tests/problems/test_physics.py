"""Every operator applied to its true objective is its right-hand side."""

import numpy as np
import pytest
import torch

from wideopt.exceptions import InputError
from wideopt.pde import PDE, grad, partial
from wideopt.problems import physics

NAMES = [
    "drop-wave",
    "styblinski-tang-10",
    "rastrigin-20",
    "michalewicz-30",
    "cosine-mixture-50",
    "damped-oscillator",
    "beam",
    "heat",
]


def sizes(problem, X):
    """How large the objective and its slopes are, the scale of an equation's terms."""
    slopes = torch.func.vmap(torch.func.grad(problem.objective))(X)
    return problem.objective(X).abs() + slopes.abs().sum(-1) + 1


def points_of(problem, draw):
    X = torch.as_tensor(draw(problem, 200))
    if problem.name != "beam":
        return X
    # EI = eˣ/ρ has poles where ρ = 0, next to which rounding outweighs q.
    rho = torch.func.vmap(physics.rho)(X)
    return X[rho.abs() > 0.01 * rho.abs().max()]


@pytest.mark.parametrize("name", NAMES)
def test_the_objective_solves_its_equation(name, draw):
    problem, pde = physics.with_pde(name)
    X = points_of(problem, draw)
    assert len(X) > 150
    residual = pde.residual(problem.objective, X)
    scale = X[:, 0].exp() if name == "beam" else sizes(problem, X)  # q, or f and f'
    assert (residual.abs() <= 1e-6 * scale).all(), (residual.abs() / scale).max()


@pytest.mark.parametrize("name", NAMES)
def test_other_functions_do_not(name, draw):
    problem, pde = physics.with_pde(name)
    X = points_of(problem, draw)

    def other(x):
        return problem.objective(x) + 0.1 * x[0] ** 4 + x[0]

    residual = pde.residual(other, X)
    assert (residual.abs() > 1e-3).double().mean() > 0.9


def test_printed_equations_do_not_hold(draw):
    problem, _ = physics.with_pde("rastrigin-20")

    def printed(x):
        wave = 2 * torch.pi * x
        return 10 * (wave.cos() + wave / 2 * wave.sin() - 1).sum()

    pde = PDE(lambda u, x: x @ grad(u, x) - u(x), printed)
    X = torch.as_tensor(draw(problem, 20))
    assert (pde.residual(problem.objective, X).abs() > 1).all()


@pytest.mark.parametrize("problem", physics.FIXED.values(), ids=lambda p: p.name)
def test_optima_of_the_closed_forms(problem, draw, descend):
    x = problem.x_optimum[0]
    low, high = np.array(problem.bounds).T
    assert np.all((low <= x) & (x <= high))
    assert problem.objective(x) == pytest.approx(problem.optimum, rel=1e-14)
    X = draw(problem, 200_000)
    lowest = problem.objective(X).min()
    assert problem.optimum <= lowest < problem.optimum + 0.02
    T = torch.as_tensor(X[:50])
    np.testing.assert_allclose(problem.objective(T), problem.objective(X[:50]))
    assert problem.objective(descend(problem, x)) >= problem.optimum - 1e-9


def test_rho_is_the_second_derivative_of_the_deflection(draw):
    X = torch.as_tensor(draw(physics.BEAM, 50))
    bent = torch.func.vmap(lambda x: partial(physics.deflection, x, 0, 2))(X)
    torch.testing.assert_close(torch.func.vmap(physics.rho)(X), bent)


def test_names():
    assert set(physics.names()) == set(physics.EQUATIONS)
    for name in ("ackley-3", "branin"):
        with pytest.raises(InputError, match=f"'{name}' has no equation; .* rastrigin"):
            physics.with_pde(name)
    with pytest.raises(InputError, match="no problem"):
        physics.with_pde("qqqq")
