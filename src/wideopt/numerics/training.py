"""One training loop for every network of the library.

Papers: NeuralBO Alg. 2 (full objective with ridge), Neural-CBO eq. 2 (one pass of SGD).

Notation:
    J(θ) = ½ Σ_i (o·h(z_i; θ) - y_i)² + ρ/2 ‖θ - θ_0‖²   for each output on its own
    X (..., n, d), Y (*b, n) with NaN for a missing target, weights (*b, out, in)

SGD and Adam step along the gradient of J/n, estimated on a batch of rows, so that the
learning rate does not depend on n; a batch of one row is Neural-CBO's eq. 2. L-BFGS
takes all rows. Outputs share passes and batches but no step: a diverging output goes
back to its best weights with a tenth of the step, the others go on.
ρ = λ is NeuralBO's ridge mλ (see `network`); with ρ the noise variance the minimizer of
the linearized network is the posterior mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.lbfgs import minimize_each
from wideopt.numerics.network import Architecture, Weights
from wideopt.numerics.scales import Scales, require_float64

__all__ = ["Fit", "Network", "Training", "train"]

Optimizer = Literal["sgd", "adam", "lbfgs"]
_MAX_RECOVERIES = 12
_SHRINK = 0.1
_EXPLOSION = 10.0  # an epoch that multiplies the best loss by more than this diverges
_BETA1, _BETA2, _EPS = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Network:
    """A network with its scales and starting weights: o·h(embed(X); θ)."""

    architecture: Architecture
    scales: Scales
    weights: Weights

    def __call__(
        self, X: Float[Tensor, "... n d"], weights: Weights | None = None
    ) -> Float[Tensor, "... n"]:
        """Return the function's values, at other weights if given."""
        h = self.architecture.forward(
            self.weights if weights is None else weights, self.scales.embed(X)
        )
        return self.scales.output.unsqueeze(-1) * h


@dataclass(frozen=True)
class Training:
    """A recipe for training.

    `batch_size` None takes all rows at once. Training of an output stops after
    `patience` epochs (if given) in which J did not fall by the relative `tolerance`.
    For "lbfgs", `epochs` counts iterations and `tolerance` ends them; lr, batch_size
    and patience play no part.
    """

    optimizer: Optimizer = "adam"
    lr: float = 1e-2
    epochs: int = 200
    batch_size: int | None = None
    ridge: float = 0.0
    tolerance: float = 1e-6
    patience: int | None = None
    is_shuffled: bool = True

    def __post_init__(self) -> None:
        if self.optimizer not in get_args(Optimizer):
            raise InputError(
                f"optimizer is {self.optimizer!r}; "
                f"choose one of {get_args(Optimizer)}."
            )
        for name in ("lr", "epochs", "batch_size", "patience"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} is {value}; it must be positive.")
        for name in ("ridge", "tolerance"):
            if not getattr(self, name) >= 0:
                raise InputError(
                    f"{name} is {getattr(self, name)}; it must not be negative."
                )

    @classmethod
    def one_pass(cls, lr: float) -> Training:
        """Return Neural-CBO's eq. 2: one step per observation, in order, no ridge."""
        return cls("sgd", lr, epochs=1, batch_size=1, is_shuffled=False)


@dataclass(frozen=True)
class Fit:
    """Trained weights, and what happened.

    `losses` (e, *b) is J at the start and after every epoch, NaN where an output had
    stopped (for L-BFGS: at the start and at the end).
    """

    weights: Weights
    losses: Float[Tensor, "e ..."]
    n_epochs: Int[Tensor, "..."]
    n_recoveries: Int[Tensor, "..."]


def train(
    network: Network,
    X: Float[Tensor, "... n d"],
    Y: Float[Tensor, "... n"],
    recipe: Training,
    *,
    anchor: Weights | None = None,
    ridge: Float[Tensor, "..."] | None = None,
    generator: torch.Generator | None = None,
) -> Fit:
    """Train every output on its targets, from the network's weights.

    `anchor` is θ_0 of the ridge, the starting weights by default; `ridge` one value per
    output instead of the recipe's. Shuffled batches are drawn with `generator`.
    """
    require_float64(X=X, Y=Y)
    _check(X, Y, recipe, generator)
    problem = _Problem.of(network, X, Y, anchor, recipe.ridge if ridge is None else ridge)
    theta = problem.flattened(network.weights)
    if recipe.optimizer == "lbfgs":
        theta, losses, n_epochs, n_recoveries = _by_lbfgs(problem, theta, recipe)
    else:
        theta, losses, n_epochs, n_recoveries = _by_epochs(
            problem, theta, recipe, generator
        )
    batch = Y.shape[:-1]
    return Fit(
        problem.unflattened(theta, batch),
        losses.reshape(-1, *batch),
        n_epochs.reshape(batch),
        n_recoveries.reshape(batch),
    )


@dataclass(frozen=True)
class _Problem:
    """J of B outputs as a function of flat trained weights θ (B, p)."""

    network: Network
    Z: Float[Tensor, "B n d1"]
    Y: Float[Tensor, "B n"]
    is_seen: Bool[Tensor, "B n"]
    output: Float[Tensor, " B"]
    ridge: Float[Tensor, " B"]
    theta_0: Float[Tensor, "B p"]

    @classmethod
    def of(
        cls,
        network: Network,
        X: Tensor,
        Y: Tensor,
        anchor: Weights | None,
        ridge: Tensor | float,
    ) -> _Problem:
        batch = Y.shape[:-1]
        B = math.prod(batch)
        Z = network.scales.embed(X)
        flat = Y.reshape(B, -1)
        is_seen = ~torch.isnan(flat)
        problem = cls(
            network,
            Z.expand(*batch, *Z.shape[-2:]).reshape(B, *Z.shape[-2:]),
            torch.where(is_seen, flat, 0.0),
            is_seen,
            network.scales.output.expand(batch).reshape(B),
            torch.as_tensor(ridge, dtype=Y.dtype, device=Y.device)
            .expand(batch)
            .reshape(B),
            flat.new_zeros(B, 0),
        )
        weights = network.weights if anchor is None else anchor
        return replace(problem, theta_0=problem.flattened(weights))

    @property
    def _trained(self) -> tuple[int, ...]:
        return self.network.architecture.trained_layers

    def flattened(self, weights: Weights) -> Float[Tensor, "B p"]:
        """Return the trained weights of every output as one vector."""
        B = len(self.Y)
        parts = []
        for i in self._trained:
            W = weights[i].detach()
            parts.append(self._per_output(W).reshape(B, -1))
        return torch.cat(parts, dim=-1)

    def _per_output(self, W: Float[Tensor, "... o i"]) -> Float[Tensor, "B o i"]:
        shape = W.shape[-2:]
        return (W if W.ndim == 2 else W.reshape(-1, *shape)).expand(len(self.Y), *shape)

    def unflattened(
        self, theta: Float[Tensor, "B p"], batch: tuple[int, ...]
    ) -> Weights:
        """Return the weights (*batch, out, in), the untrained ones included."""
        weights = list(self.network.weights)
        shapes = [tuple(W.shape[-2:]) for W in weights]
        sizes = [math.prod(shapes[i]) for i in self._trained]
        parts = theta.split(sizes, dim=-1)
        for i, part in zip(self._trained, parts, strict=True):
            weights[i] = part.reshape(*batch, *shapes[i])
        return tuple(weights)

    def rows(self, index: Int[Tensor, " r"]) -> _Problem:
        """Return the problem of some rows of the data."""
        return replace(
            self,
            Z=self.Z[:, index],
            Y=self.Y[:, index],
            is_seen=self.is_seen[:, index],
        )

    def outputs(self, index: Int[Tensor, " r"]) -> _Problem:
        """Return the problem of some outputs."""
        network = replace(
            self.network,
            weights=tuple(
                W if W.ndim == 2 else W.reshape(-1, *W.shape[-2:])[index]
                for W in self.network.weights
            ),
        )
        names = ("Z", "Y", "is_seen", "output", "ridge", "theta_0")
        return replace(
            self, network=network, **{k: getattr(self, k)[index] for k in names}
        )
