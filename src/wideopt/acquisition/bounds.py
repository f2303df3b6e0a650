"""Lower confidence bounds of unknown constraints: where a point may be feasible.

Neural-CBO, Phan-Trong, Tran and Gupta (2025), Algorithm 1; CONFIG, Xu et al. (2023).

Notation: u_i, σ_i posterior mean and deviation of constraint i, β confidence factor.

    LCB_i(x) = u_i(x) - β σ_i(x);   excess(x) = Σ_i max(LCB_i(x), 0)

The excess is zero where every constraint may hold; where it is positive everywhere, no
feasible point is left at this confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.gp import StackedGPs
from wideopt.surrogates.tangent_model import TangentModel

__all__ = [
    "LowerBounds",
    "NegativeBound",
    "NegativeExcess",
    "NegativeNeed",
    "constraint_bounds",
    "constraints_of",
    "moments_of",
]


@dataclass(frozen=True)
class LowerBounds:
    """LCB of every constraint as one function; of no constraint, if there are none.

    Attributes:
        models: of the constraints; several outputs of one model are bounded at once.
        beta: β; a negative one gives upper bounds, where a point is feasible for sure.
    """

    models: Sequence[Model]
    beta: float

    def __call__(self, X: Float[Tensor, "... d"]) -> Float[Tensor, "... k"]:
        """The bounds at each point, with gradients."""
        if not self.models:
            return X[..., :0]
        return torch.cat([_bound(m, X, self.beta) for m in self.models], dim=-1)

    def apart(self, X: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
        """Each bound at a point of its own, with gradients."""
        sizes = [m.num_outputs for m in self.models]
        pairs = zip(self.models, X.split(sizes), strict=True)
        return torch.cat([_bounds_apart(m, rows, self.beta) for m, rows in pairs])

    @property
    def k(self) -> int:
        """The number of constraints."""
        return sum(m.num_outputs for m in self.models)

    def needed(self, X: Float[Tensor, "... d"]) -> Float[Tensor, "..."]:
        """The least β at which each point is within its bounds: max u_i / σ_i."""
        moments = [moments_of(m, X) for m in self.models]
        means = torch.cat([mean for mean, _ in moments], dim=-1)
        sigmas = torch.cat([sigma for _, sigma in moments], dim=-1)
        return (means / sigmas.clamp_min(1e-12)).amax(dim=-1)

    def excess(self, X: Float[Tensor, "... d"]) -> Float[Tensor, "..."]:
        """Σ max(LCB, 0)."""
        total = torch.zeros_like(X[..., 0])
        for model in self.models:
            total = total + _excess(model, X, self.beta)
        return total


def constraint_bounds(model: Model, beta: float) -> LowerBounds:
    """The bounds of all outputs of a model but the first, which is the objective."""
    return LowerBounds(constraints_of(model), beta)


def constraints_of(model: Model) -> list[Model]:
    """Models of all outputs but the first: one for all of them where there is one."""
    if isinstance(model, ModelList) and not isinstance(model, StackedGPs):
        return outputs_of(model)[1:]
    if model.num_outputs == 1:
        return []
    return [model.subset_output(list(range(1, model.num_outputs)))]


def moments_of(model: Model, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation of all outputs at each point."""
    posterior: Any = model.posterior(X.unsqueeze(-2))
    sigma = posterior.variance.clamp_min(1e-20).sqrt().squeeze(-2)
    return posterior.mean.squeeze(-2), sigma


def _bound(model: Model, X: Tensor, beta: float) -> Float[Tensor, "... k"]:
    mean, sigma = moments_of(model, X)
    return mean - beta * sigma


def _excess(model: Model, X: Tensor, beta: float) -> Float[Tensor, "..."]:
    """Σ max(LCB, 0) of a model; no deviation is computed where the mean is enough."""
    if beta >= 0 and isinstance(model, TangentModel) and model.num_outputs > 1:
        means = model.means(X)
        is_open = (means > 0).reshape(-1, model.num_outputs).any(dim=0)  # LCB <= mean
        outputs = is_open.nonzero().flatten().tolist()
        if not outputs:
            return torch.zeros_like(X[..., 0])
        if len(outputs) < model.num_outputs:
            model = model.subset_output(outputs)
    return torch.relu(_bound(model, X, beta)).sum(dim=-1)


def _bounds_apart(model: Model, X: Tensor, beta: float) -> Float[Tensor, " k"]:
    if not isinstance(model, TangentModel):
        return _bound(model, X, beta).diagonal()
    mean, variance = model.marginals_apart(X)
    s = model.standardization
    sigma = s.scale * variance.clamp_min(1e-20).sqrt()
    return s.shift + s.scale * mean - beta * sigma


class NegativeBound(AcquisitionFunction):
    """-(μ - β σ) of the objective: the optimism of UCB, for minimization."""

    def __init__(self, model: Model, beta: float) -> None:
        super().__init__(model=model)
        self.beta = beta

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        return -_bound(self.model, X.squeeze(-2), self.beta).squeeze(-1)


class NegativeNeed(AcquisitionFunction):
    """-max u_i / σ_i: how likely the least likely constraint holds, as a quantile."""

    def __init__(self, bounds: LowerBounds) -> None:
        super().__init__(model=bounds.models[0])
        self.bounds = bounds

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        return -self.bounds.needed(X.squeeze(-2))


class NegativeExcess(AcquisitionFunction):
    """-Σ max(LCB, 0): what to climb while no point is known to fulfill all bounds."""

    def __init__(self, bounds: LowerBounds) -> None:
        super().__init__(model=bounds.models[0])
        self.bounds = bounds

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        return -self.bounds.excess(X.squeeze(-2))
