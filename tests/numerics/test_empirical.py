import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wideopt.exceptions import InputError
from wideopt.numerics.activations import ACTIVATIONS
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.scales import Scales

VARIANTS = [
    {"init": init, "readout": readout, "depth": depth}
    for init in ("antisymmetric", "zero-last", "gaussian")
    for readout in ("trained", "fixed")
    for depth in (1, 3)
    if (init, readout) != ("zero-last", "fixed")
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_block_is_the_gram_matrix_of_all_gradients(
    variant, activation, generator, uniform, make_scales
):
    arch = Architecture(width=12, activation=activation, **variant)
    weights, scales = arch.initial_weights(3, generator), make_scales(3)
    A, B = uniform(4, 3), uniform(5, 3)

    def gradients(X):
        jacobians = torch.func.jacrev(arch.forward)(weights, scales.embed(X))
        trained = [jacobians[i].flatten(1) for i in arch.trained_layers]
        return scales.output * torch.cat(trained, dim=-1)

    G_A, G_B = gradients(A), gradients(B)
    kernel = TangentKernel.of(arch, weights, scales)
    torch.testing.assert_close(kernel.block(A, B), G_A @ G_B.mT)
    plain = TangentKernel(arch, weights, scales)
    torch.testing.assert_close(plain.features(A), G_A)
    torch.testing.assert_close(plain.block(A, B), G_A @ G_B.mT)


@settings(max_examples=40, deadline=None)
@given(
    depth=st.integers(1, 3),
    readout=st.sampled_from(["trained", "fixed"]),
    activation=st.sampled_from(["relu", "bowl"]),
    n=st.integers(1, 6),
    q=st.integers(1, 4),
    d=st.integers(1, 4),
    batch=st.sampled_from([(), (1,), (3,), (2, 3)]),
    lead=st.sampled_from([(), (2,)]),
    seed=st.integers(0, 2**16),
)
def test_identities_over_shapes(depth, readout, activation, n, q, d, batch, lead, seed):
    g = torch.Generator().manual_seed(seed)

    def uniform(*shape):
        return torch.rand(shape, generator=g, dtype=torch.float64)

    arch = Architecture(depth, 6, activation, readout=readout)
    scales = Scales(uniform(*batch, d), uniform(*batch), uniform(*batch))
    kernel = TangentKernel.of(arch, arch.initial_weights(d, g, batch), scales)
    A, B = uniform(*lead, *batch, q, d), uniform(n, d)
    G_A, G_B = kernel.features(A), kernel.features(B)
    assert G_A.shape == (*lead, *batch, q, kernel.n_features)
    torch.testing.assert_close(kernel.block(A, B), G_A @ G_B.mT)
    torch.testing.assert_close(
        kernel.diag(A), kernel.block(A, A).diagonal(dim1=-2, dim2=-1)
    )
    w, r = uniform(*batch, kernel.n_features), uniform(*batch, n)
    torch.testing.assert_close(kernel.jvp(A, w), (G_A @ w.unsqueeze(-1)).squeeze(-1))
    torch.testing.assert_close(
        kernel.vjp_from(kernel.represent(B), r),
        (r.unsqueeze(-2) @ G_B).squeeze(-2),
    )


def test_joined_and_split_sides(make_kernel, uniform):
    kernel = make_kernel(2, 3, depth=2)
    A, B = uniform(4, 2), uniform(3, 3, 2)
    joined = kernel.represent(A).joined(kernel.represent(B))
    both = torch.cat([A.expand(3, 4, 2), B], dim=-2)
    torch.testing.assert_close(
        kernel.block_from(joined, joined), kernel.block(both, both)
    )
    parts = [kernel.features_from(part) for part in joined.split(3)]
    assert [part.shape[-2] for part in parts] == [3, 3, 1]
    torch.testing.assert_close(torch.cat(parts, -2), kernel.features(both))


@pytest.mark.parametrize("depth", [1, 2])
def test_gradient_in_points_and_scales(depth, make_kernel, uniform):
    kernel = make_kernel(2, depth=depth, width=4, activation="tanh")
    B = uniform(3, 2)

    def block(A, s, b, o):
        scaled = TangentKernel(kernel.architecture, kernel.weights, Scales(s, b, o))
        return scaled.block(A, B), scaled.diag(A)

    inputs = (uniform(2, 2), kernel.scales.input, *(uniform(2) + 0.5))
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    assert torch.autograd.gradcheck(block, inputs)


def test_relu_gradient_is_finite_at_duplicates(make_kernel, uniform):
    kernel = make_kernel(2, activation="relu")
    A = uniform(3, 2).requires_grad_()
    (grad,) = torch.autograd.grad(kernel.block(A, A.detach()).sum(), A)
    assert torch.isfinite(grad).all()


def test_zero_last_keeps_only_the_readout(make_kernel, uniform):
    kernel = make_kernel(2, init="zero-last", depth=2, width=16)
    assert kernel.layers == (2,)
    assert kernel.n_features == 16


def test_prior_draw_moments(make_kernel, generator, uniform):
    kernel = make_kernel(2, 2, width=8)
    X = uniform(3, 2)
    f = kernel.prior_draw(generator, (20_000, 2))(X)
    assert f.shape == (20_000, 2, 3)
    cov = torch.einsum("sbi,sbj->bij", f, f) / len(f)
    torch.testing.assert_close(cov, kernel.block(X, X), rtol=0.0, atol=0.1)
    assert f.mean(0).abs().max() < 0.1


def test_prior_draw_is_one_function_for_all_batches(make_kernel, generator, uniform):
    kernel = make_kernel(2, 3)
    draw = kernel.prior_draw(generator, (5, 3))
    X = uniform(4, 1, 6, 2)  # four t-batches of six points, shared by three outputs
    values = draw(X)
    assert values.shape == (5, 4, 3, 6)
    torch.testing.assert_close(values[:, 2], draw(X[2, 0]))
    X = X.requires_grad_()
    (grad,) = torch.autograd.grad(draw(X).sum(), X)
    assert torch.isfinite(grad).all()


def test_wrong_weights_raise(generator, make_scales):
    arch = Architecture(width=4)
    weights = arch.initial_weights(2, generator)
    with pytest.raises(InputError, match="d = 3"):
        TangentKernel.of(arch, weights, make_scales(3))
    with pytest.raises(InputError, match="float32"):
        TangentKernel(arch, tuple(W.float() for W in weights), make_scales(2))
