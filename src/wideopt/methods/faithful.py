"""What the papers' own algorithms share: θ_0, growing factors, candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import ModelCache, State
from wideopt.search.candidates import scattered, snapped
from wideopt.search.design import seed_from
from wideopt.surrogates.tangent import Tangent

__all__ = ["check_mode", "trained", "uniform"]


def check_mode(method: Any, paper_only: tuple[str, ...]) -> None:
    """Raise for an option that the chosen mode, `method.faithful`, does not know."""
    for name in ("n_restarts",) if method.faithful else paper_only:
        if getattr(method, name) is not None:
            how = "leave it out" if method.faithful else "set faithful=True"
            raise InputError(
                f"Option {name} means nothing with faithful={method.faithful}; {how}."
            )


def trained(
    recipe: Callable[[int], Tangent],
    data: Dataset,
    state: State,
    generator: torch.Generator,
    cache: ModelCache,
) -> tuple[Model, State]:
    """The trained model; θ_0 is drawn once in a run, and state keeps its seed."""
    seed = state.get("theta_0")
    if seed is None:
        seed = seed_from(generator)
    surrogate = recipe(seed)
    with torch.no_grad():
        base = _grown(surrogate, data, cache)
    return surrogate.trained(base), {**state, "theta_0": seed}


def _grown(surrogate: Tangent, data: Dataset, cache: ModelCache) -> Model:
    """The model of all rows, one after the other: the same numbers with or without."""
    X, Z = data.X, data.Z
    if bool(Z.isnan().any()):
        return surrogate.fit(X, Z)
    key = (surrogate.seed, Z.shape[1])
    model: Any = cache.lookup(data, key)
    if model is None:
        model = surrogate.fit(X[:1], Z[:1])
    for i in range(model.train_X.shape[0], data.n):
        model = model.grown(X[i : i + 1], Z[: i + 1])
    model = model.grown(X[:0], Z)  # scales of earlier outcomes may have changed
    cache.model, cache.hyper = model, key
    return cast("Model", model)


def uniform(data: Dataset, n: int, generator: torch.Generator) -> Float[Tensor, "N d"]:
    """Legal points, uniformly at random; all of them, if the space has no more."""
    space = data.space
    if space.n_configs <= n:
        return torch.from_numpy(space.every_point()).to(data.X)
    if space.candidates is not None:
        return scattered(space, n, seed_from(generator)).to(data.X)
    X = torch.rand((n, data.n_dims), generator=generator, dtype=torch.float64)
    return snapped(space, X.to(data.X))
