"""Space-filling designs."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine

__all__ = ["generator_for", "seed_from", "sobol_points"]


def sobol_points(
    n_dims: int, n: int, seed: int, start: int = 0
) -> Float[Tensor, "n d"]:
    """Points start, ..., start + n - 1 of the scrambled Sobol sequence of a seed."""
    engine = SobolEngine(n_dims, scramble=True, seed=seed % 2**31)
    if start > 0:
        engine.fast_forward(start)
    return engine.draw(n, dtype=torch.float64)


def seed_from(generator: torch.Generator) -> int:
    """A fresh seed for a library that wants a number, drawn from our generator."""
    return int(torch.randint(2**31 - 1, (1,), generator=generator))


def generator_for(seed: int, number: int) -> torch.Generator:
    """The generator of trial `number` in a run with `seed`."""
    import numpy as np

    state = np.random.SeedSequence([seed, number]).generate_state(2)
    return torch.Generator().manual_seed((int(state[0]) << 31) ^ int(state[1]))
