"""Expected improvement on a random forest.

Hutter, Hoos and Leyton-Brown (2011), SMAC, in the setting of this library: a forest per
output with the variance of Hutter et al. (2014), log expected improvement, and a search
by candidates and local steps, since a forest has no gradients. Constraints multiply the
value by the probability of feasibility (Gardner et al. 2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import (
    State,
    check_counts,
    feasibly,
    fitted,
    hallucinated,
    incumbent,
    one_by_one,
)
from wideopt.search.design import seed_from
from wideopt.search.local import maximize_locally
from wideopt.search.maximize import Search
from wideopt.surrogates.forest import RandomForest

__all__ = ["ForestEI"]


@dataclass(frozen=True)
class ForestEI:
    """A random forest per output and expected improvement.

    Attributes:
        n_trees: trees of each forest.
        min_split: a node with fewer observations is a leaf.
        n_candidates: points scored before the local search.
        n_restarts: local searches.
    """

    n_trees: int = 50
    min_split: int = 3
    n_candidates: int = 1024
    n_restarts: int = 5

    def __post_init__(self) -> None:
        RandomForest(self.n_trees, self.min_split)
        check_counts(self, "n_candidates", "n_restarts")

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Grow the forests, then maximize n times, each aware of the others."""
        forest = RandomForest(self.n_trees, self.min_split, seed=seed_from(generator))
        base, state = fitted(forest, data, state)
        n_local = self.n_candidates // 2
        search = Search(self.n_candidates - n_local, n_local, self.n_restarts, 10)

        def choose(data: Dataset) -> Tensor:
            model = hallucinated(forest, data, base, state)
            acqf = feasibly(model, data, lambda f: _value(f, data))
            return maximize_locally(acqf, data, generator, search)

        return one_by_one(data, n, choose), state


def _value(objective: Model, data: Dataset) -> AcquisitionFunction:
    best = incumbent(objective, data)
    return LogExpectedImprovement(objective, best_f=best, maximize=False)
