"""The default: what has measured best so far, for every kind of problem.

With a PDE that is `pinn-bo`, with constraints `neural-cbo`, else `neural-bo` and, for
one point in three, `turbo`: a trust region around the best point, with a GP of its own,
gets along with what wide networks explain badly, such as sharp ridges that no axis
follows and separate peaks. Each sees the points of the other.

The region waits until there is a model of the networks. Where that takes the values for
noise (see `blind`), it goes on until it has shrunk without finding anything. It rests
where all values are equal, where there are finitely many configs, and beyond 1,000
observations, since a GP's time grows with their cube.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.account import account
from wideopt.methods.base import Method, State
from wideopt.methods.condense import N_MAX
from wideopt.methods.neural_bo import NeuralBO
from wideopt.methods.neural_cbo import NeuralCBO
from wideopt.methods.parameters import Parameters
from wideopt.methods.pinn_bo import PinnBO
from wideopt.methods.turbo import Turbo
from wideopt.space import Space

__all__ = ["Auto"]

_SHORT = 0.15  # a side at which a region has found nothing, where networks have not


@dataclass(frozen=True)
class Auto:
    """`pinn-bo`, `neural-cbo`, or `neural-bo` with `turbo`, in their default settings.

    Attributes:
        region_share: of points that come from a trust region, where there are neither
            a PDE nor constraints.
        pde: physics of the objective; `Optimizer(..., pde=...)` sets it.
        is_maximized: whether the PDE is of what is maximized; `maximize` sets it.
        verbose: whether the message of a result tells what was chosen, and why.
    """

    region_share: float = 1 / 3
    pde: Any = None
    is_maximized: bool = False
    verbose: bool = False
    physics: PinnBO | None = field(init=False, repr=False)
    constrained: NeuralCBO = field(default_factory=NeuralCBO, init=False, repr=False)
    free: NeuralBO = field(default_factory=NeuralBO, init=False, repr=False)
    region: Turbo = field(default_factory=Turbo, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.region_share < 1:
            raise InputError(
                "Option region_share must be at least 0 and below 1, but got "
                f"{self.region_share}."
            )
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
        """The points of the chosen method, and of the region."""
        name, why, method = self._chosen(data)
        own = {k: v for k, v in state.items() if k not in ("message", "said", "region")}
        said = str(state.get("said" if self.verbose else "message", ""))
        own |= {"message": said} if said else {}
        region = state.get("region", {})
        n_region = 0
        if method is self.free:
            n_region = self._n_region(data, n, own, region, generator)
        near = data.X[:0]
        if n_region:
            near, region = self.region.propose(data, n_region, region, generator)
            data = data.with_pending(near)
        far = data.X[:0]
        if n > n_region:
            far, own = method.propose(data, n - n_region, own, generator)
        points = torch.cat([near, far])
        state = {**own, "region": region} if region else own
        if not self.verbose:
            return points, state
        said = str(own.get("message", ""))
        told = [said, account(name, why, data, own)]
        if region:
            share = f"{self.region_share:.0%}"
            told.append(f"Of points, {share} come from a trust region (turbo).")
        return points, {**state, "said": said, "message": " ".join(filter(None, told))}

    def _n_region(
        self,
        data: Dataset,
        n: int,
        own: State,
        region: State,
        generator: torch.Generator,
    ) -> int:
        """How many of n points the region chooses."""
        if self.region_share == 0 or not self._has_region(data, own, region):
            return 0
        u = torch.rand(n, generator=generator, dtype=torch.float64)
        return int((u < self.region_share).sum())

    def _has_region(self, data: Dataset, own: State, region: State) -> bool:
        is_early = "hyper" not in own
        if is_early or data.n > N_MAX or math.isfinite(data.space.n_configs):
            return False
        if not own.get("message"):
            return True
        y = data.Y[~data.is_failed, 0]
        is_constant = bool(y.min() == y.max())
        return not is_constant and region.get("length", math.inf) > _SHORT

    def _chosen(self, data: Dataset) -> tuple[str, str, Method]:
        if self.physics is not None:
            return "pinn-bo", "the objective obeys a PDE", self.physics
        if data.Y.shape[1] > 1:
            return "neural-cbo", "there are constraints", self.constrained
        return "neural-bo", "there are no constraints", self.free
