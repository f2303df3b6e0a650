"""The suite pinn-bo: its fields are solutions, and methods get the equation."""

import math

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt import bench
from wideopt.bench.applications import heat
from wideopt.bench.contender import parse
from wideopt.bench.reached import n_reached, reached_section
from wideopt.bench.run_data import Run
from wideopt.bench.single import run_one
from wideopt.problems.physics import BEAM, rho

SUITE = bench.get("pinn-bo")


def test_heat_agrees_with_a_closed_form():
    """T(x, 2π) = sin x, and 0 on the other edges."""
    pytest.importorskip("pde")
    edges = (np.zeros_like, np.sin, np.zeros_like, np.zeros_like)
    field = heat.solved(edges, 64)
    rng = np.random.default_rng(0)
    X = rng.uniform(field.low, field.high, (200, 2))
    exact = np.sin(X[:, 0]) * np.sinh(X[:, 1]) / math.sinh(2 * math.pi)
    assert np.abs(field(X) - exact).max() < 2e-3
    x, hottest = field.hottest()
    assert hottest == pytest.approx(1.0, abs=0.06)  # half a cell within the square
    assert x == pytest.approx([math.pi / 2, field.high], abs=0.05)


def test_boundaries_are_finite_and_those_of_the_thesis():
    a = np.linspace(0, heat.SIDE, 101)
    for edges in heat.BOUNDARIES.values():
        assert all(np.isfinite(edge(a)).all() for edge in edges)
    assert heat.BOUNDARIES[1][0](np.zeros(1))[0] == pytest.approx(1.0)
    assert heat.BOUNDARIES[2][2](np.zeros(1))[0] == pytest.approx(math.e)
    assert heat.BOUNDARIES[3][3](np.zeros(1))[0] == pytest.approx(1.0)


def test_fields_drawn_by_chance_are_harmonic_and_tasks_of_development():
    pytest.importorskip("pde")
    field = heat.drawn(3)
    T = field.T[1:-1, 1:-1]
    around = field.T[2:, 1:-1] + field.T[:-2, 1:-1] + field.T[1:-1, 2:]
    mean = (around + field.T[1:-1, :-2]) / 4.0
    assert np.abs(T - mean).max() < 1e-9 * np.ptp(field.T)
    task = bench.get("development").task("field-3")
    assert task.optimum == pytest.approx(-field.hottest()[1])
    assert task.pde_title == "Δf = 0"
    assert heat.drawn(4).hottest()[1] != pytest.approx(field.hottest()[1])


def second_integral(f, x, ends):
    """Finite differences of w'' = f with given ends."""
    n, h = len(x) - 2, x[1] - x[0]
    A = (np.eye(n, k=1) + np.eye(n, k=-1) - 2 * np.eye(n)) / h**2
    b = f[1:-1].copy()
    b[0] -= ends[0] / h**2
    b[-1] -= ends[1] / h**2
    return np.concatenate([[ends[0]], np.linalg.solve(A, b), [ends[1]]])


def test_the_beam_is_what_finite_differences_find():
    """(EI w'')'' = eˣ in two steps: the moment M'' = eˣ, then w'' = M/EI."""
    x = np.linspace(0, 1, 1201)
    M = second_integral(np.exp(x), x, (1.0, math.e))
    bend = rho(torch.from_numpy(x)[None, :]).numpy()
    exact = BEAM.objective(x[:, None])
    w = second_integral(M * bend / np.exp(x), x, (exact[0], exact[-1]))
    assert np.abs(w - exact).max() < 2e-3 * np.ptp(exact)


@pytest.mark.parametrize(
    "name", ["beam", "damped-oscillator", "drop-wave", "cosine-mixture-50"]
)
def test_tasks_have_equations_that_hold(name):
    task = SUITE.task(name)
    assert task.name == name
    assert task.pde_title == task.to_json()["pde"] != "wrong"
    x = np.linspace(0.3, 0.6, task.space.n_dims)
    x = task.space.config(task.space.decode(x))
    assert task.truth(x)[0] >= task.optimum
    wo.Optimizer(task.space, method="pinn-bo", pde=task.pde())


def test_wrong_tasks_differ_in_the_equation_only():
    right, wrong = SUITE.task("beam"), SUITE.task("beam-wrong")
    assert wrong.optimum == right.optimum
    assert wrong.pde_title == "wrong"
    X = torch.tensor([[0.4]], dtype=torch.float64)
    gap = wrong.pde().residual(lambda x: BEAM.f(x[None, :])[0], X)
    assert gap.abs() > 1.0


def test_methods_get_the_equation_if_they_use_one():
    task = SUITE.task("damped-oscillator", is_smoke=True)
    for method in ("pinn-bo", "gp-ei", "auto"):
        session = parse(method).start(task, 0, [])
        has_pde = "pde" in session._optimizer.object_options
        assert has_pde == (method != "gp-ei")


def test_evaluations_to_one_percent(tmp_path):
    task = SUITE.task("damped-oscillator", is_smoke=True)
    runs = [Run.of(run_one(method, task, 0)) for method in ("random", "pinn-bo")]
    assert n_reached(runs[1]) <= 8 < n_reached(runs[0])
    for run in runs:
        near = np.flatnonzero(run.scaled_gap <= 0.01)
        assert n_reached(run) == (near[0] + 1 if len(near) else np.inf)
    text = reached_section(runs, tmp_path)
    assert "| damped-oscillator |" in text
    assert "> 8 (0/1)" in text
