import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from wideopt.exceptions import InputError
from wideopt.numerics import conditioning
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.posterior import (
    DualPosterior,
    PrimalPosterior,
    fit_posterior,
    noise_floor,
)
from wideopt.numerics.scales import Scales

# checked annotations reject some of these before the code does
REJECTED = (InputError, TypeCheckError)


def t(value, *batch):
    return torch.full(batch, value, dtype=torch.float64)


def make(seed, d, batch=(), kind="finite", width=12):
    """Kernel, and a function that draws uniform tensors."""
    g = torch.Generator().manual_seed(seed)

    def uniform(*shape):
        return torch.rand(shape, generator=g, dtype=torch.float64)

    scales = Scales(0.5 + uniform(*batch, d), 0.5 + uniform(*batch), t(1.0, *batch))
    arch = Architecture(width=width)
    if kind == "infinite":
        return InfiniteKernel(arch, scales), uniform
    weights = arch.initial_weights(d, g)
    return TangentKernel.of(arch, weights, scales), uniform


def close(a, b, atol=1e-8):
    for x, y in zip(a, b, strict=True):
        torch.testing.assert_close(x, y, rtol=0, atol=atol)


SHAPES = {
    "n": st.integers(1, 60),
    "q": st.integers(1, 5),
    "d": st.integers(1, 3),
    "batch": st.sampled_from([(), (1,), (3,), (2, 2)]),
    "noise": st.sampled_from([1e-4, 1e-2, 1.0]),
    "seed": st.integers(0, 2**16),
}


@settings(max_examples=40, deadline=None)
@given(**SHAPES)
def test_dual_equals_primal(n, q, d, batch, noise, seed):
    kernel, uniform = make(seed, d, batch)
    X, Y, A = uniform(n, d), uniform(*batch, n), uniform(2, *batch, q, d)
    dual = fit_posterior(kernel, X, Y, t(noise, *batch), "dual")
    primal = fit_posterior(kernel, X, Y, t(noise, *batch), "primal")
    assert dual.batch == primal.batch == torch.Size(batch)
    close(dual.moments(A), primal.moments(A))
    close(dual.marginals(A), primal.marginals(A))
    close([dual.information_gain], [primal.information_gain], 1e-6)
    close([dual.logdet], [primal.logdet], 1e-6)
    torch.testing.assert_close(dual.log_evidence(), primal.log_evidence())


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(["finite", "infinite"]), **SHAPES)
def test_posterior_equals_its_definition(kind, n, q, d, batch, noise, seed):
    kernel, uniform = make(seed, d, batch, kind)
    X, Y, A = uniform(n, d), uniform(*batch, n), uniform(q, d)
    posterior = fit_posterior(kernel, X, Y, t(noise, *batch))
    K = kernel.block(X, X) + noise * torch.eye(n, dtype=torch.float64)
    C = kernel.block(A, X)
    mean, cov = posterior.moments(A)
    expected = (C @ torch.linalg.solve(K, Y.unsqueeze(-1))).squeeze(-1)
    close([mean], [expected])
    close([cov], [kernel.block(A, A) - C @ torch.linalg.solve(K, C.mT)])
    close(posterior.marginals(A), (mean, cov.diagonal(dim1=-2, dim2=-1)))
    gain = 0.5 * torch.linalg.slogdet(K / noise).logabsdet
    close([posterior.information_gain], [gain], 1e-6)
    normal = torch.distributions.MultivariateNormal(torch.zeros_like(Y), K)
    torch.testing.assert_close(posterior.log_evidence(), normal.log_prob(Y))


@settings(max_examples=40, deadline=None)
@given(form=st.sampled_from(["dual", "primal", "auto"]), k=st.integers(1, 3), **SHAPES)
def test_extended_equals_fresh(form, k, n, q, d, batch, noise, seed):
    kernel, uniform = make(seed, d, batch)
    X, Y, A = uniform(n + k, d), uniform(*batch, n + k), uniform(q, d)
    lam = t(noise, *batch)
    grown = fit_posterior(kernel, X[:n], Y[..., :n], lam, form)
    grown = grown.extended(X[n:], Y[..., n:])
    fresh = fit_posterior(kernel, X, Y, lam, form)
    assert type(grown) is type(fresh)
    close(grown.moments(A), fresh.moments(A))
    close([grown.information_gain], [fresh.information_gain], 1e-6)
    assert grown.n == n + k
    other = uniform(*batch, n + k)
    close(
        grown.with_targets(other).moments(A),
        fit_posterior(kernel, X, other, lam, form).moments(A),
    )


def test_many_extensions_and_the_switch_to_primal():
    kernel, uniform = make(0, 2, (2,), width=8)
    n = kernel.n_features + 5
    X, Y, A = uniform(n, 2), uniform(2, n), uniform(4, 2)
    posterior = fit_posterior(kernel, X[:1], Y[:, :1], t(1e-4, 2))
    forms = []
    for i in range(1, n):
        posterior = posterior.extended(X[i : i + 1], Y[:, i : i + 1])
        forms.append(type(posterior))
        assert isinstance(
            posterior, PrimalPosterior if i + 1 > kernel.n_features else DualPosterior
        )
    assert set(forms) == {DualPosterior, PrimalPosterior}
    for form in ("dual", "primal"):
        fresh = fit_posterior(kernel, X, Y, t(1e-4, 2), form)
        close(posterior.moments(A), fresh.moments(A))


@pytest.mark.parametrize("kind", ["finite", "infinite"])
@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_degenerate_data(kind, noise):
    kernel, uniform = make(0, 2, (), kind)
    x, A = uniform(1, 2), uniform(5, 2)
    one = fit_posterior(kernel, x, t(1.5, 1), t(noise))
    torch.testing.assert_close(one.marginals(x)[0], t(1.5, 1), rtol=1e-3, atol=0)
    twice = one.extended(x, t(1.5, 1)).extended(x.expand(3, 2), t(1.5, 3))
    assert twice.n == 5
    close(twice.moments(A), one.moments(A), 1e-3)
    mean, variance = twice.marginals(torch.cat([A, x]))
    assert torch.isfinite(mean).all()
    assert (variance >= 0).all()
    assert variance[-1] < 1e-3
    conflicting = one.extended(x, t(-0.5, 1))
    torch.testing.assert_close(
        conflicting.marginals(x)[0], t(0.5, 1), rtol=0, atol=0.01
    )


def test_zero_noise_interpolates():
    kernel, uniform = make(0, 2, (), "infinite")
    X, Y = uniform(8, 2), uniform(8)
    posterior = fit_posterior(kernel, X, Y, t(0.0))
    mean, variance = posterior.marginals(X)
    close([mean, variance], [Y, torch.zeros_like(Y)], 1e-4)
    assert torch.equal(posterior.noise, noise_floor(kernel))
    # the floor is the kernel's alone, so growing changes nothing
    grown = fit_posterior(kernel, X[:5], Y[:5], t(0.0)).extended(X[5:], Y[5:])
    A = uniform(4, 2)
    close(grown.moments(A), posterior.moments(A))


def test_batches_of_candidates(monkeypatch):
    kernel, uniform = make(0, 2, (3,))
    posterior = fit_posterior(kernel, uniform(6, 2), uniform(3, 6), t(1e-2, 3))
    A = uniform(4, 5, 1, 7, 2)
    mean, cov = posterior.moments(A)
    assert mean.shape == (4, 5, 3, 7)
    assert cov.shape == (4, 5, 3, 7, 7)
    close([mean[2, 1], cov[2, 1]], posterior.moments(A[2, 1, 0]))
    monkeypatch.setattr(conditioning, "_CHUNK", 1)  # 64 rows at a time
    close(posterior.marginals(A), (mean, cov.diagonal(dim1=-2, dim2=-1)))


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_outputs_may_share_one_kernel(form):
    kernel, uniform = make(0, 2)
    X, Y, A = uniform(6, 2), uniform(3, 6), uniform(4, 2)
    posterior = fit_posterior(kernel, X, Y, t(1e-2), form)
    mean, cov = posterior.moments(A)
    assert mean.shape == (3, 4)
    assert cov.shape == (3, 4, 4)
    single = fit_posterior(kernel, X, Y[1], t(1e-2), form)
    close([mean[1], cov[1]], single.moments(A))
    assert posterior.marginals(A)[1].shape == (3, 4)
    g = torch.Generator().manual_seed(0)
    assert posterior.draw(g, 5)(A).shape == (5, 3, 4)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_gradients_in_candidates(form):
    kernel, uniform = make(0, 2, (2,), width=4)
    posterior = fit_posterior(kernel, uniform(6, 2), uniform(2, 6), t(1e-2, 2), form)
    A = uniform(3, 2).requires_grad_()
    assert torch.autograd.gradcheck(posterior.moments, (A,))
    assert torch.autograd.gradcheck(posterior.marginals, (A,))


@pytest.mark.parametrize(
    ("kind", "form"),
    [("finite", "dual"), ("finite", "primal"), ("infinite", "dual")],
)
def test_draws_have_the_posterior_moments(kind, form):
    kernel, uniform = make(0, 2, (2,), kind)
    X, Y, A = uniform(5, 2), uniform(2, 5), uniform(4, 2)
    posterior = fit_posterior(kernel, X, Y, t(1e-2, 2), form)
    n_draws = 3_000 if kind == "infinite" else 20_000
    draw = posterior.draw(torch.Generator().manual_seed(1), n_draws)
    values = draw(A)
    assert values.shape == (n_draws, 2, 4)
    mean, cov = posterior.moments(A)
    scale = cov.max().sqrt().item()
    torch.testing.assert_close(values.mean(0), mean, rtol=0, atol=0.05 * scale)
    centered = values - values.mean(0)
    sample = torch.einsum("sbi,sbj->bij", centered, centered) / len(values)
    atol = (0.2 if kind == "infinite" else 0.05) * scale**2
    torch.testing.assert_close(sample, cov, rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("kind", "form"),
    [("finite", "dual"), ("finite", "primal"), ("infinite", "dual")],
)
def test_a_draw_is_a_differentiable_function(kind, form):
    kernel, uniform = make(0, 2, (2,), kind)
    X, Y = uniform(5, 2), uniform(2, 5)
    posterior = fit_posterior(kernel, X, Y, t(1e-8, 2), form)
    draw = posterior.draw(torch.Generator().manual_seed(1), 3)
    close([draw(X)], [Y.expand(3, 2, 5)], 1e-2)
    A = uniform(4, 1, 6, 2).requires_grad_()
    values = draw(A)
    assert values.shape == (3, 4, 2, 6)
    close([values[:, 1]], [draw(A[1, 0])])
    (grad,) = torch.autograd.grad(values.sum(), A)
    assert torch.isfinite(grad).all()
    again = posterior.draw(torch.Generator().manual_seed(1), 3)
    assert torch.equal(again(X), draw(X))


def test_independent_draw():
    kernel, uniform = make(0, 2, (2,))
    posterior = fit_posterior(kernel, uniform(5, 2), uniform(2, 5), t(1e-2, 2))
    x = uniform(1, 2)
    g = torch.Generator().manual_seed(0)
    values = posterior.independent_draw(x.expand(40_000, 2), g)
    assert values.shape == (2, 40_000)
    mean, variance = posterior.marginals(x)
    torch.testing.assert_close(values.mean(-1), mean[:, 0], rtol=0, atol=0.02)
    torch.testing.assert_close(values.var(-1), variance[:, 0], rtol=0.05, atol=0)


@pytest.mark.parametrize(
    ("kind", "form"),
    [("finite", "dual"), ("finite", "primal"), ("infinite", "dual")],
)
def test_conditioned_equals_extended(kind, form):
    kernel, uniform = make(0, 2, (2,), kind)
    posterior = fit_posterior(kernel, uniform(6, 2), uniform(2, 6), t(1e-2, 2), form)
    X, Y, A = uniform(3, 2), uniform(2, 3), uniform(4, 2)
    extended = posterior.extended(X, Y)
    close(posterior.conditioned(X, Y).moments(A), extended.moments(A))
    close(posterior.conditioned(X, Y).marginals(A), extended.marginals(A))
    steps = posterior.conditioned(X[:1], Y[:, :1]).conditioned(X[1:], Y[:, 1:])
    close(steps.moments(A), extended.moments(A))


def test_conditioned_on_batches_of_fantasies():
    kernel, uniform = make(0, 2, (2,), width=4)
    posterior = fit_posterior(kernel, uniform(6, 2), uniform(2, 6), t(1e-2, 2))
    X, Y = uniform(5, 1, 3, 2), uniform(7, 5, 2, 3)  # 7 fantasies of 5 t-batches
    fantasy = posterior.conditioned(X, Y)
    A = uniform(7, 5, 1, 4, 2)
    mean, cov = fantasy.moments(A)
    assert mean.shape == (7, 5, 2, 4)
    assert cov.shape == (7, 5, 2, 4, 4)
    single = posterior.extended(X[2, 0], Y[1, 2]).moments(A[1, 2, 0])
    close([mean[1, 2], cov[1, 2]], single)

    def best(X):
        return posterior.conditioned(X, Y).moments(A)[0]

    assert torch.autograd.gradcheck(best, (X.requires_grad_(),), fast_mode=True)


def test_wrong_inputs_raise():
    kernel, uniform = make(0, 2)
    X, Y = uniform(3, 2), uniform(3)
    with pytest.raises(InputError, match="float32"):
        fit_posterior(kernel, X.float(), Y, t(1.0))
    with pytest.raises(REJECTED, match="Y"):
        fit_posterior(kernel, X, uniform(4), t(1.0))
    with pytest.raises(InputError, match="Y holds a NaN"):
        fit_posterior(kernel, X, Y * math.nan, t(1.0))
    with pytest.raises(InputError, match="not negative"):
        fit_posterior(kernel, X, Y, t(-1.0))
    with pytest.raises(REJECTED, match="sparse"):
        fit_posterior(kernel, X, Y, t(1.0), "sparse")
    infinite, _ = make(0, 2, (), "infinite")
    with pytest.raises(InputError, match="no features"):
        fit_posterior(infinite, X, Y, t(1.0), "primal")
    primal = fit_posterior(kernel, X, Y, t(1.0), "primal")
    with pytest.raises(InputError, match="conditioned"):
        primal.extended(X.requires_grad_(), Y)


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_extended_takes_new_targets_or_all(form):
    kernel, uniform = make(0, 2, (2,))
    X, Y, A = uniform(8, 2), uniform(2, 8), uniform(4, 2)
    posterior = fit_posterior(kernel, X[:6], uniform(2, 6), t(1e-2, 2), form)
    fresh = fit_posterior(kernel, X, Y, t(1e-2, 2), form)
    close(posterior.extended(X[6:], Y).moments(A), fresh.moments(A))


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_selected_outputs(form):
    kernel, uniform = make(0, 2, (3,))
    posterior = fit_posterior(kernel, uniform(6, 2), uniform(3, 6), t(1e-2, 3), form)
    A = uniform(4, 2)
    mean, cov = posterior.moments(A)
    close(posterior.selected([2, 0]).moments(A), (mean[[2, 0]], cov[[2, 0]]))
