"""The kernel of sine networks between derivatives: four independent forms of it."""

import pytest
import torch

from wideopt.numerics.joint_tangent import JointTangent, gain
from wideopt.numerics.smooth import Functionals, SineFeatures, SmoothKernel

F64 = torch.float64


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def rand(*shape, seed=0):
    return torch.rand(*shape, generator=generator(seed), dtype=F64)


@pytest.fixture
def kernel():
    return SmoothKernel(
        torch.tensor([2.0, 1.3], dtype=F64), torch.tensor(1.7, dtype=F64), 0.6
    )


ORDERS = {
    "values": ((0, 0),),
    "first": ((0, 0), (1, 0), (0, 1)),
    "gradient": ((0, 1),),
    "second": ((2, 0), (0, 2)),
    "mixed": ((0, 0), (1, 1), (4, 0)),
}


def functionals(name, n, seed):
    alphas = ORDERS[name]
    return Functionals(
        rand(n, 2, seed=seed), rand(n, len(alphas), seed=seed + 9), alphas
    )


def along(f, i, which):
    return lambda t, u: torch.func.grad(f, argnums=which)(t, u)[i]


def derived(f, alpha, which):
    for i, order in enumerate(alpha):
        for _ in range(order):
            f = along(f, i, which)
    return f


def by_autograd(kernel, a, b):
    """Nested reverse mode on the kernel of two values."""

    def k(t, u):
        gap = ((t - u) * kernel.s).square().sum()
        return kernel.o.square() * torch.exp(-0.5 * gap) + kernel.beta**2

    K = torch.zeros(a.n, b.n, dtype=F64)
    for j, alpha in enumerate(a.alphas):
        for i, beta in enumerate(b.alphas):
            f = derived(derived(k, alpha, 0), beta, 1)
            values = [[f(t, u) for u in b.T] for t in a.T]
            block = torch.stack([torch.stack(row) for row in values])
            K += a.A[:, j, None] * b.A[:, i] * block
    return K


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("values", "values"),
        ("first", "first"),
        ("gradient", "values"),
        ("second", "values"),
        ("second", "first"),
        ("mixed", "values"),
    ],
)
def test_blocks_are_derivatives_of_the_kernel(kernel, left, right):
    a, b = functionals(left, 2, 1), functionals(right, 2, 2)
    exact = by_autograd(kernel, a, b)
    torch.testing.assert_close(kernel.block(a, b), exact, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(kernel.block(b, a), exact.mT, rtol=1e-9, atol=1e-9)


def test_wide_networks_tend_to_the_kernel(kernel):
    groups = [functionals(name, 3, i) for i, name in enumerate(("first", "second"))]
    K = kernel.all_block(groups, groups)
    errors = []
    for width in (200, 20_000):
        features = SineFeatures.drawn(kernel, width, generator(5))
        R = torch.cat([features.rows(group) for group in groups])
        errors.append(float((R @ R.mT - K).norm() / K.norm()))
    assert errors[1] < 0.05
    assert errors[1] < 0.5 * errors[0]


def test_blocks_take_batches(kernel):
    T = rand(4, 1, 3, 2)
    b = functionals("second", 5, 1)
    K = kernel.block(Functionals.values(T), b)
    assert K.shape == (4, 1, 3, 5)
    one = kernel.block(Functionals.values(T[2, 0]), b)
    torch.testing.assert_close(K[2, 0], one)


@pytest.mark.parametrize(("n", "r", "p"), [(4, 6, 30), (20, 15, 8)])
def test_joint_tangent_dual_is_primal(n, r, p):
    Phi, Omega, phi = rand(n, p, seed=1), rand(r, p, seed=2) - 0.5, rand(3, p, seed=3)
    Y, U = rand(n, seed=4), rand(r, seed=5)
    both = [JointTangent(Phi, Omega, 0.1, 0.3, side) for side in ("dual", "primal")]
    smaller = JointTangent(Phi, Omega, 0.1, 0.3)
    for other in (both[1], smaller):
        for x, y in zip(
            both[0].moments(phi, Y, U), other.moments(phi, Y, U), strict=True
        ):
            torch.testing.assert_close(x, y, rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(
            both[0].interaction, other.interaction, rtol=1e-8, atol=1e-8
        )
    # Lemma 5.3.4 and 5.3.6, as printed
    xi = torch.cat([Phi, Omega])
    noise = torch.cat([torch.full((n,), 0.1), torch.full((r,), 0.3)]).double()
    K = xi @ xi.mT + noise.diag()
    mean = phi @ xi.mT @ torch.linalg.solve(K, torch.cat([Y, U]))
    torch.testing.assert_close(smaller.moments(phi, Y, U)[0], mean)
    eye = torch.eye(p, dtype=F64)
    A, B = Phi.mT @ Phi / 0.1, Omega.mT @ Omega / 0.3
    dets = [torch.logdet(M + eye) for M in (A, B, A + B)]
    expected = 0.5 * (dets[0] + dets[1] - dets[2])
    torch.testing.assert_close(smaller.interaction, expected, rtol=1e-8, atol=1e-8)
    assert smaller.interaction >= 0
    torch.testing.assert_close(gain(Phi, "dual"), gain(Phi, "primal"))
