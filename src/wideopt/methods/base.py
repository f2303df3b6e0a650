"""What every method is, and the fitting of surrogates that methods share.

A method holds no memory: history comes in, points go out, and what it wants to remember
between calls is `State`, plain JSON. Given the same data, state and generator it
proposes the same points, so that a restored optimizer continues bit for bit.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.surrogates.base import Surrogate, quiet

__all__ = ["Method", "State", "fitted", "hallucinated"]

State: TypeAlias = "dict[str, Any]"


class Method(Protocol):
    """A named algorithm. `state["message"]`, if set, is shown to the user."""

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The next n points and the method's new state; data holds >= 1 objective."""
        ...


def fitted(surrogate: Surrogate, data: Dataset, state: State) -> tuple[Model, State]:
    """A model of objective and constraints, re-learned when the schedule says so.

    Hyper-parameters are learned anew after every observation at first, then each time
    the data have grown by an eighth, so that learning costs O(1) fits per doubling.
    """
    Z = data.Z
    at = state.get("fitted_at", 0)
    is_due = data.n >= at + max(1, at // 8) or state.get("n_columns") != Z.shape[1]
    with quiet():
        if not is_due:
            return surrogate.restore(data.X, Z, state["hyper"]), state
        model = surrogate.fit(data.X, Z)
    learned = {
        "hyper": surrogate.hyper(model),
        "fitted_at": data.n,
        "n_columns": Z.shape[1],
    }
    return model, {**state, **learned}


def hallucinated(
    surrogate: Surrogate, data: Dataset, model: Model, state: State
) -> Model:
    """The model, had every pending point come out at its posterior mean.

    Desautels, Krause and Burdick (2014): the mean stays, the uncertainty at pending
    points goes, so that the next suggestion lies elsewhere.
    """
    if data.X_pending.shape[0] == 0:
        return model
    with torch.no_grad(), quiet():
        posterior: Any = model.posterior(data.X_pending)
        return surrogate.restore(
            torch.cat([data.X, data.X_pending]),
            torch.cat([data.Z, posterior.mean]),
            state["hyper"],
        )
