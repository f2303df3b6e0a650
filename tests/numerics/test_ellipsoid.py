"""The ball: grown = closed form (eq. 5), and projections against a trusted solver."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from wideopt.numerics.ellipsoid import Ball, Projector

P = 5
LAM = 0.7


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def shape_of(G, lam=LAM):
    return lam * torch.eye(G.shape[1], dtype=torch.float64) + G.T @ G


def ball_of(seed=0, n=3, beta=2.0):
    G = randn(n, P, seed=seed) * torch.tensor([5.0, 1.0, 1.0, 0.1, 1.0]).double()
    return Ball.around(randn(P, seed=seed + 50), G, LAM).with_beta(beta), G


def solver(objective, gradient, center, Sigma, beta):
    """A constrained minimum by SciPy's SLSQP."""
    c, S = center.numpy(), Sigma.numpy()
    constraint = {
        "type": "ineq",
        "fun": lambda w: beta - (w - c) @ S @ (w - c),
        "jac": lambda w: -2 * S @ (w - c),
    }
    options = {"ftol": 1e-13, "maxiter": 1000}
    found = minimize(
        objective, c, jac=gradient, method="SLSQP", constraints=[constraint],
        options=options,
    )  # fmt: skip
    # at the limit of rounding its line search may give up, close to the minimum
    assert found.success or "linesearch" in found.message
    assert constraint["fun"](found.x) > -1e-6
    return found.x


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("reach", [1.5, 20.0])
def test_euclidean_projection_is_that_of_a_trusted_solver(seed, reach):
    ball, G = ball_of(seed)
    w = ball.center + reach * randn(P, seed=seed + 9)
    near = Projector.of(ball)(w[None])[0]
    z = w.numpy()
    other = solver(
        lambda v: 0.5 * np.sum((v - z) ** 2),
        lambda v: v - z,
        ball.center,
        shape_of(G),
        ball.beta,
    )
    assert near.numpy() == pytest.approx(other, abs=2e-5)
    # what makes it exact: on the border, and w - near along the border's normal
    gap = near - ball.center
    normal = shape_of(G) @ gap
    assert float(gap @ normal) == pytest.approx(ball.beta, rel=1e-10)
    away = w - near
    assert float(away @ normal / away.norm() / normal.norm()) == pytest.approx(1.0)


def test_projection_leaves_what_is_inside():
    ball, _ = ball_of()
    inside = ball.points(0.3 * randn(4, P, seed=3) / P)
    torch.testing.assert_close(Projector.of(ball)(inside), inside)


def test_projection_of_a_far_point_in_an_elongated_ball():
    G = torch.diag(torch.tensor([1e4, 1.0, 1e-3, 1e-3, 10.0], dtype=torch.float64))
    ball = Ball.around(torch.zeros(P, dtype=torch.float64), G, 1e-8)
    near = Projector.of(ball)(1e6 * torch.ones(1, P, dtype=torch.float64))[0]
    assert float(near @ shape_of(G, 1e-8) @ near) == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_points_are_projections_in_the_norm_of_the_ball(seed):
    ball, G = ball_of(seed)
    Sigma = shape_of(G)
    V = 2.0 * randn(3, P, seed=seed + 1)
    for v, w in zip(V, ball.points(V), strict=True):
        outside = ball.center + ball.beta**0.5 * ball.factor.back_solve(v)
        z, S = outside.numpy(), Sigma.numpy()
        if float(v.norm()) <= 1:
            torch.testing.assert_close(w, outside)
            continue
        other = solver(
            lambda u, z=z, S=S: 0.5 * (u - z) @ S @ (u - z),
            lambda u, z=z, S=S: S @ (u - z),
            ball.center,
            Sigma,
            ball.beta,
        )
        assert w.numpy() == pytest.approx(other, abs=1e-4)


def test_reach_and_farthest_are_the_maximum_of_a_linear_function():
    ball, G = ball_of()
    g = randn(P, seed=4)
    far = ball.points(ball.farthest(g[None]))[0]
    rise = float(g @ (far - ball.center))
    assert rise == pytest.approx(float(ball.reach(g[None])[0]))
    other = solver(
        lambda w: -float(g.numpy() @ w),
        lambda w: -g.numpy(),
        ball.center,
        shape_of(G),
        ball.beta,
    )
    assert g.numpy() @ (other - ball.center.numpy()) == pytest.approx(rise, rel=1e-5)


def test_growth_row_by_row_is_equation_5():
    """ŵ_t and Σ_t by recursion, against the closed form of the paper."""
    w0 = randn(P, seed=7)
    ball = Ball.around(w0, randn(0, P), LAM)
    A, b = LAM * torch.eye(P, dtype=torch.float64), LAM * w0
    for t in range(12):
        g, y = randn(P, seed=100 + t), float(randn(1, seed=200 + t))
        f = float(torch.sin(ball.center).sum())  # any prediction at the iterate
        A = A + torch.outer(g, g)
        b = b + g * (g @ ball.center + y - f)
        ball = ball.updated(g, torch.tensor(y - f, dtype=torch.float64))
        torch.testing.assert_close(ball.center, torch.linalg.solve(A, b))
        torch.testing.assert_close(ball.factor.R.T @ ball.factor.R, A)


def test_widening_keeps_the_center():
    ball, G = ball_of()
    new = randn(2, P, seed=8)
    wider = ball.widened(new)
    assert torch.equal(wider.center, ball.center)
    R = wider.factor.R
    torch.testing.assert_close(R.T @ R, shape_of(torch.cat([G, new])))
    assert (wider.reach(new) < ball.reach(new)).all()
