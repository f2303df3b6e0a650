"""When a model has learned nothing: fill the space instead of believing it.

Where an objective is constant, or noise, or flat but for a needle that nobody has met,
improvement and draws are those of a flat posterior, whose variance is greatest at the
edges: a search would go round the corners of the box, and leave its middle alone. A
model has learned something once its evidence exceeds that of pure noise. With few
observations for each dimension that says little either way, so the model is trusted at
first, unless all values are equal.
"""

from __future__ import annotations

import math

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.base import State
from wideopt.search.candidates import distinct, scattered
from wideopt.search.design import seed_from
from wideopt.surrogates.tangent_model import TangentModel

__all__ = ["filling", "is_blind", "lost"]

_MESSAGE = (
    "The values so far look like a constant or like noise, so points fill the space."
)
_GAIN = 2.0  # of log evidence over noise, below which nothing has been learned
_PER_DIM = 5  # observations for each dimension before that is asked
_N_TRIED = 16  # candidates of which the farthest from all known points is taken


def is_blind(model: Model, data: Dataset) -> bool:
    """Whether the objective, the only output, looks like noise or a constant."""
    if model.num_outputs > 1 or not isinstance(model, TangentModel):
        return False
    y = data.Y[:, 0]
    if bool((y == y[0]).all()):
        return True
    if data.n < _PER_DIM * data.n_dims:
        return False
    targets = model.members[0].Y[0]
    noise = -0.5 * (data.n * math.log(2 * math.pi) + float(targets.square().sum()))
    evidence = max(float(member.log_evidence()[0]) for member in model.members)
    return evidence - noise < _GAIN


def lost(state: State, *, is_lost: bool) -> State:
    """The state with a message, if nothing has been learned; else without."""
    rest = {k: v for k, v in state.items() if k != "message"}
    return {**rest, "message": _MESSAGE} if is_lost else rest


def filling(data: Dataset, generator: torch.Generator) -> Float[Tensor, " d"]:
    """Of a few new points, the one farthest from all that is known or under way."""
    known = torch.cat([data.X, data.X_pending])
    X = scattered(data.space, _N_TRIED, seed_from(generator)).to(data.X)
    X = distinct(data.space, X, known, generator)
    point: Tensor = X[torch.cdist(X, known).min(dim=1).values.argmax()]
    return point
