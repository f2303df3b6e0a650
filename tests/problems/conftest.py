import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from wideopt import problems
from wideopt.problems._registry import FIXED
from wideopt.problems._synthetic import FAMILIES

EVERY_NAME = [f"{name}-{d}" for name in FAMILIES for d in (2, 7)] + list(FIXED)


@pytest.fixture(params=EVERY_NAME)
def problem(request):
    """Every problem; the scalable ones in two dimensions."""
    return problems.get(request.param)


@pytest.fixture(scope="session")
def draw():
    """Uniform points of a problem's box."""

    def uniform(problem, n, seed=0):
        low, high = np.array(problem.bounds).T
        unit = np.random.default_rng(seed).random((n, problem.dim))
        return low + (high - low) * unit

    return uniform


@pytest.fixture(scope="session")
def descend():
    """A local search from a point, as a function of the problem and the point."""
    return _slsqp


def _slsqp(problem, x):
    """Scaled SLSQP with exact derivatives from torch."""
    low, high = np.array(problem.bounds).T
    scale = max(1.0, abs(problem.optimum))

    def lift(u):
        unit = torch.as_tensor(u)
        return torch.as_tensor(low) + unit * torch.as_tensor(high - low)

    def f(unit):
        return problem.objective(lift(unit)) / scale

    def c(unit):
        return -problem.constraints(lift(unit))

    constraint = {
        "type": "ineq",
        "fun": lambda u: c(torch.as_tensor(u)).numpy(),
        "jac": lambda u: torch.func.jacrev(c)(torch.as_tensor(u)).numpy(),
    }
    found = minimize(
        lambda u: float(f(torch.as_tensor(u))),
        (x - low) / (high - low),
        jac=lambda u: torch.func.grad(f)(torch.as_tensor(u)).numpy(),
        bounds=[(0, 1)] * problem.dim,
        constraints=[constraint] if problem.n_constraints else [],
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-12},
    )
    return low + np.clip(found.x, 0, 1) * (high - low)
