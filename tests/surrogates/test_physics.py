"""The physics surrogate: identities, growth, the BoTorch contract, wrong physics."""

import json
import math

import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement

import wideopt as wo
from wideopt.numerics.smooth import Functionals
from wideopt.pde import PDE, Unknown, laplacian, partial
from wideopt.surrogates import Physics

F64 = torch.float64
SPACE = wo.Space([(0.0, math.pi), (0.0, 2.0)])
LINE = wo.Space([(0.0, 6.0)])


def harmonic(X):
    x, y = X[..., 0] * math.pi, X[..., 1] * 2.0
    return torch.sin(x) * torch.sinh(y) + 0.3 * torch.cos(2 * x) * torch.cosh(2 * y)


def swing(X):
    return torch.exp(-0.3 * X[..., 0]) * torch.cos(2 * X[..., 0])


def spring(u, x, k=4.09):
    return partial(u, x, 0, 2) + 0.6 * partial(u, x, 0) + k * u(x)


def points(n, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, d, generator=generator, dtype=F64)


@pytest.fixture(scope="module")
def fitted():
    X = points(24, 2)
    surrogate = Physics(PDE(laplacian, n_points=40), SPACE)
    return surrogate, X, harmonic(X)[:, None], surrogate.fit(X, harmonic(X)[:, None])


@pytest.fixture(scope="module")
def collocated():
    """A model whose equation has a right side, and so no solutions that are known."""
    X = points(24, 2)
    Y = (harmonic(X) + (math.pi * X[:, 0]) ** 2)[:, None]
    model = Physics(PDE(laplacian, 2.0, n_points=40), SPACE).fit(X, Y)
    assert model.shares_by_kind["held"] > 0.9
    return Y, model


def test_it_knows_more_than_the_values_tell(fitted):
    _, X, Y, model = fitted
    G = points(200, 2, seed=1)
    spread = harmonic(G).std()
    error = (model.posterior(G.unsqueeze(1)).mean.flatten() - harmonic(G)).abs()
    plain = wo.surrogates.Tangent().fit(X, Y).posterior(G.unsqueeze(1)).mean.flatten()
    assert error.mean() < 0.05 * spread
    assert error.mean() < 0.5 * (plain - harmonic(G)).abs().mean()
    assert model.held_share > 0.9


def test_the_posterior_is_that_of_a_process_with_derivative_observations(collocated):
    Y, model = collocated
    part = model.likeliest
    p, d = part.posterior, 2
    physics = part.belief.physics(d)
    G = points(5, 2, seed=2)
    groups = [*p.groups, Functionals.values(G)]
    K = physics.kernel.all_block(groups, groups)
    N, q = p.rank, len(G)
    noise = torch.cat([p.sigma.square(), torch.zeros(q, dtype=F64)]).diag()
    K = K + noise
    mean = K[N:, :N] @ torch.linalg.solve(K[:N, :N], p.targets)
    cov = K[N:, N:] - K[N:, :N] @ torch.linalg.solve(K[:N, :N], K[:N, N:])
    found = p.moments(G.unsqueeze(0))
    torch.testing.assert_close(found[0][0], mean, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found[1][0], cov, rtol=1e-4, atol=1e-5)
    s = model.standardization
    torch.testing.assert_close(p.Y.mT * s.scale + s.shift, Y)


def test_slopes_of_the_mean_are_its_derivatives(fitted):
    posterior = fitted[-1].parts[0].posterior
    T = points(6, 2, seed=5)
    mean, slopes = posterior.slopes(T)
    ones = torch.ones(6, 1, dtype=torch.float64)
    alphas = ((0, 0), (1, 0), (0, 1))
    for alpha, found in zip(alphas, (mean, *slopes.T), strict=True):
        expected, _ = posterior.of_functionals(Functionals(T, ones, (alpha,)))
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)


def test_gains_add_up(collocated):
    _, model = collocated
    p = model.likeliest.posterior
    values, r = p.groups[-1], p.n_residuals
    eye = torch.eye(p.rank, dtype=F64)
    K = p.factor.L @ p.factor.L.mT
    joint = 0.5 * torch.logdet(K)
    of_residuals = 0.5 * torch.logdet(K[:r, :r])
    torch.testing.assert_close(
        p.conditional_gain, joint - of_residuals, rtol=1e-5, atol=1e-5
    )
    Kuu = p.kernel.block(values, values) / p.noise + eye[: values.n, : values.n]
    torch.testing.assert_close(
        p.information_gain[0], 0.5 * torch.logdet(Kuu), rtol=1e-6, atol=1e-6
    )
    assert p.interaction_information > 0


def test_grown_is_fitted_anew(fitted):
    surrogate, X, Y, model = fitted
    x = points(3, 2, seed=3)
    y = harmonic(x)[:, None]
    fresh = surrogate.restore(torch.cat([X, x]), torch.cat([Y, y]), model.hyper)
    grown = model
    for i in range(3):
        grown = grown.extended(x[i : i + 1], y[i : i + 1])
    G = points(6, 2, seed=4)
    for a, b in zip(
        (grown.posterior(G).mean, grown.posterior(G).variance),
        (fresh.posterior(G).mean, fresh.posterior(G).variance),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_restored_is_the_same(fitted):
    surrogate, X, Y, model = fitted
    hyper = json.loads(json.dumps(surrogate.hyper(model), allow_nan=False))
    G = points(4, 2, seed=5)
    again = surrogate.restore(X, Y, hyper).posterior(G)
    assert torch.equal(again.mean, model.posterior(G).mean)


def test_botorch_takes_it(fitted):
    _, X, Y, model = fitted
    G = points(3, 2, seed=6).requires_grad_()
    value = LogExpectedImprovement(model, Y.min(), maximize=False)(G.unsqueeze(-2))
    (slope,) = torch.autograd.grad(value.sum(), G)
    assert value.shape == (3,)
    assert slope.isfinite().all()
    fantasy = model.condition_on_observations(X[:1] + 0.05, Y[:1])
    assert fantasy.posterior(G).mean.shape == (3, 1)
    assert model.posterior(G.expand(2, 3, 2)).rsample(torch.Size([4])).shape == (
        *(4, 2, 3, 1),
    )


def test_draws_have_the_moments_of_the_posterior():
    surrogate = Physics(PDE(spring, n_points=30), LINE, is_checked=False)
    X = points(3, 1, seed=3)
    model = surrogate.fit(X, swing(X * 6.0)[:, None])
    G = points(5, 1, seed=7)
    draws = model.draw(torch.Generator().manual_seed(0), 600)(G)[..., 0]
    posterior = model.posterior(G.unsqueeze(1))
    sd = posterior.variance.flatten().sqrt()
    assert ((draws.mean(0) - posterior.mean.flatten()).abs() < 0.3 * sd + 1e-3).all()
    assert (draws.std(0) < 1.5 * sd + 1e-2).all()


def test_conditions_are_further_equations():
    start = PDE(lambda u, x: u(x), 1.0, points=[[0.0]])
    slope = PDE(lambda u, x: partial(u, x, 0), -0.3, points=[[0.0]])
    surrogate = Physics(
        [PDE(spring, n_points=60), start, slope], LINE, is_checked=False
    )
    X = torch.tensor([[0.5]], dtype=F64)  # one value: the rest is physics
    Y = torch.cat([swing(X * 6.0), swing(X * 6.0 + 0.6)])[:, None]
    model = surrogate.fit(torch.cat([X, X + 0.1]), Y)
    G = points(50, 1, seed=8)
    error = model.posterior(G.unsqueeze(1)).mean.flatten() - swing(G * 6.0)
    assert error.abs().max() < 0.02


def test_unknown_coefficients_are_found():
    pde = PDE(spring, n_points=40, unknowns={"k": Unknown(1.0, 9.0)})
    X = points(9, 1, seed=1)
    surrogate = Physics(pde, LINE, is_checked=False)
    model = surrogate.fit(X, swing(X * 6.0)[:, None])
    assert model.unknowns["k"] == pytest.approx(4.09, rel=0.02)


def test_nonlinear_equations_are_obeyed():
    """u' = u (1 - u): the logistic curve, from values on its left half."""
    pde = PDE(lambda u, x: partial(u, x, 0) - u(x) * (1 - u(x)), n_points=30)
    space = wo.Space([(-4.0, 4.0)])
    X = torch.linspace(0.1, 0.5, 5, dtype=F64)[:, None]
    Y = torch.sigmoid(8.0 * X - 4.0)
    model = Physics(pde, space, is_checked=False).fit(X, Y)
    G = torch.linspace(0.0, 1.0, 21, dtype=F64)[:, None]
    error = (
        model.posterior(G.unsqueeze(1)).mean.flatten() - torch.sigmoid(8 * G - 4)[:, 0]
    )
    assert error.abs().max() < 0.05  # extrapolated over half of the range
    _, relative = model.residuals(0, G)
    assert relative.abs().max() < 0.1


def test_wrong_physics_loses_its_weight():
    X = points(16, 1, seed=2)
    Y = swing(X * 6.0)[:, None]
    wrong = PDE(lambda u, x: spring(u, x, 40.0), n_points=40)
    right = Physics(PDE(spring, n_points=40), LINE).fit(X, Y)
    model = Physics(wrong, LINE).fit(X, Y)
    assert right.shares_by_kind.get("held", 0.0) > 0.9
    assert model.shares_by_kind.get("held", 0.0) < 0.05
    G = points(60, 1, seed=3)
    error = model.posterior(G.unsqueeze(1)).mean.flatten() - swing(G * 6.0)
    assert error.abs().mean() < 0.05


def test_a_negated_output_obeys_the_equation_of_the_other_sign():
    pde = PDE(lambda u, x: partial(u, x, 0, 2), 2.0, n_points=20)  # u = x² + ...
    X = points(4, 1, seed=4)
    Y = -((X * 6.0) ** 2)
    model = Physics(pde, LINE, is_checked=False, is_negated=True).fit(X, Y)
    G = points(20, 1, seed=5)
    error = model.posterior(G.unsqueeze(1)).mean[:, 0] + (G * 6.0) ** 2
    assert error.abs().max() < 0.05 * Y.abs().max()


def test_points_move_to_where_the_residual_is_large():
    """A field that is sharp in one place needs points there."""
    pde = PDE(
        lambda u, x: partial(u, x, 0),
        lambda x: 40 / (1 + (40 * (x[0] - 1.5)) ** 2),
        n_points=16,
    )
    X = points(8, 1, seed=6)
    Y = torch.atan(40 * (X * 6.0 - 1.5))
    surrogate = Physics(pde, LINE, is_checked=False)
    model = surrogate.fit(X, Y)
    (chosen,) = model.hyper["points"]
    assert len(chosen) == len(set(chosen)) == 16
    assert chosen[:8] == list(range(8))
    assert chosen != surrogate.system.first_points[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"activation": "relu"}, "no second derivative"),
        ({"activation": "tanh"}, "no closed form"),
        ({"activation": "wave"}, "Unknown activation"),
    ],
)
def test_activations_that_cannot_be_used(settings, words):
    with pytest.raises(wo.InputError, match=words):
        Physics(PDE(laplacian), SPACE, **settings)


def test_several_outputs_are_refused():
    surrogate = Physics(PDE(spring, n_points=5), LINE)
    with pytest.raises(wo.InputError, match="one output"):
        surrogate.fit(points(3, 1), points(3, 2))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_right_physics_and_noise_raise_no_alarm(noise):
    """Two of twenty data sets at most, of waves that die away from two edges."""
    surrogate = Physics(PDE(laplacian, n_points=60), SPACE)
    n_raised = 0
    for seed in range(20):
        X = points(20, 2, seed=seed)
        generator = torch.Generator().manual_seed(1000 + seed)
        a, b, k, m = torch.rand(4, generator=generator, dtype=torch.float64)
        Z = surrogate.system.locals[0].units(X)
        Z = Z / surrogate.system.locals[0].units.b.max()
        k, m = 1 + 7 * k, 1 + 7 * m
        y = (0.2 + a) * torch.exp(-k * Z[:, 0]) * torch.cos(k * Z[:, 1])
        y = y + (0.2 + b) * torch.exp(-m * Z[:, 1]) * torch.sin(m * Z[:, 0])
        e = torch.randn(20, generator=generator, dtype=torch.float64)
        y = y / y.std() + noise * e
        n_raised += surrogate.fit(X, y.unsqueeze(1)).held_share < 0.05
    assert n_raised <= 2
