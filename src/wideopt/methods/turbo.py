"""TuRBO: Thompson sampling in a trust region that follows the best point.

Eriksson, Pearce, Gardner, Turner and Poloczek (2019), with one region (TuRBO-1). A GP
with Matérn-5/2 kernel is fitted to the observations since the last restart only, and
each suggestion minimizes a draw from it over candidates in the box of `trust_region`.
When the region collapses, it starts anew somewhere else with a space-filling design:
`region_life`, which also says what the state holds.

With constraints the center is the best feasible (or least infeasible) point, and the
draw is minimized where the drawn constraints hold, as in `scbo`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import State, fitted
from wideopt.methods.region_life import (
    Life,
    center_of,
    check_options,
    draw_points,
    live,
)
from wideopt.search.maximize import score
from wideopt.search.trust_region import box, perturbed
from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.gp import GaussianProcess

__all__ = ["Turbo"]


@dataclass(frozen=True)
class Turbo:
    """One trust region.

    Attributes:
        length: side of the box at the start, in the unit cube.
        length_min: the region restarts when its side falls below.
        length_max: the side grows no further.
        n_success: successes in a row that double the side.
        n_failure: evaluations without success that halve it; by default d, at least 4.
        n_candidates: points scored; by default 100 d, at most 2000.
        n_design: points of the design after a restart; by default 2 d, in 5 … 20.
    """

    length: float = 0.8
    length_min: float = 0.5**7
    length_max: float = 1.6
    n_success: int = 3
    n_failure: int | None = None
    n_candidates: int | None = None
    n_design: int | None = None

    def __post_init__(self) -> None:
        check_options(self)

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Count successes and failures, then sample the region; or begin a new one."""
        life = Life.of(self, data, self.n_success)

        def sample(own: Dataset, state: State) -> tuple[Tensor, State]:
            model, state = fitted(GaussianProcess("matern"), own, state)
            center = center_of(model, own)
            bounds = box(center, state["length"], _length_scales(model))
            X = perturbed(data.space, center, bounds, life.n_candidates, generator)
            points = draw_points(model, data, X, n, generator, score)
            return points, {**state, "center": center.tolist()}

        return live(life, data, n, state, generator, sample)


def _length_scales(model: Model) -> Float[Tensor, " d"]:
    kernel: Any = outputs_of(model)[0].covar_module
    scales: Tensor = kernel.lengthscale.detach().reshape(-1)
    return scales
