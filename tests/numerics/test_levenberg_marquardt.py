import numpy as np
import pytest
import torch
from scipy.optimize import least_squares

from wideopt.numerics.levenberg_marquardt import solve

T = torch.linspace(0.0, 3.0, 20, dtype=torch.float64)
TRUTH = torch.tensor([2.0, 1.3, 0.5], dtype=torch.float64)


def decay(theta, t=T):
    """a exp(-k t) + c, and its Jacobian."""
    a, k, c = theta[:, :1], theta[:, 1:2], theta[:, 2:]
    e = torch.exp(-k * t)
    J = torch.stack([e, -a * t * e, torch.ones_like(e)], dim=-1)
    return a * e + c, J


def noisy(seed=0):
    generator = torch.Generator().manual_seed(seed)
    y = decay(TRUTH[None])[0][0]
    return y + 0.05 * torch.randn(y.shape, generator=generator, dtype=y.dtype)


def residuals_of(y):
    def residuals(theta):
        h, J = decay(theta)
        return h - y, J

    return residuals


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_scipy(seed):
    y = noisy(seed)
    found = solve(residuals_of(y), torch.ones(1, 3, dtype=torch.float64))
    other = least_squares(
        lambda w: (decay(torch.tensor(w)[None])[0][0] - y).numpy(), np.ones(3)
    )
    assert found.is_converged.all()
    assert found.theta[0].numpy() == pytest.approx(other.x, rel=1e-5)
    assert float(found.loss[0]) == pytest.approx(other.cost, rel=1e-9)


def test_bounds_agree_with_scipy():
    y = noisy()
    low, high = torch.tensor([0.0, 0.0, 0.6]), torch.tensor([5.0, 1.0, 2.0])
    low, high = low.double(), high.double()
    start = torch.tensor([[1.0, 0.5, 1.0]], dtype=torch.float64)
    found = solve(residuals_of(y), start, bounds=(low, high))
    other = least_squares(
        lambda w: (decay(torch.tensor(w)[None])[0][0] - y).numpy(),
        start[0].numpy(),
        bounds=(low.numpy(), high.numpy()),
    )
    assert float(found.loss[0]) == pytest.approx(other.cost, rel=1e-6)
    assert ((found.theta >= low) & (found.theta <= high)).all()


@pytest.mark.parametrize(("n", "p"), [(30, 6), (6, 30)])
def test_ridge_regression_on_either_side(n, p):
    generator = torch.Generator().manual_seed(1)
    A = torch.randn(n, p, generator=generator, dtype=torch.float64)
    y = torch.randn(n, generator=generator, dtype=torch.float64)
    start = torch.randn(3, p, generator=generator, dtype=torch.float64)

    def residuals(theta):
        return theta @ A.T - y, A.expand(len(theta), n, p)

    found = solve(residuals, start, ridge=0.3, tolerance=1e-14)
    eye = torch.eye(p, dtype=torch.float64)
    exact = torch.linalg.solve(A.T @ A + 0.3 * eye, A.T @ y)
    for theta in found.theta:
        torch.testing.assert_close(theta, exact, rtol=1e-5, atol=1e-6)


def test_starts_do_not_depend_on_one_another():
    generator = torch.Generator().manual_seed(2)
    starts = 2 * torch.rand(4, 3, generator=generator, dtype=torch.float64)
    residuals = residuals_of(noisy())
    together = solve(residuals, starts)
    for i in range(4):
        alone = solve(residuals, starts[i : i + 1])
        torch.testing.assert_close(alone.theta[0], together.theta[i])


def test_backs_out_of_what_is_not_finite():
    def residuals(theta):  # log is NaN below 0, where a full step would lead
        r = torch.log(theta) - 0.1
        return r, (1 / theta).unsqueeze(-1)

    start = torch.tensor([[20.0]], dtype=torch.float64)
    found = solve(residuals, start)
    assert float(found.theta[0, 0]) == pytest.approx(np.exp(0.1), rel=1e-6)
    bad = solve(residuals, -start)
    assert torch.equal(bad.theta, -start)
    assert not bad.is_converged.any()


def test_never_worse_than_the_start():
    residuals = residuals_of(noisy())
    start = TRUTH[None] * 1.1
    for n in (0, 1, 2):
        found = solve(residuals, start, max_iterations=n)
        before = 0.5 * residuals(start)[0].square().sum()
        assert float(found.loss[0]) <= float(before)
