"""Neural-BO as printed: Phan-Trong, Tran-The and Gupta (2023), Algorithms 1 and 2.

Settings of section 7: f(x; θ) = √m W_2 relu(W_1 x), m = 500, every weight N(0, 1/m);
SGD on L(θ) = ½ Σ (f(x_i; θ) - y_i)² + ½ mλ‖θ - θ_0‖² from θ_0 at every round, with
batches of 50, 50 epochs, η = 0.001, λ = 0.01; each of 10,000 random candidates drawn on
its own from N(f, ν²σ²). Unsaid in the paper: steps are along the gradient of L/n (along
that of L itself these settings diverge); an epoch that diverges is made again with a
tenth of the step; the weights after the best epoch count. Inputs are in [-1, 1]ᵈ with a
constant 1, and outputs standardized, as everywhere in this library.

Notation: L hidden layers (1 for the paper's "two layers"), o = gain⁻ᴸ turns the weights
of `numerics.network` into those of the paper, whose rate η is mη there.

    σ²(x) = λ g(x; θ_0)ᵀ U⁻¹ g(x; θ_0) / m,   U = λI + Σ_i g(x_i; θ_0) g(x_i; θ_0)ᵀ / m

θ_0 does not change, so U is never factored anew: with each observation a row joins it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import (
    ModelCache,
    State,
    check_counts,
    check_positive,
    one_by_one,
)
from wideopt.methods.faithful import trained, uniform
from wideopt.numerics.activations import get_activation
from wideopt.numerics.training import Training
from wideopt.search.maximize import best_new
from wideopt.surrogates.tangent import Tangent

__all__ = ["FaithfulNeuralBO"]

_PENALTY = 1e3  # per unit of drawn violation, against an objective of spread 1
_CHUNK = 512  # candidates at a time: wide layers of more would leave the cache


@dataclass(frozen=True)
class FaithfulNeuralBO:
    """The faithful mode of `neural-bo`, whose options these are."""

    activation: str = "relu"
    depth: int = 1
    width: int = 500
    n_candidates: int = 10_000
    lam: float = 0.01
    lr: float = 1e-3
    epochs: int = 50
    batch_size: int = 50

    def __post_init__(self) -> None:
        check_counts(self, "epochs", "batch_size")
        check_positive(self, "lam", "lr")
        self.surrogate(seed=0)

    def surrogate(self, seed: int) -> Tangent:
        """The recipe: its linear model has the paper's σ, `trained` its mean."""
        training = Training(
            "sgd",
            lr=self.width * self.lr,
            epochs=self.epochs,
            batch_size=self.batch_size,
        )
        return Tangent(
            activation=self.activation,
            depth=self.depth,
            width=self.width,
            init="gaussian",
            training=training,
            start="theta_0",
            noise=self.lam,
            is_tuned=False,
            output_scale=get_activation(self.activation).gain ** -self.depth,
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
        nu: float,
        generator: torch.Generator,
    ) -> Float[Tensor, "n d"]:
        """The minimizers of n draws, each over candidates of its own."""

        def choose(data: Dataset) -> Tensor:
            X = uniform(data, self.n_candidates, generator)
            values = _drawn(model, X, nu, generator)
            return best_new(X, values, torch.cat([data.X, data.X_pending]))

        return one_by_one(data, n, choose)


def _drawn(
    model: Model, X: Float[Tensor, "N d"], nu: float, generator: torch.Generator
) -> Float[Tensor, " N"]:
    """-f̃ less a penalty where drawn constraints are violated; each point alone."""
    with torch.no_grad():
        parts: list[Any] = [model.posterior(A.unsqueeze(-2)) for A in X.split(_CHUNK)]
    mean = torch.cat([part.mean.squeeze(-2) for part in parts])
    sigma = torch.cat([part.variance.squeeze(-2).sqrt() for part in parts])
    z = torch.randn(mean.shape, generator=generator, dtype=torch.float64)
    draw = mean + nu * sigma * z.to(mean)
    violation = draw[:, 1:].clamp_min(0.0).sum(dim=1)
    return (-draw[:, 0] - _PENALTY * violation).nan_to_num(nan=-torch.inf)
