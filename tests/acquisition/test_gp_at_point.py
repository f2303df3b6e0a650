"""The closed forms are those of automatic differentiation."""

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import (
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
)

from wideopt.acquisition.bounds import NegativeBound, constraint_bounds
from wideopt.acquisition.gp_at_point import (
    BoundsAtPoint,
    FeasiblyAtPoint,
    ei,
    pi,
    ucb,
)
from wideopt.acquisition.improvement import (
    LogFeasibility,
    LogOptimisticImprovement,
    SumOfLogs,
)
from wideopt.surrogates import GaussianProcess, Tangent, outputs_of


def recorded(kernel):
    generator = torch.Generator().manual_seed(1)
    X = torch.rand(14, 3, generator=generator, dtype=torch.float64)
    f = 4 + 3 * (5 * X).sin().sum(dim=1)
    Y = torch.stack([f, X[:, 0] - 0.7, 0.2 - X[:, 1] ** 2], dim=1)
    return X, GaussianProcess(kernel).fit(X, Y)


@pytest.fixture(params=["matern", "rbf"], scope="module")
def known(request):
    return recorded(request.param)


@pytest.fixture(scope="module")
def points(known):
    generator = torch.Generator().manual_seed(2)
    X = torch.rand(6, 3, generator=generator, dtype=torch.float64)
    return torch.cat([X, known[0][:1]])  # the last one is an observation


def by_autograd(acqf, x):
    point = x.clone().requires_grad_()
    value = -acqf(point[None, None, :]).squeeze()
    (slope,) = torch.autograd.grad(value, point)
    return value.item(), slope.numpy()


FORMS = {
    "ei": lambda f, best: LogExpectedImprovement(f, best_f=best, maximize=False),
    "pi": lambda f, best: LogProbabilityOfImprovement(f, best_f=best, maximize=False),
    "ucb": lambda f, best: LogOptimisticImprovement(f, best_f=best, beta=4.0),
}
QUICK = {"ei": ei, "pi": pi, "ucb": lambda best: ucb(best, 4.0)}


@pytest.mark.parametrize("best", [-60.0, 0.0, 4.0, 12.0])
@pytest.mark.parametrize("name", FORMS)
def test_values_and_slopes(known, points, name, best):
    model = known[1]
    objective, *constraints = outputs_of(model)
    acqf = SumOfLogs([FORMS[name](objective, best), LogFeasibility(constraints)])
    ours = FeasiblyAtPoint.of(model, QUICK[name](best))
    alone = FeasiblyAtPoint.of(objective, QUICK[name](best))
    for x in points:
        for quick, form in ((ours, acqf), (alone, FORMS[name](objective, best))):
            value, slope = quick(x.numpy())
            expected, gradient = by_autograd(form, x)
            assert value == pytest.approx(expected, rel=1e-5, abs=1e-6)
            assert np.allclose(slope, gradient, rtol=1e-4, atol=1e-5)


def test_feasibility_alone(known, points):
    model = known[1]
    ours = FeasiblyAtPoint.of(model, None)
    for x in points:
        value, slope = ours(x.numpy())
        expected, gradient = by_autograd(LogFeasibility(outputs_of(model)[1:]), x)
        assert value == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert np.allclose(slope, gradient, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kept", [[0, 1], [1], []])
def test_bounds(known, points, kept):
    model = known[1]
    ours = BoundsAtPoint.of(model, 2.0).restricted(kept)
    objective = NegativeBound(outputs_of(model)[0], 2.0)
    bounds = constraint_bounds(model, 2.0)
    for x in points:
        values, slopes = ours(x.numpy())
        expected, gradient = by_autograd(objective, x)
        assert values[0] == pytest.approx(expected, rel=1e-8)
        assert np.allclose(slopes[0], gradient, rtol=1e-6, atol=1e-8)
        rows = torch.autograd.functional.jacobian(lambda x: -bounds(x[None])[0], x)
        assert np.allclose(values[1:], -bounds(x[None])[0, kept].detach(), rtol=1e-8)
        assert np.allclose(slopes[1:], rows[kept], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("u", [-1e12, -1e5, -40.0, -3.0, 0.0, 5.0, 60.0])
def test_hopeless_and_certain_outputs_have_finite_slopes(u):
    value, by_mean, _ = pi(u)(0.0, 1.0)
    x = torch.tensor(u, dtype=torch.float64, requires_grad=True)
    exact = torch.special.log_ndtr(x)
    slope = -u if u < -1e4 else torch.autograd.grad(exact, x)[0].item()
    assert value == pytest.approx(exact.item(), rel=1e-9)
    assert -by_mean == pytest.approx(slope, rel=1e-6, abs=1e-300)


def test_other_models_have_none():
    X = torch.linspace(0, 1, 4, dtype=torch.float64)[:, None]
    model = Tangent().fit(X, X.square())
    assert FeasiblyAtPoint.of(model, None) is None
    assert BoundsAtPoint.of(model, 1.0) is None
