"""The default: the method that has measured best so far, for every kind of problem."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import State
from wideopt.methods.neural_bo import NeuralBO

__all__ = ["Auto"]


@dataclass(frozen=True)
class Auto:
    """Thompson sampling with wide networks, `neural-bo`, in its default settings."""

    method: NeuralBO = field(default_factory=NeuralBO, init=False, repr=False)

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The points of the chosen method."""
        return self.method.propose(data, n, state, generator)
