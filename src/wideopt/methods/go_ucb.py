"""GO-UCB: optimism over the parameters of any differentiable model.

Paper: Liu and Wang (2023), Algorithm 1. Phase I is the optimizer's initial design, each
point of which is uniform; a nonlinear least-squares oracle then estimates the
parameters (eq. 2), and each further point is where some parameters of a ball around the
estimate (eq. 3 to 6) promise the lowest value (step 5). Constraints are believed to
hold where some parameters of their own balls say so.

Notation: w parameters, ŵ estimate, Σ, λ and s² as in `go_ucb_fit`, β = κ² s² λ: the
radius is κ posterior deviations of a linear model. The paper's constants come with
`faithful`: λ = √T log² T and β_t = p³ F⁴ t / T, with |f| <= F.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.optimism import Belief, FirstOrderBound
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import (
    State,
    check_counts,
    check_positive,
    learned_warp,
    on_warp,
    one_by_one,
)
from wideopt.methods.go_ucb_fit import BallCache, Oracle, Output, grown
from wideopt.methods.go_ucb_region import region_now, spared
from wideopt.methods.laws import check_law, network, user_law
from wideopt.methods.least_squares import estimated
from wideopt.methods.parameters import Parameters
from wideopt.search.candidates import distinct
from wideopt.search.joint import ascend, maximize_jointly
from wideopt.search.maximize import Search, maximize
from wideopt.space import Space

__all__ = ["GoUCB"]

_KAPPA, _NET_KAPPA = 1.0, 0.1  # a network is optimistic enough where it is wrong
_LAMS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # for a network; the last is mostly noise
_OWN_LAMS = (1e-10, 1e-6, 1e-4, 1e-2)  # for a user's law, which may be exact


@dataclass(frozen=True)
class GoUCB:
    """Optimism over the parameters of a model.

    Attributes:
        model: a `torch.nn.Module`, or a function that makes one: rows of points in the
            user's units to values of the objective; by default the paper's network.
        constraint_models: the same for each constraint, None for the network.
        bounds: (low, high) of parameters of `model` by name.
        is_maximized: whether `model` predicts what is maximized; `maximize` sets it.
        n_units: hidden units of the network.
        kappa: κ, the radius of the balls in posterior deviations; by default 0.1 for
            the objective's network, and 1 for a model of yours and for constraints.
        lam: λ; by default chosen by leaving one out.
        is_fast: use the first-order bound instead of the joint search.
        faithful: the paper's constants, a single fit, and gradient ascent.
        horizon: T of the paper's constants; by default the next power of two.
        length: side of the trust region at the start, in the unit cube; by default 0.4
            for the network, and no region for a model of yours.
        step_share: of what a step within the region promises, how much it must keep
            while it leaves parameters as they are at the best point; 1 changes all,
            as is always done with constraints or after a failure.
        n_starts: random starts of each regression.
        n_candidates: points scored before the joint search.
        n_restarts: joint ascents.
    """

    model: Any = None
    constraint_models: Any = ()
    bounds: Any = None
    is_maximized: bool = False
    n_units: int = 25
    kappa: float | None = None
    lam: float | None = None
    is_fast: bool = False
    faithful: bool = False
    horizon: int | None = None
    length: float | None = None
    step_share: float = 0.5
    n_starts: int = 2
    n_candidates: int = 768
    n_restarts: int = 6
    cache: BallCache = field(
        default_factory=BallCache, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_positive(self, "kappa", "lam", "length", "step_share")
        if self.step_share > 1:
            raise InputError(
                f"Option step_share must be 1 at most, but got {self.step_share}."
            )
        counts = ("n_units", "n_starts", "n_candidates", "n_restarts")
        check_counts(self, *counts, *(("horizon",) if self.horizon is not None else ()))
        _check_bounds(self.bounds)
        if not isinstance(self.constraint_models, list | tuple):
            raise InputError(
                "Option constraint_models must be a list with a model or None for each "
                f"constraint, but got {self.constraint_models!r}."
            )

    def check(self, space: Space, n_constraints: int) -> None:
        """Raise unless the models suit the problem."""
        n_given = len(self.constraint_models)
        if n_constraints and n_given > n_constraints:
            raise InputError(
                f"Option constraint_models has {n_given} models, but there are "
                f"{n_constraints} constraints."
            )
        if self.bounds and self.model is None:
            raise InputError(
                "Option bounds is for the parameters of your own model, but option "
                "model is not given."
            )
        if self.model is not None:
            law = user_law(self.model, _pairs(self.bounds), space, "cpu")
            check_law(law, space, "The model")
        for k, given in enumerate(self.constraint_models):
            if given is not None:
                law = user_law(given, {}, space, "cpu")
                check_law(law, space, f"The model of constraint {k}")

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit or grow the balls, then be optimistic n times, aware of pending ones."""
        outputs = self._outputs(data)
        is_due = self._is_due(outputs, data, state)
        if self.model is None and not self.faithful:
            if is_due or "warp" not in state:
                state = {**state, **learned_warp(data)}
            data = on_warp(data, state)
            outputs = self._outputs(data)
        if is_due:
            state = self._fit(outputs, data, state, generator)
        beliefs = self._beliefs(outputs, data, state)
        state, limits = self._region(data, state)
        n_local = self.n_candidates // 3
        search = Search(
            self.n_candidates - n_local, n_local, self.n_restarts, box=limits
        )

        def choose(data: Dataset) -> Tensor:
            now = [belief.with_pending(data.X_pending) for belief in beliefs]
            if self.faithful:
                return ascend(now, data, generator)
            if self.is_fast:
                return maximize(FirstOrderBound(now), data, generator, search)
            point = maximize_jointly(now, data, generator, search)
            if limits is not None:
                point = spared(now, data, point, self.step_share)
            # a region in a discrete space may hold nothing that is new
            known = torch.cat([data.X, data.X_pending])
            return distinct(data.space, point[None, :], known, generator)[0]

        return one_by_one(data, n, choose), state

    def _region(
        self, data: Dataset, state: State
    ) -> tuple[State, Float[Tensor, "2 d"] | None]:
        """The state with the region of a network, and its box; a law has none."""
        if self.faithful or (self.model is not None and self.length is None):
            return state, None
        return region_now(data, state, self.length)

    def parameters(self, data: Dataset, state: State) -> Parameters | None:
        """Estimates of the user's own parameters from all data; None before a fit."""
        if self.model is None or "outputs" not in state:
            return None
        return estimated(self._outputs(data)[0], data, state["outputs"][0])

    def _outputs(self, data: Dataset) -> list[Output]:
        """Objective, the constraints that are known, and that of crashes."""
        device = data.X.device
        net = network(data.n_dims, self.n_units, device)
        law, sign = net, 1.0
        if self.model is not None:
            bounds = _pairs(self.bounds)
            law = user_law(self.model, bounds, data.space, device)
            sign = -1.0 if self.is_maximized else 1.0
        outputs = [Output(law, data.Y[:, 0], is_objective=True, sign=sign)]
        for k, c in enumerate(data.Y[:, 1:].unbind(dim=1)):
            if bool(c.isnan().all()):
                continue
            given = self.constraint_models[k : k + 1]
            law = net
            if given and given[0] is not None:
                law = user_law(given[0], {}, data.space, device)
            outputs.append(Output(law, c, is_objective=False))
        if bool(data.is_failed.any()):
            outputs.append(Output(net, data.Z[:, -1], is_objective=False))
        return outputs

    def _is_due(self, outputs: Sequence[Output], data: Dataset, state: State) -> bool:
        """As often as `base.fitted` learns; the paper fits once."""
        forms = state.get("outputs", [])
        if [len(f["theta"]) for f in forms] != [o.law.model.p for o in outputs]:
            return True
        at = state["fitted_at"]
        return not self.faithful and data.n >= at + max(1, at // 8)

    def _fit(
        self,
        outputs: Sequence[Output],
        data: Dataset,
        state: State,
        generator: torch.Generator,
    ) -> State:
        last = state.get("outputs", [])
        forms = []
        for i, output in enumerate(outputs):
            p = output.law.model.p
            warm = last[i] if i < len(last) and len(last[i]["theta"]) == p else None
            oracle = self._oracle(output, data.n)
            forms.append(oracle.fit(output, data.X, warm, generator))
        return {**state, "outputs": forms, "fitted_at": data.n}

    def _oracle(self, output: Output, n: int) -> Oracle:
        lams: tuple[float, ...] = _OWN_LAMS if output.law.is_own else _LAMS
        if self.lam is not None:
            lams = (self.lam,)
        elif self.faithful:
            T = self._horizon(n)
            lams = (math.sqrt(T) * math.log(T) ** 2,)
        return Oracle(self.n_starts, lams, self.faithful)

    def _horizon(self, n: int) -> int:
        return self.horizon or max(n**2, 4)  # the paper has n = √T

    def _beliefs(
        self, outputs: Sequence[Output], data: Dataset, state: State
    ) -> list[Belief]:
        oracle = self._oracle(outputs[0], state["fitted_at"])  # only is_faithful counts
        beliefs = grown(outputs, data, state, oracle, self.cache)
        triples = zip(outputs, beliefs, state["outputs"], strict=True)
        return [
            replace(b, ball=b.ball.with_beta(self._beta(o, b, data, form, state)))
            for o, b, form in triples
        ]

    def _beta(
        self,
        output: Output,
        belief: Belief,
        data: Dataset,
        form: dict[str, Any],
        state: State,
    ) -> float:
        if not self.faithful:
            is_net = output.is_objective and not output.law.is_own
            kappa = self.kappa or (_NET_KAPPA if is_net else _KAPPA)
            return float(kappa**2 * form["size"] * form["lam"])
        at = state["fitted_at"]
        with torch.no_grad():
            h = belief.model.one(belief.ball.center, data.X)
        F = max(float(h.abs().max().nan_to_num(1.0)), 1.0)
        t = data.n - at + 1
        return float(belief.model.p**3 * F**4 * t / self._horizon(at))


def _pairs(bounds: Any) -> dict[str, tuple[float, float]]:
    return {name: (float(a), float(b)) for name, (a, b) in (bounds or {}).items()}


def _check_bounds(bounds: Any) -> None:
    if bounds is None:
        return
    try:
        is_good = all(
            isinstance(name, str) and np.isfinite([a, b]).all() and a < b
            for name, (a, b) in bounds.items()
        )
    except (TypeError, ValueError, AttributeError):
        is_good = False
    if not is_good:
        raise InputError(
            "Option bounds must be a dict of parameter name to (low, high), finite and "
            f"low < high, but got {bounds!r}."
        )
