"""pinn-bo: finds optima sooner, survives wrong physics, says what it needs."""

import json
import math
import warnings

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.methods.faithful_pinn_bo import FaithfulPinnBO, theoretical_nu
from wideopt.numerics.joint_tangent import JointTangent
from wideopt.pde import PDE, Unknown, laplacian, partial

BOX = [(0.0, math.pi), (0.0, 2.0)]
QUICK = {"n_candidates": 128, "n_restarts": 1}
EQUATION = PDE(laplacian, n_points=40)


def cold(x):
    """-T for a harmonic T whose hottest point lies on the edge, off the corners."""
    a, b = float(x[0]), float(x[1])
    return -(math.sin(a + 0.3) * math.sinh(b) + 0.1 * a - 0.2 * b)


OPTIMUM = min(cold((a, 2.0)) for a in np.linspace(0, math.pi, 2001))


def spring(u, x, k):
    return partial(u, x, 0, 2) + k * u(x)


def wave(x):
    return math.cos(2.0 * float(x[0]) + 0.4)


@pytest.mark.parametrize(
    "seed", [21, *(pytest.param(s, marks=pytest.mark.slow) for s in (22, 23))]
)
def test_few_evaluations_are_enough(seed):
    """Within 1% of the range in 10; random search is off by tens of percents."""
    result = wo.minimize(
        cold, BOX, method="pinn-bo", pde=EQUATION, n_evals=10, seed=seed, options=QUICK
    )
    gap = result.fun - OPTIMUM
    assert gap < 0.01 * 3.6
    assert result.message == ""
    random = wo.minimize(cold, BOX, method="random", n_evals=10, seed=seed)
    assert gap < 0.2 * (random.fun - OPTIMUM)


def test_a_run_that_has_settled_looks_at_a_face_elsewhere():
    def asked(points):
        opt = wo.Optimizer(BOX, method="pinn-bo", pde=EQUATION, seed=0, options=QUICK)
        for point in points:
            opt.tell(point, cold(point))
        return opt.ask()

    spread = [(0.5, 0.4), (2.8, 0.3), (1.5, 1.0), (0.4, 1.7), (2.7, 1.6)]
    settled = [*spread, (1.25, 2.0), (1.26, 2.0), (1.27, 2.0)]
    gap = np.abs(asked(settled) - np.array(settled)) / [math.pi, 2.0]
    assert gap.max(axis=1).min() > 0.1
    assert any(v in ends for v, ends in zip(asked(settled), BOX, strict=True))
    # with one look elsewhere after it, the run goes on where it was
    after = [*settled, (3.0, 0.0)]
    near = np.abs(asked(after) - np.array([1.26, 2.0])) / [math.pi, 2.0]
    assert near.max() < 0.1


def test_auto_uses_the_equation_and_maximize_its_sign():
    settings = {"n_evals": 7, "seed": 3, "n_init": 5}
    low = wo.minimize(cold, BOX, pde=EQUATION, **settings)
    named = wo.minimize(cold, BOX, pde=EQUATION, method="pinn-bo", **settings)
    assert [t.y for t in low.history] == [t.y for t in named.history]
    # of an equation with a right side the sign matters
    pde = PDE(lambda u, x: partial(u, x, 0, 2), -2.0, n_points=12)
    high = wo.maximize(
        lambda x: 1.0 - (x[0] - 0.7) ** 2, [(0, 1)], pde=pde, n_evals=7, seed=0
    )
    assert high.fun == pytest.approx(1.0, abs=1e-4)
    assert high.message == ""


def test_constraints_are_kept_within_bounds():
    def fun(x):
        return cold(x), [float(x[1]) - 1.2]

    result = wo.minimize(
        fun, BOX, method="pinn-bo", pde=EQUATION, n_evals=14, seed=5, options=QUICK
    )
    best = min(cold((a, 1.2)) for a in np.linspace(0, math.pi, 2001))
    assert result.feasible
    assert result.fun < best + 0.15


def test_wrong_physics_is_told_and_left_out():
    wrong = PDE(lambda u, x: spring(u, x, 300.0), n_points=30)
    with pytest.warns(wo.WideoptWarning, match="contradict the PDE") as caught:
        result = wo.minimize(
            wave,
            [(0, 3)],
            method="pinn-bo",
            pde=wrong,
            n_evals=13,
            seed=1,
            options=QUICK,
        )
    assert sum("contradict" in str(w.message) for w in caught) == 1
    assert "contradict the PDE" in result.message
    assert result.fun == pytest.approx(-1.0, abs=1e-2)


def test_right_physics_is_not_doubted():
    right = PDE(lambda u, x: spring(u, x, 4.0), n_points=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in (31, 32):
            result = wo.minimize(
                wave, [(0, 3)], method="pinn-bo", pde=right, n_evals=8, seed=seed
            )
            assert result.message == ""


def test_unknown_coefficients_are_reported():
    pde = PDE(spring, n_points=30, unknowns={"k": Unknown(0.5, 12.0)})
    result = wo.minimize(
        wave, [(0, 3)], method="pinn-bo", pde=pde, n_evals=9, seed=2, options=QUICK
    )
    assert result.parameters["k"] == pytest.approx(4.0, rel=0.02)
    assert "k = " in repr(result)
    low, high = result.parameters.interval("k")
    assert low < result.parameters["k"] < high


def test_restored_needs_the_equation_again():
    opt = wo.Optimizer(BOX, method="pinn-bo", pde=EQUATION, seed=4, options=QUICK)
    for _ in range(6):
        x = opt.ask()
        opt.tell(x, cold(x))
    state = json.loads(json.dumps(opt.state_dict(), allow_nan=False))
    with pytest.raises(wo.InputError, match=r"from_state_dict\(d, pde="):
        wo.Optimizer.from_state_dict(state)
    copy = wo.Optimizer.from_state_dict(state, pde=EQUATION)
    for _ in range(2):
        x = opt.ask()
        assert list(copy.ask()) == list(x)
        opt.tell(x, cold(x))
        copy.tell(x, cold(x))
    assert copy.state_dict() == opt.state_dict()


def test_faithful_follows_the_thesis():
    options = {"faithful": True, "epochs": 20, "width": 20, "n_candidates": 500}
    settings = {"method": "pinn-bo", "pde": PDE(laplacian, n_points=15), "seed": 0}
    opt = wo.Optimizer(BOX, options=options, **settings)
    for _ in range(7):
        x = opt.ask()
        opt.tell(x, cold(x))
    assert opt.state_dict()["method_state"]["nu"] > 1.0
    state = json.loads(json.dumps(opt.state_dict()))
    copy = wo.Optimizer.from_state_dict(state, pde=settings["pde"])
    assert list(copy.ask()) == list(opt.ask())


def test_nu_is_that_of_algorithm_4():
    generator = torch.Generator().manual_seed(0)
    Phi = torch.randn(4, 9, generator=generator, dtype=torch.float64)
    Omega = torch.randn(6, 9, generator=generator, dtype=torch.float64)
    paper = FaithfulPinnBO(lam=0.5, B=2.0, R=0.3, delta=0.2)
    joint = JointTangent(Phi, Omega, 0.5, 0.5)
    eye = torch.eye(9, dtype=torch.float64)
    A, B = Phi.mT @ Phi / 0.5, Omega.mT @ Omega / 0.5
    gamma = 0.5 * torch.logdet(A + eye)
    interaction = 0.5 * (
        torch.logdet(A + eye) + torch.logdet(B + eye) - torch.logdet(A + B + eye)
    )
    R = math.sqrt(2 * (0.3 / 0.5) ** 2)
    left = float(2 * gamma - 2 * interaction) + math.log(1 / 0.2)
    assert theoretical_nu(paper, joint) == pytest.approx(2.0 + R * math.sqrt(left))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "pinn-bo"}, "needs the physics"),
        ({"method": "gp-ei", "pde": EQUATION}, "makes no use of a PDE; use pinn-bo"),
        ({"method": "pinn-bo", "pde": "heat"}, "give a wideopt.PDE"),
        ({"pde": PDE(laplacian, points=[[9.0, 9.0]])}, "outside the space"),
        (
            {"method": "pinn-bo", "pde": EQUATION, "options": {"width": 5}},
            "faithful=True",
        ),
        (
            {
                "method": "pinn-bo",
                "pde": EQUATION,
                "options": {"faithful": True, "activation": "relu"},
            },
            "no second derivative",
        ),
        (
            {
                "method": "pinn-bo",
                "pde": EQUATION,
                "options": {"faithful": True, "delta": 2.0},
            },
            "delta must lie between",
        ),
    ],
)
def test_what_cannot_be_used(settings, words):
    with pytest.raises(wo.InputError, match=words):
        wo.Optimizer(BOX, **settings)
