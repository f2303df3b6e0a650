"""NeuralGreedy: minimize a network that was fitted to perturbed targets.

Paria, Pòczos, Ravikumar, Schneider and Suggala (2022), as used by Phan-Trong et al.
(2023), section 7. The noise on the targets is all the exploration there is: networks
fitted to different noise have different minima.

Notation: h(.; θ) fitted to (x_i, y_i + ε_i), ε_i ~ N(0, s²), with ridge λ‖θ - θ_0‖² and
a new θ_0 at every ask; the next point minimizes h, with constraints (networks fitted in
the same way) where they are <= 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from botorch.models.deterministic import GenericDeterministicModel
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import State, check_counts, one_by_one
from wideopt.numerics.network import Architecture
from wideopt.numerics.scales import Scales
from wideopt.numerics.training import Network, Training, train
from wideopt.search.maximize import Search, maximize

__all__ = ["NeuralGreedy"]

_INPUT_SCALE = 3.0  # over √d: then a random point has norm √3 on average
_MAX_ITER = 30  # steps of a climb
_PENALTY = 1e3  # per unit of violation, against an objective of spread 1


@dataclass(frozen=True)
class NeuralGreedy:
    """A network per output, fitted to noisy copies of the observations.

    Attributes:
        noise: deviation s of the perturbations, in spreads of the observations.
        lam: ridge λ.
        activation: "silu", "tanh", "erf", "sin" or "relu".
        depth: hidden layers.
        width: units of each, an even number.
        n_steps: steps of L-BFGS for every suggestion, at most.
        n_candidates: points scored before the gradient search.
        n_restarts: gradient climbs.
    """

    noise: float = 0.1
    lam: float = 0.01
    activation: str = "silu"
    depth: int = 1
    width: int = 128
    n_steps: int = 50
    n_candidates: int = 1024
    n_restarts: int = 4

    def __post_init__(self) -> None:
        for name in ("noise", "lam"):
            value = getattr(self, name)
            if not value >= 0:
                raise InputError(f"Option {name} must be at least 0, but got {value}.")
        check_counts(self, "depth", "width", "n_steps", "n_candidates", "n_restarts")
        self._architecture  # noqa: B018 # raises if it is not one

    @property
    def _architecture(self) -> Architecture:
        return Architecture(self.depth, self.width, self.activation)

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit and minimize n times; noise and initial weights make them differ."""
        n_local = self.n_candidates // 2
        search = Search(
            self.n_candidates - n_local, n_local, self.n_restarts, _MAX_ITER
        )

        def choose(data: Dataset) -> Tensor:
            networks = self._fitted(data, generator)
            model = GenericDeterministicModel(networks[0])

            def values(X: Tensor) -> Tensor:
                return torch.stack([network(X) for network in networks], dim=-1)

            greedy = PenalizedDraw(model, values, _PENALTY)
            return maximize(greedy, data, generator, search)

        return one_by_one(data, n, choose), state

    def _fitted(
        self, data: Dataset, generator: torch.Generator
    ) -> list[Callable[[Tensor], Tensor]]:
        """The networks of all outputs, as functions of (..., d)."""
        Y = data.Z.mT
        eps = torch.randn(Y.shape, generator=generator, dtype=torch.float64).to(Y)
        d = data.n_dims
        theta_0 = self._architecture.initial_weights(d, generator)
        unit = Scales.ones(d)
        scales = replace(unit, input=unit.input * _INPUT_SCALE / math.sqrt(d))
        network = Network(self._architecture, scales, theta_0)
        recipe = Training("lbfgs", epochs=self.n_steps, ridge=self.lam)
        weights = train(network, data.X, Y + self.noise * eps, recipe).weights
        return [
            _function(replace(network, weights=tuple(W[i] for W in weights)))
            for i in range(Y.shape[0])
        ]


def _function(network: Network) -> Callable[[Tensor], Tensor]:
    def values(X: Tensor) -> Tensor:
        return network(X.reshape(-1, X.shape[-1])).reshape(X.shape[:-1])

    return values
