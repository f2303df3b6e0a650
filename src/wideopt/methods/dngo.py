"""DNGO: expected improvement on a network with a Bayesian last layer.

Snoek et al. (2015). The network is trained anew at every ask, from the same initial
weights and with a bounded number of steps: an ask costs O(n), and what it suggests is a
function of the data alone. Constraints, each with a network of its own, multiply the
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
from wideopt.exceptions import InputError
from wideopt.methods.base import (
    State,
    check_counts,
    feasibly,
    hallucinated,
    incumbent,
    one_by_one,
)
from wideopt.numerics.training import Training
from wideopt.search.design import seed_from
from wideopt.search.maximize import Search, maximize
from wideopt.surrogates.last_layer import LastLayer

__all__ = ["DNGO"]


@dataclass(frozen=True)
class DNGO:
    """A network per output, Bayesian regression on its last layer, and EI.

    Attributes:
        activation: "tanh", "erf", "sin", "silu" or "relu".
        depth: hidden layers.
        width: units of each.
        decay: ridge on the way of the weights from their initial values.
        n_steps: steps of L-BFGS at every ask, at most.
        n_candidates: points scored before the gradient search.
        n_restarts: gradient climbs.
    """

    activation: str = "tanh"
    depth: int = 3
    width: int = 50
    decay: float = 0.1
    n_steps: int = 50
    n_candidates: int = 1024
    n_restarts: int = 4

    def __post_init__(self) -> None:
        if not self.decay >= 0:
            raise InputError(f"Option decay must be at least 0, but got {self.decay}.")
        check_counts(self, "depth", "width", "n_steps", "n_candidates", "n_restarts")
        self._surrogate(seed=0)

    def _surrogate(self, seed: int) -> LastLayer:
        training = Training("lbfgs", epochs=self.n_steps, ridge=self.decay)
        return LastLayer(self.activation, self.depth, self.width, training, seed=seed)

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Train, then maximize n times, each aware of the others."""
        state = state if "theta_0" in state else {"theta_0": seed_from(generator)}
        surrogate = self._surrogate(state["theta_0"])
        base = surrogate.fit(data.X, data.Z)
        known = {"hyper": surrogate.hyper(base)}
        n_local = self.n_candidates // 2
        search = Search(self.n_candidates - n_local, n_local, self.n_restarts)

        def choose(data: Dataset) -> Tensor:
            model = hallucinated(surrogate, data, base, known)
            acqf = feasibly(model, data, lambda f: _value(f, data))
            return maximize(acqf, data, generator, search)

        return one_by_one(data, n, choose), state


def _value(objective: Model, data: Dataset) -> AcquisitionFunction:
    best = incumbent(objective, data)
    return LogExpectedImprovement(objective, best_f=best, maximize=False)
