"""Thompson sampling: one joint draw of objective and constraints as an acquisition.

Draws are made by pathwise conditioning, Wilson et al. (2020): functions that can be
evaluated anywhere, with gradients, at a cost linear in the number of points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.sampling.pathwise.posterior_samplers import draw_matheron_paths
from botorch.utils.sampling import manual_seed
from jaxtyping import Float
from torch import Tensor

from wideopt.surrogates.base import outputs_of

__all__ = ["PenalizedDraw"]

_PENALTY = 1e3  # per unit of violation, against an objective of spread 1

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

    @classmethod
    def of(cls, model: Model, seed: int) -> PenalizedDraw:
        """A draw from the posterior of GPs, objective first."""
        with manual_seed(seed):
            objective, *constraints = [_path(output) for output in outputs_of(model)]
        return cls(model, objective, constraints, _PENALTY)

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        points = X.squeeze(-2)
        value = -self.objective(points)
        for draw in self.constraints:
            value = value - self.rho * torch.relu(draw(points))
        return value


def _path(model: Model) -> Draw:
    paths = draw_matheron_paths(model, sample_shape=torch.Size([1]))

    def draw(X: Tensor) -> Tensor:
        values: Tensor = paths(X.reshape(-1, X.shape[-1]))
        return values.reshape(X.shape[:-1])

    return draw
