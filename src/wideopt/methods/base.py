"""What every method is, and the fitting of surrogates that methods share.

A method holds no memory: history comes in, points go out, and what it wants to remember
between calls is `State`, plain JSON. Given the same data, state and generator it
proposes the same points, so that a restored optimizer continues bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.bounds import constraints_of
from wideopt.acquisition.improvement import LogFeasibility, SumOfLogs
from wideopt.data.dataset import Dataset
from wideopt.data.tails import whole_columns
from wideopt.data.warp import Warp
from wideopt.exceptions import InputError
from wideopt.surrogates.base import Surrogate, outputs_of, quiet
from wideopt.surrogates.physics import Physics
from wideopt.surrogates.runs import are_alike
from wideopt.surrogates.tangent import Tangent
from wideopt.surrogates.tangent_model import TangentModel
from wideopt.surrogates.warp_evidence import scale_evidence

__all__ = [
    "Method",
    "ModelCache",
    "State",
    "check_counts",
    "check_positive",
    "feasibly",
    "fitted",
    "hallucinated",
    "incumbent",
    "is_due",
    "learned_warp",
    "on_warp",
    "one_by_one",
    "scaled_when_fitted",
    "trend_or_all",
]

State: TypeAlias = "dict[str, Any]"

_TREND_SHARE = 0.5  # of points, where there is a grain


@runtime_checkable
class Method(Protocol):
    """A named algorithm. `state["message"]`, if set, is shown to the user."""

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The next n points and the method's new state; data holds >= 1 objective."""
        ...


class ModelCache:
    """The last fitted model, so that an ask after one tell costs O(n²), not O(n³).

    Never state: without it `fitted` recomputes the same numbers, by the same steps.
    """

    def __init__(self) -> None:
        self.model: TangentModel | None = None
        self.hyper: Any = None

    def lookup(self, data: Dataset, hyper: Any) -> TangentModel | None:
        """The model for the first rows of the data, if that is the one kept."""
        if self.model is None or self.hyper != hyper:
            return None
        known = self.model.train_X
        n = known.shape[0]
        is_prefix = n <= data.n and torch.equal(known, data.X[:n])
        return self.model if is_prefix else None


def is_due(n: int, n_columns: int, state: State) -> bool:
    """Whether hyper-parameters are to be learned anew: see `fitted`."""
    at = state.get("fitted_at", 0)
    return n >= at + max(1, at // 8) or state.get("n_columns") != n_columns


def scaled_when_fitted(data: Dataset, state: State) -> tuple[Dataset, State]:
    """The data on the scales of highest evidence.

    That of the objective is logarithmic or not (`data.warp`); then the tails of each
    output are compressed or not (`data.tails`). They are judged anew when a model is
    learned (`fitted`) and the data have grown by a quarter.
    """
    n_columns = data.Z.shape[1]
    is_other = state.get("n_columns") != n_columns
    is_old = 4 * data.n >= 5 * state.get("scaled_at", 0) or is_other
    # a state of an earlier version has no scales
    is_new = "warp" not in state or "whole" not in state
    if is_new or (is_old and is_due(data.n, n_columns, state)):
        state = {**state, **learned_warp(data), "scaled_at": data.n}
        with quiet(), torch.no_grad():
            whole = whole_columns(on_warp(data, state), scale_evidence)
        state = {**state, "whole": list(whole)}
    return replace(on_warp(data, state), whole=tuple(state["whole"])), state


def learned_warp(data: Dataset) -> State:
    """What a state holds of the objective's scale: that of highest evidence."""
    with quiet(), torch.no_grad():
        warp = Warp.of(data, scale_evidence)
    is_none = math.isinf(warp.delta)
    return {"warp": None if is_none else [warp.origin, warp.delta]}


def on_warp(data: Dataset, state: State) -> Dataset:
    """The data with the objective on the scale of a state."""
    return data if state["warp"] is None else Warp(*state["warp"]).applied(data)


def fitted(
    surrogate: Surrogate,
    data: Dataset,
    state: State,
    cache: ModelCache | None = None,
    Z: Float[Tensor, "n columns"] | None = None,
) -> tuple[Model, State]:
    """A model of objective and constraints, re-learned when the schedule says so.

    Hyper-parameters are learned anew after every observation at first, then each time
    the data have grown by an eighth, so that learning costs O(1) fits per doubling. It
    starts from the last ones, and after each growth by a half from scratch, lest an
    early mistake should last. They are learned at once when an output is missing where
    others of its batch are known, since a batch sees the same rows. Between two of
    these, a model that can grow grows, row by row. `Z` are other columns than those of
    the data, row by row as they.
    """
    Z = data.Z if Z is None else Z
    is_known = state.get("n_columns") == Z.shape[1]
    is_fresh = 2 * data.n >= 3 * state.get("searched_at", 0) or not is_known
    with quiet(), torch.no_grad():
        if not is_due(data.n, Z.shape[1], state) and _is_served(Z, state["hyper"]):
            model = _continued(surrogate, data, Z, state, cache or ModelCache())
            return model, state
        with torch.enable_grad():
            warm = None if is_fresh else state["hyper"]
            model = surrogate.fit(data.X, Z, warm=warm)
    learned = {
        "hyper": surrogate.hyper(model),
        "fitted_at": data.n,
        "searched_at": data.n if is_fresh else state["searched_at"],
        "n_columns": Z.shape[1],
    }
    if cache is not None:
        _keep(cache, model, learned["hyper"])
    return model, {**state, **learned}


def _is_served(Z: Float[Tensor, "n columns"], hyper: Any) -> bool:
    """Whether the batches of outputs that were learned together still suit the data."""
    runs = hyper.get("runs", []) if isinstance(hyper, dict) else []
    return are_alike(Z, [run["outputs"] for run in runs])


def _continued(
    surrogate: Surrogate,
    data: Dataset,
    Z: Float[Tensor, "n columns"],
    state: State,
    cache: ModelCache,
) -> Model:
    """The model of all rows with known hyper-parameters."""
    at, hyper = state["fitted_at"], state["hyper"]
    if bool(Z.isnan().any()) or not isinstance(surrogate, Tangent | Physics):
        return surrogate.restore(data.X, Z, hyper)
    model: Any = cache.lookup(data, hyper)
    if model is None:
        model = surrogate.restore(data.X[:at], Z[:at], hyper)
    for i in range(model.train_X.shape[0], data.n):
        model = model.grown(data.X[i : i + 1], Z[: i + 1])
    if not torch.equal(model.train_Y, Z):
        model = model.grown(data.X[:0], Z)
    _keep(cache, model, hyper)
    return cast("Model", model)


def _keep(cache: ModelCache, model: Model, hyper: Any) -> None:
    if isinstance(model, TangentModel):
        cache.model, cache.hyper = model, hyper


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


def one_by_one(
    data: Dataset, n: int, choose: Callable[[Dataset], Float[Tensor, " d"]]
) -> Float[Tensor, "n d"]:
    """Points chosen one after the other, each with those before it pending."""
    points: list[Tensor] = []
    for _ in range(n):
        points.append(choose(data))
        data = data.with_pending(points[-1][None, :])
    return torch.stack(points)


def feasibly(
    model: Model,
    data: Dataset,
    log_value: Callable[[Model], AcquisitionFunction],
) -> AcquisitionFunction:
    """A log acquisition of the objective's model plus the log of being feasible.

    Gardner et al. (2014). Until a feasible point is known, the latter alone.
    """
    constraints = constraints_of(model)
    terms: list[AcquisitionFunction] = []
    if not constraints or bool(data.is_feasible.any()):
        terms.append(log_value(outputs_of(model)[0]))
    if constraints:
        terms.append(LogFeasibility(constraints))
    return SumOfLogs(terms)


def incumbent(objective: Model, data: Dataset) -> float:
    """The best *mean* at feasible observations: with noise, the best is a lucky one."""
    known = data.is_feasible if bool(data.is_feasible.any()) else ~data.is_failed
    with torch.no_grad():
        # one by one: of points together the covariance would be computed, too
        posterior: Any = objective.posterior(data.X[known].unsqueeze(-2))
        return float(posterior.mean.min())


def trend_or_all(model: Model, generator: torch.Generator) -> Model:
    """Of a model with a grain now the trend alone, lest a search stay in a ripple."""
    if not isinstance(model, TangentModel) or not model.has_grain:
        return model
    is_trend = float(torch.rand(1, generator=generator)) < _TREND_SHARE
    return model.smooth() if is_trend else model


def check_counts(method: object, *names: str) -> None:
    """Raise unless each of these options of a method is a whole number above 0."""
    for name in names:
        value = getattr(method, name)
        if not isinstance(value, int) or value < 1:
            raise InputError(f"Option {name} must be at least 1, but got {value}.")


def check_positive(method: object, *names: str) -> None:
    """Raise unless each of these options is a finite number above 0, or not given."""
    for name in names:
        value = getattr(method, name)
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"Option {name} must be positive, but got {value!r}.")
