import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wideopt.exceptions import FitError
from wideopt.numerics.factor import Factor, PrimalFactor


def gram(n, r, batch, seed):
    """A random matrix of rank r, with its diagonal near one."""
    g = torch.Generator().manual_seed(seed)
    G = torch.randn(*batch, n, r, generator=g, dtype=torch.float64)
    return G @ G.mT / r


def t(value, batch=()):
    return torch.full(batch, value, dtype=torch.float64)


SHAPES = {
    "n": st.integers(1, 12),
    "q": st.integers(1, 4),
    "batch": st.sampled_from([(), (1,), (3,), (2, 2)]),
    "seed": st.integers(0, 2**16),
}


@settings(max_examples=40, deadline=None)
@given(noise=st.sampled_from([1e-6, 1e-3, 1.0]), rank=st.integers(1, 20), **SHAPES)
def test_extended_equals_fresh(n, q, batch, seed, noise, rank):
    K = gram(n + q, rank, batch, seed)
    lam = t(noise, batch)
    grown = Factor.of(K[..., :n, :n], lam).extended(K[..., n:, :n], K[..., n:, n:])
    fresh = Factor.of(K, lam)
    torch.testing.assert_close(grown.L, fresh.L, rtol=0, atol=1e-8)
    torch.testing.assert_close(grown.logdet, fresh.logdet)


@settings(max_examples=40, deadline=None)
@given(rank=st.integers(1, 4), **SHAPES)
def test_extended_equals_fresh_with_jitter(n, q, batch, seed, rank):
    K = gram(n + q, rank, batch, seed)
    grown = Factor.of(K[..., :n, :n], t(0.0)).extended(K[..., n:, :n], K[..., n:, n:])
    fresh = Factor.of(K, t(0.0))
    assert fresh.jitter.shape == torch.Size(batch)
    assert torch.equal(grown.jitter, fresh.jitter)
    # K is singular, so the factors themselves may differ by much more than rounding
    full = K + fresh.jitter[..., None, None] * torch.eye(n + q, dtype=torch.float64)
    for L in (grown.L, fresh.L):
        assert torch.equal(L, L.tril())
        torch.testing.assert_close(L @ L.mT, full, rtol=0, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(**SHAPES)
def test_solves(n, q, batch, seed):
    K, lam = gram(n, n, batch, seed), t(0.1, batch)
    factor = Factor.of(K, lam)
    full = K + 0.1 * torch.eye(n, dtype=torch.float64)
    torch.testing.assert_close(factor.L @ factor.L.mT, full)
    torch.testing.assert_close(factor.logdet, torch.logdet(full))
    g = torch.Generator().manual_seed(seed + 1)
    C = torch.randn(5, *batch, q, n, generator=g, dtype=torch.float64)
    V = factor.half_solve(C)
    assert V.shape == C.shape
    torch.testing.assert_close(V @ V.mT, C @ torch.linalg.solve(full, C.mT))
    Y = C[..., 0, :]
    expected = torch.linalg.solve(full, Y.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(factor.solve(Y), expected)


@settings(max_examples=30, deadline=None)
@given(noise=st.sampled_from([1e-6, 1e-2]), p=st.integers(1, 9), **SHAPES)
def test_primal_factor(n, q, batch, seed, noise, p):
    g = torch.Generator().manual_seed(seed)
    G = torch.randn(*batch, n + q, p, generator=g, dtype=torch.float64)
    lam = t(noise, batch)
    grown = PrimalFactor.of(p, [G[..., :n, :]], lam).extended(G[..., n:, :])
    fresh = PrimalFactor.of(p, G.split(3, dim=-2), lam)
    U = G.mT @ G + noise * torch.eye(p, dtype=torch.float64)
    torch.testing.assert_close(grown.R, fresh.R, rtol=0, atol=1e-8)
    torch.testing.assert_close(fresh.R.mT @ fresh.R, U)
    torch.testing.assert_close(fresh.logdet, torch.logdet(U), rtol=1e-6, atol=1e-6)
    V = fresh.half_solve(G)
    torch.testing.assert_close(
        V @ V.mT, G @ torch.linalg.solve(U, G.mT), rtol=1e-6, atol=1e-6
    )
    v = G[..., 0, :]
    torch.testing.assert_close((U @ fresh.solve(v).unsqueeze(-1)).squeeze(-1), v)
    torch.testing.assert_close(
        (fresh.R @ fresh.back_solve(v).unsqueeze(-1)).squeeze(-1), v
    )


def test_jitter_is_per_matrix_and_recorded():
    K = torch.stack([gram(4, 9, (), 0), torch.ones(4, 4, dtype=torch.float64)])
    factor = Factor.of(K, torch.tensor([1e-3, 0.0]).double())
    assert factor.jitter[0] == 0
    assert 0 < factor.jitter[1] < 1e-9
    assert torch.equal(factor.nugget, factor.noise + factor.jitter)


def test_the_level_changes_as_the_matrix_grows():
    K = torch.diag(torch.tensor([1.0, 1.0, 1e4]).double())
    small = Factor.of(K[:2, :2], t(0.0))
    grown, fresh = small.extended(K[2:, :2], K[2:, 2:]), Factor.of(K, t(0.0))
    assert grown.jitter > small.jitter
    assert torch.equal(grown.jitter, fresh.jitter)
    torch.testing.assert_close(grown.L, fresh.L)


def test_only_matrices_that_need_it_are_made_anew(monkeypatch):
    x = torch.linspace(0, 1, 60, dtype=torch.float64)
    eye = torch.eye(60, dtype=torch.float64)
    smooth = torch.exp(-((x[:, None] - x) ** 2)) - 1e-9 * eye  # not quite positive
    K, noise = torch.stack([smooth, eye]), torch.tensor([0.0, 0.1]).double()
    made, of = [], Factor.of

    def counted(K, noise):
        made.append(tuple(K.shape))
        return of(K, noise)

    monkeypatch.setattr(Factor, "of", counted)
    factor = of(K[:, :50, :50], noise)
    assert factor.jitter[0] > 5e-10  # far more than the least
    for n in range(50, 60):
        factor = factor.extended(K[:, n : n + 1, :n], K[:, n : n + 1, n : n + 1])
    assert not made
    fresh = of(K, noise)
    assert torch.equal(factor.jitter, fresh.jitter)
    torch.testing.assert_close(factor.L, fresh.L, rtol=0, atol=1e-4)
    noise = torch.zeros(2).double()
    K[1, -1, -1] = 1e6  # the level of the second jumps
    grown = of(K[:, :59, :59], noise).extended(K[:, 59:, :59], K[:, 59:, 59:])
    assert made == [(1, 60, 60)]
    fresh = of(K, noise)
    assert torch.equal(grown.jitter, fresh.jitter)
    torch.testing.assert_close(grown.L[1], fresh.L[1])


@pytest.mark.parametrize(
    "K",
    [
        torch.zeros(1, 1),
        torch.zeros(3, 3),
        -torch.eye(3),
        torch.tensor([[1.0, 5.0], [5.0, 1.0]]),
        1e200 * torch.ones(2, 2).double(),
        1e-250 * torch.ones(2, 2).double(),
    ],
)
def test_any_finite_matrix_has_a_factor(K):
    factor = Factor.of(K.double(), t(0.0))
    assert torch.isfinite(factor.L).all()
    assert torch.isfinite(factor.solve(torch.zeros(len(K)).double())).all()
    assert (factor.jitter > 0).all()


def test_only_non_finite_input_raises():
    with pytest.raises(FitError, match="not finite"):
        Factor.of(torch.tensor([[float("nan")]]).double(), t(0.0))
    with pytest.raises(FitError, match="not finite"):
        Factor.of(torch.ones(1, 1).double(), t(float("inf")))
    R = PrimalFactor.of(2, [torch.ones(1, 2).double()], t(1.0))
    assert torch.isfinite(R.R).all()


def test_gradients_flow_through_extension():
    K = gram(5, 9, (), 0).requires_grad_()

    def f(K):
        K = 0.5 * (K + K.mT)
        grown = Factor.of(K[:3, :3], t(0.1)).extended(K[3:, :3], K[3:, 3:])
        return grown.logdet, grown.solve(torch.ones(5).double())

    assert torch.autograd.gradcheck(f, (K,))
