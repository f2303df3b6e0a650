import pytest
import torch

from wideopt.exceptions import InputError
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.scales import Scales

CLOSED = ["relu", "erf", "sin"]


def error_at(arch, width, scales, X, seeds):
    """Root mean square distance of finite blocks from the limit, over seeds."""
    limit = InfiniteKernel(arch, scales).block(X, X)
    total = 0.0
    for seed in range(seeds):
        g = torch.Generator().manual_seed(seed)
        finite = Architecture(
            arch.depth, width, arch.activation, arch.init, arch.readout
        )
        weights = finite.initial_weights(X.shape[-1], g)
        K = TangentKernel.of(finite, weights, scales).block(X, X)
        total += ((K - limit) / limit.abs().max()).square().mean().item()
    return (total / seeds) ** 0.5


@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("init", "readout"),
    [
        ("antisymmetric", "trained"),
        ("antisymmetric", "fixed"),
        ("zero-last", "trained"),
    ],
)
def test_finite_width_tends_to_the_limit(
    activation, depth, init, readout, uniform, make_scales
):
    arch = Architecture(depth, 2, activation, init, readout)
    X, scales = uniform(6, 3), make_scales(3)
    coarse = error_at(arch, 64, scales, X, 20)
    fine = error_at(arch, 1024, scales, X, 20)
    # 16 times the width: about a quarter of the error
    assert fine < 0.08
    assert 2.0 < coarse / fine < 8.0


@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("readout", ["trained", "fixed"])
def test_diag_symmetry_and_positivity(activation, depth, readout, uniform, make_scales):
    arch = Architecture(depth, 8, activation, "antisymmetric", readout)
    kernel = InfiniteKernel(arch, make_scales(2, 3))
    X = uniform(20, 2)
    K = kernel.block(X, X)
    assert K.shape == (3, 20, 20)
    torch.testing.assert_close(K, K.mT)
    # relu's angle at coincident points is known to 1e-7 only
    tol = 1e-6 if activation == "relu" else 1e-12
    diagonal = K.diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(kernel.diag(X), diagonal, rtol=tol, atol=tol)
    assert torch.linalg.eigvalsh(K).min() > -1e-6


@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("depth", [1, 2])
def test_gradient_in_points_and_scales(activation, depth, uniform):
    arch = Architecture(depth, 8, activation)
    B = uniform(3, 2)

    def block(A, s, b, o):
        kernel = InfiniteKernel(arch, Scales(s, b, o))
        return kernel.block(A, B), kernel.diag(A)

    inputs = [uniform(2, 2), uniform(2) + 0.5, *(uniform(2) + 0.5)]
    inputs = [x.clone().requires_grad_() for x in inputs]
    assert torch.autograd.gradcheck(block, inputs)


@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("depth", [1, 3])
def test_gradient_is_finite_at_duplicates_and_the_center(activation, depth, uniform):
    scales = Scales(
        torch.ones(2).double().requires_grad_(),
        torch.tensor(1.0).double().requires_grad_(),
        torch.tensor(1.0).double(),
    )
    kernel = InfiniteKernel(Architecture(depth, 8, activation), scales)
    A = torch.cat([uniform(3, 2), torch.full((1, 2), 0.5).double()])
    A = torch.cat([A, A]).requires_grad_()
    grads = torch.autograd.grad(
        kernel.block(A, A).square().sum(), (A, scales.input, scales.bias)
    )
    assert all(torch.isfinite(grad).all() for grad in grads)


def test_joined_sides(make_scales, uniform):
    kernel = InfiniteKernel(Architecture(2), make_scales(2, 3))
    A, B = uniform(4, 2), uniform(3, 3, 2)
    joined = kernel.represent(A).joined(kernel.represent(B))
    both = torch.cat([A.expand(3, 4, 2), B], dim=-2)
    torch.testing.assert_close(
        kernel.block_from(joined, joined), kernel.block(both, both)
    )


def test_prior_draw_moments(generator, uniform, make_scales):
    kernel = InfiniteKernel(Architecture(), make_scales(2, 2), draw_width=1024)
    X = uniform(3, 2)
    f = kernel.prior_draw(generator, (2_000, 2))(X)
    cov = torch.einsum("sbi,sbj->bij", f, f) / len(f)
    K = kernel.block(X, X)
    torch.testing.assert_close(cov, K, rtol=0.0, atol=0.15 * K.max().item())


@pytest.mark.parametrize("activation", ["tanh", "silu"])
def test_no_limit_without_closed_form(activation, make_scales):
    with pytest.raises(InputError, match=activation):
        InfiniteKernel(Architecture(activation=activation), make_scales(2))
