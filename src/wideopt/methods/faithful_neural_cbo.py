"""Neural-CBO as printed: Phan-Trong, Tran and Gupta (2025), Algorithm 1.

Settings of the appendix: a(x; W) of eq. 1 with L = 2 hidden layers of m units (m = T in
the paper; here an option, since T is not always known), fixed readout ±1, two equal
halves in W_0, so that a(.; W_0) = 0; one pass of SGD over the data (eq. 2) with rate α;
σ from U = I + Σ g g' at W_0 (eq. 3-4); 10,000 random candidates; the one
with the highest EI among those with LCB_i <= 0. Unsaid: where no candidate is within
the bounds, that of least excess is taken and the message says so; EI is computed as a
logarithm; before a feasible point is known, the best mean of all observations stands in
for the incumbent; outputs are standardized, and what lies far out is compressed
(`data.robust`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.bounds import constraint_bounds
from wideopt.data.dataset import Dataset
from wideopt.methods.base import (
    ModelCache,
    State,
    check_positive,
    incumbent,
    one_by_one,
)
from wideopt.methods.faithful import trained, uniform
from wideopt.numerics.training import Training
from wideopt.search.maximize import best_new
from wideopt.search.within import Pool
from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.tangent import Tangent

__all__ = ["FaithfulNeuralCBO"]


@dataclass(frozen=True)
class FaithfulNeuralCBO:
    """The faithful mode of `neural-cbo`, whose options these are."""

    activation: str = "relu"
    depth: int = 2
    n_candidates: int = 10_000
    lr: float = 1e-3
    width: int = 200

    def __post_init__(self) -> None:
        check_positive(self, "lr")
        self.surrogate(seed=0)

    def surrogate(self, seed: int) -> Tangent:
        """The recipe: its linear model has the paper's σ, `trained` its mean."""
        return Tangent(
            activation=self.activation,
            depth=self.depth,
            width=self.width + self.width % 2,  # two equal halves
            init="antisymmetric",
            readout="fixed",
            has_gain=False,
            training=Training.one_pass(self.lr),
            start="theta_0",
            noise=1.0,
            is_tuned=False,
            seed=seed,
        )

    def fitted(
        self, data: Dataset, state: State, generator: torch.Generator, cache: ModelCache
    ) -> tuple[Model, State]:
        """The trained model of the data."""
        return trained(self.surrogate, data, state, generator, cache)

    def chosen(
        self,
        model: Model,
        data: Dataset,
        n: int,
        beta: float,
        generator: torch.Generator,
    ) -> tuple[Float[Tensor, "n d"], bool]:
        """The best of n lots of candidates, and whether some lot was out of bounds.

        Where a feasible point is known that is not asked.
        """
        objective = outputs_of(model)[0]
        best = incumbent(objective, data)
        improvement = LogExpectedImprovement(objective, best_f=best, maximize=False)
        bounds = constraint_bounds(model, beta)
        is_known = bool(data.is_feasible.any())
        is_outside = False

        def choose(data: Dataset) -> Tensor:
            nonlocal is_outside
            X = uniform(data, self.n_candidates, generator)
            pool = Pool.of(improvement, bounds, X)
            is_outside |= not (pool.is_within or is_known)
            known = torch.cat([data.X, data.X_pending])
            return best_new(X[pool.order], -torch.arange(len(X)).to(X), known)

        return one_by_one(data, n, choose), is_outside
