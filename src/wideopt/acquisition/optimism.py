"""Optimism over the parameters of a model: the best that a ball of them allows.

Paper: GO-UCB, Algorithm 1, step 5, for minimization, with constraints.

Notation: h_θ(u) standardized model, Ball around θ̂ (`numerics.ellipsoid`), g = ∇_θ h at
θ̂, ρ the penalty. Objective and constraints have a model and a ball each; the value is

    max_θ  -h_θ(u) - ρ Σ_k max(h^k_{θ_k}(u), 0)

over all balls: a constraint, too, is believed to hold where some parameters of its ball
say so. To first order the best of a ball is h_θ̂(u) - √β ‖g‖_{Σ⁻¹}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.ellipsoid import Ball
from wideopt.numerics.parametric import Parametric

__all__ = ["Belief", "FirstOrderBound", "FirstStep", "optimistic_value", "penalized"]

_PENALTY = 1e3  # per unit of violation, against an objective of spread 1


@dataclass(frozen=True)
class Belief:
    """One output: its model, and the ball of parameters that the data allow."""

    model: Parametric
    ball: Ball

    def with_pending(self, U: Float[Tensor, "q d"]) -> Belief:
        """The belief, had pending points come out as predicted."""
        if len(U) == 0:
            return self
        _, G = self.model.at(self.ball.center, U)
        G = G.detach()
        is_good = torch.isfinite(G).all(dim=1)
        return replace(self, ball=self.ball.widened(G[is_good]))

    def bound(self, U: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """h_θ̂(u) - √β ‖g‖_{Σ⁻¹}: exact if the model is linear in θ."""
        h, G = self.model.at(self.ball.center, U)
        return h - self.ball.reach(G)

    def first_step(
        self, U: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, " n"], Float[Tensor, "n p"]]:
        """The value at the first-order best of the ball (or at θ̂), and its v."""
        h, G = self.model.at(self.ball.center, U)
        V = -self.ball.farthest(G)
        low = self.values(V, U)
        is_lower = low < h  # false for NaN, too
        return torch.where(is_lower, low, h), V * is_lower[:, None]

    def values(
        self, V: Float[Tensor, "n p"], U: Float[Tensor, "n d"]
    ) -> Float[Tensor, " n"]:
        """h_θ(u) with θ = θ̂ + √β R⁻¹v, row by row."""
        return self.model.values(self.ball.points(V), U.unsqueeze(1))[:, 0]


def penalized(outputs: Sequence[Float[Tensor, " n"]]) -> Float[Tensor, " n"]:
    """-f - ρ Σ max(c_k, 0) of outputs f, c_1, ..."""
    value = -outputs[0]
    for c in outputs[1:]:
        value = value - _PENALTY * torch.relu(c)
    return value


def optimistic_value(
    beliefs: Sequence[Belief], V: Sequence[Tensor], U: Float[Tensor, "n d"]
) -> Float[Tensor, " n"]:
    """What the parameters given by V promise at U; differentiable in both."""
    pairs = zip(beliefs, V, strict=True)
    return penalized([belief.values(v, U) for belief, v in pairs])


class FirstOrderBound(AcquisitionFunction):
    """The bound to first order: the fast mode."""

    def __init__(self, beliefs: Sequence[Belief]) -> None:
        super().__init__(model=None)  # type: ignore[arg-type] # it needs no BoTorch one
        self.beliefs = list(beliefs)

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        U = X.reshape(-1, X.shape[-1])
        value = penalized([belief.bound(U) for belief in self.beliefs])
        return value.reshape(X.shape[:-2])


class FirstStep(AcquisitionFunction):
    """What the first-order best parameters really promise: where ascents start."""

    def __init__(self, beliefs: Sequence[Belief]) -> None:
        super().__init__(model=None)  # type: ignore[arg-type] # it needs no BoTorch one
        self.beliefs = list(beliefs)

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        U = X.reshape(-1, X.shape[-1])
        value = penalized([belief.first_step(U)[0] for belief in self.beliefs])
        return value.reshape(X.shape[:-2])
