"""Fixtures: seeded generators, random points and small kernels."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.scales import Scales


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def uniform(generator: torch.Generator) -> Callable[..., Tensor]:
    def draw(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    return draw


@pytest.fixture
def make_scales(uniform: Callable[..., Tensor]) -> Callable[..., Scales]:
    def make(d: int, *batch: int) -> Scales:
        return Scales(
            0.5 + uniform(*batch, d), 0.5 + uniform(*batch), 0.5 + uniform(*batch)
        )

    return make


@pytest.fixture
def make_kernel(
    generator: torch.Generator, make_scales: Callable[..., Scales]
) -> Callable[..., TangentKernel]:
    def make(d: int, *batch: int, **settings: object) -> TangentKernel:
        architecture = Architecture(**{"width": 16, **settings})
        weights = architecture.initial_weights(d, generator, batch)
        return TangentKernel.of(architecture, weights, make_scales(d, *batch))

    return make
