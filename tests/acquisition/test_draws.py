import pytest
import torch

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.surrogates import GaussianProcess, Tangent


@pytest.fixture(scope="module")
def model():
    X = torch.linspace(0, 1, 8, dtype=torch.float64)[:, None]
    return GaussianProcess().fit(X, torch.cat([(6 * X).sin(), X - 0.5], dim=1))


def test_a_seed_is_a_draw(model):
    X = torch.rand(40, 1, 1, dtype=torch.float64)
    a, b, c = (PenalizedDraw.of(model, seed)(X).detach() for seed in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_draws_have_the_moments_of_the_posterior(model):
    X = torch.tensor([[[0.03]], [[0.31]]], dtype=torch.float64)
    with torch.no_grad():
        draws = [PenalizedDraw.of(model, s).draw(X[:, 0])[:, 0] for s in range(40)]
        sample = torch.stack(draws)
        posterior = model.models[0].posterior(X[:, 0])
    deviation = posterior.variance.sqrt().squeeze(-1)
    error = (sample.mean(dim=0) - posterior.mean.squeeze(-1)).abs()
    assert bool((error < 0.8 * deviation).all())  # 5 standard errors
    assert torch.allclose(sample.std(dim=0), deviation, rtol=0.5)


def test_the_maximizer_is_feasible_or_least_infeasible(model):
    X = torch.linspace(0, 1, 201, dtype=torch.float64)[:, None, None]

    def drawn(constraint):  # the unconstrained minimum is at 1
        return lambda x: torch.cat([-x, constraint(x)], dim=-1)

    feasible = PenalizedDraw(model, drawn(lambda x: x - 0.5), 1e3)
    assert float(X[feasible(X).argmax()]) == 0.5
    never = PenalizedDraw(model, drawn(lambda x: 1 + x), 1e3)
    assert float(X[never(X).argmax()]) == 0.0


@pytest.mark.parametrize(
    "recipe",
    [
        GaussianProcess(),
        Tangent(activation="erf"),
        Tangent(activation="erf", width=4, noise=1e-2),  # primal
        Tangent(activation="tanh", width=40, noise=1e-2, mean="trained"),
    ],
)
def test_nu_is_the_factor_of_the_deviation_from_the_mean(recipe):
    X = torch.linspace(0, 1, 40, dtype=torch.float64)[:, None]
    model = recipe.fit(X, (6 * X).sin())
    A = torch.rand(9, 1, dtype=torch.float64)
    with torch.no_grad():
        mean = model.posterior(A[:, None, :]).mean[:, 0, 0]
        draws = [PenalizedDraw.of(model, 3, nu).draw for nu in (1.0, 0.3)]
        one, part = (draw(A)[:, 0] for draw in draws)
    assert torch.allclose(part - mean, 0.3 * (one - mean), atol=1e-6)
