"""Our acquisitions are BoTorch's, added; and the bound's, made positive."""

import pytest
import torch
from botorch.acquisition.analytic import (
    LogConstrainedExpectedImprovement,
    LogExpectedImprovement,
    UpperConfidenceBound,
)

from wideopt.acquisition.improvement import (
    LogFeasibility,
    LogOptimisticImprovement,
    SumOfLogs,
)
from wideopt.surrogates import GaussianProcess, outputs_of


@pytest.fixture(scope="module")
def model():
    generator = torch.Generator().manual_seed(1)
    X = torch.rand(10, 2, generator=generator, dtype=torch.float64)
    f = (5 * X).sin().sum(dim=1)
    Y = torch.stack([f, X[:, 0] - 0.7, 0.2 - X[:, 1]], dim=1)
    return GaussianProcess().fit(X, Y)


@pytest.fixture(scope="module")
def X():
    generator = torch.Generator().manual_seed(2)
    return torch.rand(300, 1, 2, generator=generator, dtype=torch.float64)


def test_sum_of_logs_equals_botorchs_constrained_improvement(model, X):
    objective, *constraints = outputs_of(model)
    ei = LogExpectedImprovement(objective, best_f=0.3, maximize=False)
    ours = SumOfLogs([ei, LogFeasibility(constraints)])
    theirs = LogConstrainedExpectedImprovement(
        model,
        best_f=0.3,
        objective_index=0,
        constraints={1: (None, 0.0), 2: (None, 0.0)},
        maximize=False,
    )
    with torch.no_grad():
        assert torch.allclose(ours(X), theirs(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("best", [-10.0, 0.3, 10.0])
@pytest.mark.parametrize("beta", [0.01, 4.0])
def test_optimistic_improvement_orders_as_the_confidence_bound(model, X, best, beta):
    objective = outputs_of(model)[0]
    ours = LogOptimisticImprovement(objective, best_f=best, beta=beta)
    bound = UpperConfidenceBound(objective, beta=beta, maximize=False)
    with torch.no_grad():
        a, b = ours(X), bound(X)
    assert a.argmax() == b.argmax()
    assert bool((a[b.argsort()].diff() >= -1e-12).all())


def test_optimistic_improvement_is_smooth_where_it_changes_form(model):
    objective = outputs_of(model)[0]
    X = torch.full((1, 1, 2), 0.4, dtype=torch.float64)
    with torch.no_grad():
        posterior = objective.posterior(X)
        bound = float(posterior.mean - posterior.variance.sqrt())
    tau = LogOptimisticImprovement.tau
    values = []
    for u in (-30 - 1e-6, -30 + 1e-6):
        acqf = LogOptimisticImprovement(objective, best_f=bound + tau * u, beta=1.0)
        values.append(acqf(X).item())
    assert values[1] - values[0] == pytest.approx(2e-6, abs=1e-7)
    assert values[0] == pytest.approx(-30, abs=1e-3)


def test_far_from_hope_there_is_still_a_gradient(model):
    objective = outputs_of(model)[0]
    acqf = LogOptimisticImprovement(objective, best_f=-1e4, beta=1.0)
    X = torch.full((1, 1, 2), 0.4, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(acqf(X).sum(), X)
    assert bool(gradient.isfinite().all())
    assert gradient.norm() > 0


def test_log_feasibility_is_a_log_probability(model, X):
    _, *constraints = outputs_of(model)
    with torch.no_grad():
        values = LogFeasibility(constraints)(X)
        exact = torch.zeros(300, dtype=torch.float64)
        for c in constraints:
            posterior = c.posterior(X)
            z = -(posterior.mean / posterior.variance.sqrt()).squeeze()
            exact += torch.special.log_ndtr(z)
    assert torch.allclose(values, exact, rtol=1e-6, atol=1e-8)
    assert bool((values <= 0).all())
