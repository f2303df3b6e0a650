"""The default: the method that has measured best so far, for every kind of problem.

With a PDE that is `pinn-bo`, else `neural-bo`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import Method, State
from wideopt.methods.neural_bo import NeuralBO
from wideopt.methods.parameters import Parameters
from wideopt.methods.pinn_bo import PinnBO
from wideopt.space import Space

__all__ = ["Auto"]


@dataclass(frozen=True)
class Auto:
    """`pinn-bo` or `neural-bo` in its default settings.

    Attributes:
        pde: physics of the objective; `Optimizer(..., pde=...)` sets it.
        is_maximized: whether the PDE is of what is maximized; `maximize` sets it.
    """

    pde: Any = None
    is_maximized: bool = False
    method: Method = field(init=False, repr=False)

    def __post_init__(self) -> None:
        chosen: Method = NeuralBO()
        if self.pde is not None:
            chosen = PinnBO(pde=self.pde, is_maximized=self.is_maximized)
        object.__setattr__(self, "method", chosen)

    def check(self, space: Space, n_constraints: int) -> None:
        """Raise unless the PDE suits the problem."""
        if isinstance(self.method, PinnBO):
            self.method.check(space, n_constraints)

    def parameters(self, data: Dataset, state: State) -> Parameters | None:
        """Estimates of unknown coefficients of the PDE."""
        if isinstance(self.method, PinnBO):
            return self.method.parameters(data, state)
        return None

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The points of the chosen method."""
        return self.method.propose(data, n, state, generator)
