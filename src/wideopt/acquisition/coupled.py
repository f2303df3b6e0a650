"""What a point is worth to one of several agents who share constraints.

Paper: DMABO, "Multi-agent Bayesian optimization with coupled black-box and affine
constraints", eq. 12, and the penalty heuristic of its section 5.2.

Notation: f, g_j objective and constraints of this agent, β confidence factor, C bound
on all of them, λ and μ prices of the black-box and affine constraints, η their scale,
A the agent's matrix of the affine constraints, z the share of them that it is asked to
take, ρ the penalty.

    LCB = clip(mean - β σ, -C, C)
    Lagrangian(x) = f_lcb(x) + η λᵀg_lcb(x) + η μᵀA x
    penalized(x)  = EI_f(x) - ρ/2 ‖A x - z‖²
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.bounds import LowerBounds
from wideopt.data.units import Units

__all__ = [
    "Affine",
    "Beta",
    "NegativeLagrangian",
    "PenalizedImprovement",
    "clipped_bounds",
]

Beta: TypeAlias = "float | Float[Tensor, ' outputs']"


@dataclass(frozen=True)
class Affine:
    """A x as a function of points of the unit cube, with x in the user's units."""

    A: Float[Tensor, "l d"]
    units: Units

    def __call__(self, U: Float[Tensor, "... d"]) -> Float[Tensor, "... l"]:
        """A x at each point."""
        return self.units(U) @ self.A.T


def clipped_bounds(
    model: Model, U: Float[Tensor, "... d"], beta: Beta, C: float
) -> Float[Tensor, "... outputs"]:
    """clip(mean - β σ, -C, C) of every output, objective first.

    A tensor of β has one for each output.
    """
    if not isinstance(beta, Tensor):
        return LowerBounds([model], beta)(U).clamp(-C, C)
    mean = LowerBounds([model], 0.0)(U)
    sigma = mean - LowerBounds([model], 1.0)(U)
    return (mean - beta * sigma).clamp(-C, C)


class NegativeLagrangian(AcquisitionFunction):
    """-Lagrangian: what an agent maximizes at given prices.

    Args:
        model: of the objective and the agent's constraints.
        beta: β.
        C: bound on every output; infinite if unknown.
        weights: η λ, one for each of the agent's constraints.
        affine: A x, or None.
        slope: η μ, one for each row of A.
    """

    def __init__(
        self,
        model: Model,
        beta: Beta,
        C: float,
        *,
        weights: Float[Tensor, " k"],
        affine: Affine | None,
        slope: Float[Tensor, " l"],
    ) -> None:
        super().__init__(model=model)
        self.beta, self.C = beta, C
        self.weights, self.affine, self.slope = weights, affine, slope

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        U = X.squeeze(-2)
        low = clipped_bounds(self.model, U, self.beta, self.C)
        value = low[..., 0] + low[..., 1:] @ self.weights
        if self.affine is not None:
            value = value + self.affine(U) @ self.slope
        return -value


class PenalizedImprovement(AcquisitionFunction):
    """EI of the objective less ρ/2 ‖A x - z‖²."""

    def __init__(
        self,
        model: Model,
        best_f: float,
        affine: Affine,
        target: Float[Tensor, " l"],
        penalty: float,
    ) -> None:
        super().__init__(model=model)
        self.log_ei = LogExpectedImprovement(model, best_f, maximize=False)
        self.affine, self.target, self.penalty = affine, target, penalty

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        gap = self.affine(X.squeeze(-2)) - self.target
        value: Tensor = self.log_ei(X).exp()
        return value - 0.5 * self.penalty * torch.square(gap).sum(dim=-1)
