"""Kernel and gradient written out are those of automatic differentiation."""

import pytest
import torch

from wideopt.numerics.additive import AdditiveKernel
from wideopt.numerics.by_hand import ByHand
from wideopt.numerics.hyper import NO_GRAIN, Hyper
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.scales import Scales


def hyper_of(generator, r, d, is_bent, has_grain):
    rand = lambda *shape: torch.rand(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    bend = grain = None
    if is_bent:
        bend = 4.0 * rand(r, d) - 2.0
        bend[0], bend[1, 0] = 0.0, 5e-5
    if has_grain:
        grain = torch.stack([rand(r) - 1.0, 2.0 * rand(r)], dim=1)
        grain[0, 0] = NO_GRAIN
    return Hyper(rand(r, d) - 0.5, rand(r) - 0.5, rand(r) - 0.5, -rand(r), bend, grain)


@pytest.mark.parametrize("has_grain", [False, True])
@pytest.mark.parametrize("is_bent", [False, True])
@pytest.mark.parametrize(
    ("activation", "depth"),
    [("erf", 1), ("erf", 2), ("relu", 1), ("relu", 3), ("bowl", 1)],
)
def test_equals_autograd(activation, depth, is_bent, has_grain, generator):
    X = torch.rand(12, 3, generator=generator, dtype=torch.float64)
    X[5] = X[2]  # a point twice
    hyper = hyper_of(generator, 4, 3, is_bent, has_grain)
    kernel = InfiniteKernel(Architecture(depth, 2, activation), Scales.ones(3))
    K, pull = ByHand.of(kernel, X)(hyper)
    psi = hyper.vector.requires_grad_()
    free = Hyper.from_vector(psi, 3, has_grain=has_grain)
    scaled = kernel.rescaled(free.scales)
    side = scaled.represent(X)
    expected = scaled.block_from(side, side)
    assert torch.allclose(K, expected, rtol=1e-10, atol=1e-12)
    G = torch.randn(4, 12, 12, generator=generator, dtype=torch.float64)
    G = G + G.mT
    (gradient,) = torch.autograd.grad(expected, psi, G)
    assert torch.allclose(pull(G), gradient, rtol=1e-7, atol=1e-8)


def test_of_other_kernels_there_is_none(generator):
    X = torch.rand(4, 2, generator=generator, dtype=torch.float64)
    ones = Scales.ones(2)
    others = [
        InfiniteKernel(Architecture(1, 2, "sin"), ones),
        InfiniteKernel(Architecture(1, 2, "erf", readout="fixed"), ones),
        InfiniteKernel(Architecture(1, 2, "erf"), ones, is_smooth=True),
        AdditiveKernel(ones),
    ]
    assert [ByHand.of(kernel, X) for kernel in others] == [None] * 4
