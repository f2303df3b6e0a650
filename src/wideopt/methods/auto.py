"""The default: the method that has measured best so far, for every kind of problem.

With a PDE that is `pinn-bo`, with constraints `neural-cbo`, else `neural-bo`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.account import account
from wideopt.methods.base import Method, State
from wideopt.methods.neural_bo import NeuralBO
from wideopt.methods.neural_cbo import NeuralCBO
from wideopt.methods.parameters import Parameters
from wideopt.methods.pinn_bo import PinnBO
from wideopt.space import Space

__all__ = ["Auto"]


@dataclass(frozen=True)
class Auto:
    """`pinn-bo`, `neural-cbo` or `neural-bo` in its default settings.

    Attributes:
        pde: physics of the objective; `Optimizer(..., pde=...)` sets it.
        is_maximized: whether the PDE is of what is maximized; `maximize` sets it.
        verbose: whether the message of a result tells what was chosen, and why.
    """

    pde: Any = None
    is_maximized: bool = False
    verbose: bool = False
    physics: PinnBO | None = field(init=False, repr=False)
    constrained: NeuralCBO = field(default_factory=NeuralCBO, init=False, repr=False)
    free: NeuralBO = field(default_factory=NeuralBO, init=False, repr=False)

    def __post_init__(self) -> None:
        physics = None
        if self.pde is not None:
            physics = PinnBO(pde=self.pde, is_maximized=self.is_maximized)
        object.__setattr__(self, "physics", physics)

    def check(self, space: Space, n_constraints: int) -> None:
        """Raise unless the PDE suits the problem."""
        if self.physics is not None:
            self.physics.check(space, n_constraints)

    def parameters(self, data: Dataset, state: State) -> Parameters | None:
        """Estimates of unknown coefficients of the PDE."""
        if self.physics is not None:
            return self.physics.parameters(data, state)
        return None

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The points of the chosen method."""
        name, why, method = self._chosen(data)
        if not self.verbose:
            return method.propose(data, n, state, generator)
        rest = {k: v for k, v in state.items() if k not in ("message", "said")}
        own = {"message": state["said"]} if state.get("said") else {}
        points, state = method.propose(data, n, {**rest, **own}, generator)
        said = str(state.get("message", ""))
        told = " ".join(filter(None, [said, account(name, why, data, state)]))
        return points, {**state, "said": said, "message": told}

    def _chosen(self, data: Dataset) -> tuple[str, str, Method]:
        if self.physics is not None:
            return "pinn-bo", "the objective obeys a PDE", self.physics
        if data.Y.shape[1] > 1:
            return "neural-cbo", "there are constraints", self.constrained
        return "neural-bo", "there are no constraints", self.free
