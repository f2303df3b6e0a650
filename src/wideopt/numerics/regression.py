"""The regression objective of a batch of networks, in flat weights.

Paper: NeuralBO Alg. 2, line 1.

Notation:
    J(θ) = ½ Σ_i (o·h(z_i; θ) - y_i)² + ρ/2 ‖θ - θ_0‖²   for each output on its own
    B outputs, n rows, p trained weights of each; Z (B, n, d+1) embedded points
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from wideopt.numerics.network import Architecture, Weights
from wideopt.numerics.scales import Scales

__all__ = ["Network", "Regression"]


@dataclass(frozen=True)
class Network:
    """A network with scales and weights: the function o·h(embed(X); θ)."""

    architecture: Architecture
    scales: Scales
    weights: Weights

    def __call__(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "... n"]:
        """Return the function's values."""
        h = self.architecture.forward(self.weights, self.scales.embed(X))
        return self.scales.output.unsqueeze(-1) * h


@dataclass(frozen=True)
class Regression:
    """J of B outputs as a function of their flat trained weights θ (B, p).

    Missing targets (`is_seen` false) play no part.
    """

    architecture: Architecture
    Z: Float[Tensor, "B n d1"]
    Y: Float[Tensor, "B n"]
    is_seen: Bool[Tensor, "B n"]
    output: Float[Tensor, " B"]
    ridge: Float[Tensor, " B"]
    theta_0: Float[Tensor, "B p"]
    readout: Float[Tensor, "B 1 m"]

    @classmethod
    def of(
        cls,
        network: Network,
        X: Float[Tensor, "... n d"],
        Y: Float[Tensor, "... n"],
        anchor: Weights,
        ridge: Float[Tensor, "..."],
    ) -> Regression:
        """Return the objective of targets Y, NaN where missing."""
        batch, n = Y.shape[:-1], Y.shape[-1]
        B = math.prod(batch)
        Z = network.scales.embed(X).detach()
        is_seen = ~torch.isnan(Y)
        return cls(
            network.architecture,
            Z.expand(*batch, n, -1).reshape(B, n, -1),
            torch.where(is_seen, Y, 0.0).reshape(B, n).detach(),
            is_seen.reshape(B, n),
            network.scales.output.detach().expand(batch).reshape(B),
            ridge.detach().expand(batch).reshape(B),
            flattened(network.architecture, anchor, batch),
            _per_output(network.weights[-1].detach(), batch),
        )

    def weights(self, theta: Float[Tensor, "B p"]) -> Weights:
        """Return the weight matrices (B, out, in), the untrained readout included."""
        shapes = self.architecture.shapes(self.Z.shape[-1] - 1)
        trained = [shapes[i] for i in self.architecture.trained_layers]
        parts = theta.split([math.prod(shape) for shape in trained], dim=-1)
        matrices = [
            part.reshape(-1, *shape) for part, shape in zip(parts, trained, strict=True)
        ]
        is_fixed = self.architecture.readout == "fixed"
        return (*matrices, self.readout) if is_fixed else tuple(matrices)

    def residuals(self, theta: Float[Tensor, "B p"]) -> Float[Tensor, "B n"]:
        """Return o·h(z_i; θ) - y_i, zero where the target is missing."""
        h = self.architecture.forward(self.weights(theta), self.Z)
        return torch.where(self.is_seen, self.output[:, None] * h - self.Y, 0.0)

    def loss(self, theta: Float[Tensor, "B p"]) -> Float[Tensor, " B"]:
        """Return J(θ) of every output."""
        fit = self.residuals(theta).square().sum(-1)
        return 0.5 * fit + 0.5 * self.ridge * (theta - self.theta_0).square().sum(-1)

    def gradient(
        self, theta: Float[Tensor, "B p"]
    ) -> tuple[Float[Tensor, " B"], Float[Tensor, "B p"]]:
        """Return J(θ) and its gradient for every output."""
        theta = theta.detach().requires_grad_()
        loss = self.loss(theta)
        (grad,) = torch.autograd.grad(loss.sum(), theta)
        return loss.detach(), grad

    def rows(self, index: Int[Tensor, " r"]) -> Regression:
        """Return the mean-gradient estimate of J/n on some rows.

        Its gradient is that of ½ mean(r²) over the rows seen, plus ρ/n (θ - θ_0).
        """
        is_seen = self.is_seen[:, index]
        weight = 1.0 / is_seen.sum(-1).clamp_min(1)
        root = weight.sqrt()
        n = self.is_seen.sum(-1).clamp_min(1)
        return replace(
            self,
            Z=self.Z[:, index],
            Y=self.Y[:, index] * root[:, None],
            is_seen=is_seen,
            output=self.output * root,
            ridge=self.ridge / n,
        )

    def outputs(self, index: Int[Tensor, " r"]) -> Regression:
        """Return the objective of some outputs."""
        names = [f.name for f in fields(self) if f.name != "architecture"]
        return replace(self, **{name: getattr(self, name)[index] for name in names})


def flattened(
    architecture: Architecture, weights: Weights, batch: tuple[int, ...]
) -> Float[Tensor, "B p"]:
    """Return the trained weights of every output as one vector."""
    parts = [weights[i].detach() for i in architecture.trained_layers]
    return torch.cat([_per_output(W, batch).flatten(1) for W in parts], dim=-1)


def _per_output(
    W: Float[Tensor, "... o i"], batch: tuple[int, ...]
) -> Float[Tensor, "B o i"]:
    return W.expand(*batch, *W.shape[-2:]).reshape(-1, *W.shape[-2:])
