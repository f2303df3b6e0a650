"""Random search, as evenly as a random sequence can be: scrambled Sobol points."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import State
from wideopt.search.candidates import distinct, scattered
from wideopt.search.design import seed_from

__all__ = ["Random"]


@dataclass(frozen=True)
class Random:
    """The next points of one scrambled Sobol sequence."""

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The next n points of the sequence that the first call began."""
        seed = state.get("seed")
        seed = seed_from(generator) if seed is None else seed
        used = state.get("used", 0)
        points = scattered(data.space, n, seed, start=used).to(data.X)
        known = torch.cat([data.X, data.X_pending])
        points = distinct(data.space, points, known, generator)
        return points, {"seed": seed, "used": used + n}
