"""The default: chooses a method for the problem."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import State
from wideopt.methods.catalog import create

__all__ = ["Auto"]

_MANY_PENDING = 4


@dataclass(frozen=True)
class Auto:
    """Expected improvement, and Thompson sampling when many points are under way."""

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The points of the chosen method; each method keeps its own state."""
        name = self._choice(data, n)
        states = dict(state.get("states", {}))
        points, states[name] = create(name).propose(
            data, n, states.get(name, {}), generator
        )
        return points, {"states": states}

    def _choice(self, data: Dataset, n: int) -> str:
        # A batch by hallucination becomes greedy as it grows; joint draws stay diverse.
        is_parallel = data.X_pending.shape[0] + n > _MANY_PENDING
        return "gp-ts" if is_parallel else "gp-ei"
