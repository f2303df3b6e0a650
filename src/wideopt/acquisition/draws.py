"""Thompson sampling: one joint draw of objective and constraints as an acquisition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

__all__ = ["PenalizedDraw"]

Draw = Callable[[Tensor], Tensor]  # (..., d) -> (...)


class PenalizedDraw(AcquisitionFunction):
    """-f̃(x) - ρ Σ max(c̃_i(x), 0) for sampled functions f̃, c̃.

    The penalty is of the exact kind (absolute value, large ρ): the maximizer is the
    minimizer of f̃ among the points that the draw holds feasible, or the least
    infeasible point if there are none.
    """

    def __init__(
        self, model: Model, objective: Draw, constraints: Sequence[Draw], rho: float
    ) -> None:
        super().__init__(model=model)
        self.objective, self.constraints, self.rho = objective, constraints, rho

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        points = X.squeeze(-2)
        value = -self.objective(points)
        for draw in self.constraints:
            value = value - self.rho * torch.relu(draw(points))
        return value
