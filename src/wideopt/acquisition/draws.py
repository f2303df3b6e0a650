"""Thompson sampling: one joint draw of objective and constraints as an acquisition.

Draws are made by pathwise conditioning, Wilson et al. (2020): functions that can be
evaluated anywhere, with gradients, at a cost linear in the number of points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.sampling.pathwise.posterior_samplers import draw_matheron_paths
from botorch.utils.sampling import manual_seed
from jaxtyping import Float
from torch import Tensor

from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.gp import marginals_of
from wideopt.surrogates.gp_draws import GPDraw
from wideopt.surrogates.tangent_model import TangentModel

__all__ = ["PenalizedDraw", "drawn_values"]

_ROWS = 512  # points times outputs at a time: wide draws of more leave the cache
_PENALTY = 1e3  # per unit of violation, against an objective of spread 1

Draw = Callable[[Tensor], Tensor]  # (..., d) -> (..., outputs)


class PenalizedDraw(AcquisitionFunction):
    """-f̃(x) - ρ Σ max(c̃_i(x), 0) for sampled functions f̃, c̃.

    The penalty is of the exact kind (absolute value, large ρ): the maximizer is the
    minimizer of f̃ among the points that the draw holds feasible, or the least
    infeasible point if there are none.
    """

    def __init__(self, model: Model, draw: Draw, rho: float) -> None:
        super().__init__(model=model)
        self.draw, self.rho = draw, rho

    @classmethod
    def of(cls, model: Model, seed: int, nu: float = 1.0) -> PenalizedDraw:
        """A draw from the posterior, objective first, of ν times its deviation."""
        with manual_seed(seed):
            generator = torch.Generator().manual_seed(seed)
            return cls(model, _paths(model, generator, nu), _PENALTY)

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        values = self.draw(X.squeeze(-2))
        penalty = torch.relu(values[..., 1:]).sum(dim=-1)
        return -values[..., 0] - self.rho * penalty


def drawn_values(
    model: Model, X: Float[Tensor, "m d"], n: int, seed: int
) -> Float[Tensor, "n m"]:
    """The values at X of n such acquisitions, without gradients."""
    sample_shape = torch.Size([n])
    with torch.no_grad(), manual_seed(seed):
        objective, *constraints = [
            draw_matheron_paths(output, sample_shape=sample_shape)(X)
            for output in outputs_of(model)
        ]
    value: Tensor = -objective
    for c in constraints:
        value = value - _PENALTY * torch.relu(c)
    return value


def _paths(model: Model, generator: torch.Generator, nu: float) -> Draw:
    """A draw of all outputs, in one pass where one model has them all."""
    if isinstance(model, TangentModel):
        sample = model.draw(generator, nu=nu)
        n_rows = max(16, _ROWS // model.num_outputs)

        def draw(X: Tensor) -> Tensor:
            chunks = X.reshape(-1, X.shape[-1]).split(n_rows)
            values = torch.cat([sample(chunk)[0] for chunk in chunks])
            return values.reshape(*X.shape[:-1], -1)

        return draw
    marginals = marginals_of(model)
    if marginals is not None:
        return GPDraw.of(marginals, generator, nu)
    outputs = outputs_of(model)
    if len(outputs) == 1:
        return _path(model, nu)
    draws = [_paths(output, generator, nu) for output in outputs]
    return lambda X: torch.cat([draw(X) for draw in draws], dim=-1)


def _path(model: Model, nu: float) -> Draw:
    paths = draw_matheron_paths(model, sample_shape=torch.Size([1]))

    def draw(X: Tensor) -> Tensor:
        values: Tensor = paths(X.reshape(-1, X.shape[-1]))
        return values.reshape(*X.shape[:-1], 1)

    return draw if nu == 1.0 else _scaled(model, draw, nu)


def _scaled(model: Model, draw: Draw, nu: float) -> Draw:
    """Mean + ν (draw - mean)."""

    def scaled(X: Tensor) -> Tensor:
        posterior: Any = model.posterior(X.reshape(-1, 1, X.shape[-1]))
        mean = posterior.mean.reshape(*X.shape[:-1], 1)
        moved: Tensor = mean + nu * (draw(X) - mean)
        return moved

    return scaled
