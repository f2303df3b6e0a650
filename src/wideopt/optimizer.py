"""`Optimizer`: the one stateful object. Ask for a point, tell what it gave."""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wideopt.data import Trial, check_outcome
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError, WideoptWarning
from wideopt.methods import create, summaries
from wideopt.methods.arms import check_finite
from wideopt.methods.base import Method, State
from wideopt.methods.catalog import has_option
from wideopt.methods.options import check_present, split_options
from wideopt.numerics.threads import threads_for
from wideopt.result import Result
from wideopt.search.candidates import distinct, scattered
from wideopt.search.design import generator_for
from wideopt.space import Config, Space

__all__ = ["Optimizer"]

_FORMAT = 1
_LEAST_INIT, _MOST_INIT = 5, 20
_SAME = 1e-9  # in the unit cube: a told point this near a pending one is that point


class Optimizer:
    """Ask/tell optimization: `ask()` for a point, `tell(x, y, c)` its outcome.

    Minimizes; a constraint is satisfied iff it is <= 0. Points that were never asked
    may be told; points asked and not yet told are pending and are not suggested twice.

    Args:
        space: a list of (low, high) pairs or parameters, or a dict of them by name.
        method: a name out of `wideopt.methods()`.
        n_constraints: how many constraint values every `tell` brings.
        n_evals: the budget, if there is one; of a small one the initial design takes
            less.
        pde: physics of the objective, a `PDE` or a list of them, for `pinn-bo`; `auto`
            then chooses that.
        seed: the same seed and the same tells give the same points.
        options: `n_init` (size of the initial design), `device`, and the method's own.
    """

    def __init__(
        self,
        space: Any,
        *,
        method: str = "auto",
        n_constraints: int = 0,
        n_evals: int | None = None,
        pde: Any = None,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.space = space if isinstance(space, Space) else Space(space)
        self.n_constraints = _count("n_constraints", n_constraints, 0)
        self.n_evals = None if n_evals is None else _count("n_evals", n_evals, 1)
        self.seed = secrets.randbits(31) if seed is None else _count("seed", seed, 0)
        self.method = method
        given = options if pde is None else _with_pde(method, pde, options)
        self.options, self.object_options = split_options(method, given)
        self.n_init = _count("n_init", self.options.get("n_init", self._n_init()), 1)
        self._device = _device(self.options.get("device", "cpu"))
        check_present({**self.options, **self.object_options})
        self._method: Method = create(method, {**self.options, **self.object_options})
        if check := getattr(self._method, "check", None):
            check(self.space, self.n_constraints)
        self.is_bandit = bool(getattr(self._method, "is_bandit", False))
        if self.is_bandit:
            check_finite(self.space)
        self._state: State = {}
        self._n_asked = 0
        self._is_warned = False  # that the space is exhausted
        self._trials: list[Trial] = []
        self._points: list[NDArray[np.float64]] = []  # encodings of _trials
        self._told: list[int] = []  # indices of finished trials, in the order told

    def _n_init(self) -> int:
        """By dimension, and at most a third of the budget, lest nothing be learned.

        The points of a smaller design are the first ones of a larger one, so a run
        whose budget is raised goes on with the design that this budget asks for.
        """
        most = math.inf if self.n_evals is None else self.n_evals // 3
        return int(max(_LEAST_INIT, min(2 * len(self.space), _MOST_INIT, most)))

    @property
    def n_asked(self) -> int:
        """How many points have been suggested."""
        return self._n_asked

    @property
    def pending(self) -> list[Config]:
        """Points asked and not yet told."""
        return [trial.x for trial in self._trials if trial.state == "pending"]

    @property
    def history(self) -> list[Trial]:
        """Every finished trial, in the order told."""
        return [self._trials[i] for i in self._told]

    @property
    def best(self) -> Result:
        """The best feasible, or least infeasible, observation so far."""
        return self.best_given(self._state)

    def best_given(self, state: State) -> Result:
        """The best so far, with what the method's state, kept elsewhere, says of it."""
        message = str(state.get("message", ""))
        estimate = getattr(self._method, "parameters", None)
        parameters = None
        if estimate is not None and state:
            parameters = estimate(self._data(), state)
        return Result.of(self.history, self.method, message, parameters)

    @property
    def method_state(self) -> State:
        """The method's memory, as JSON."""
        return self._state

    def ask(self, n: int | None = None) -> Any:
        """The next point, or a list of n points, to evaluate."""
        count = 1 if n is None else _count("n", n, 1)
        if not self._is_warned and self.is_exhausted():
            self._is_warned = True
            warnings.warn(
                f"All {self.space.n_configs:.0f} configs of the space have been asked; "
                "from now on they come again.",
                WideoptWarning,
                stacklevel=2,
            )
        configs: list[Config] = []
        while len(configs) < count:
            points, self._state = self._propose(
                count - len(configs), self._n_asked, self._state, self._pending_points()
            )
            for point in points:
                values = self.space.decode(point)
                config = self.space.config(values)
                self._add(Trial(config, state="pending"), values)
                configs.append(config.copy())
                self._n_asked += 1
        return configs[0] if n is None else configs

    def is_exhausted(self, pending: Sequence[Config] | None = None) -> bool:
        """Whether every config of a finite space is known or pending (never of arms).

        Args:
            pending: points under way, where the caller keeps them.
        """
        if self.is_bandit or math.isinf(self.space.n_configs):
            return False
        under_way = self.pending if pending is None else pending
        configs = [*(t.x for t in self.history), *under_way]
        distinct_ones = {repr(self.space.values(x)) for x in configs}
        return len(distinct_ones) >= self.space.n_configs

    def suggested(
        self, number: int, state: State, pending: Sequence[Any]
    ) -> tuple[Config, State]:
        """The point of trial `number`, and the method's new state; nothing is kept.

        For callers who keep the points under way, and the state, themselves.
        """
        points = [self.space.encode(self.space.values(x)) for x in pending]
        found, state = self._propose(1, number, state, points)
        return self.space.config(self.space.decode(found[0])), state

    def _propose(
        self, n: int, number: int, state: State, pending: list[NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], State]:
        n_design = min(n, self.n_init - len(self._told) - len(pending))
        generator = generator_for(self.seed, number)
        if n_design <= 0:
            data = self._data(pending)
            if data.n_complete > 0:
                with threads_for(data.n):
                    points, state = self._method.propose(data, n, state, generator)
                return points.detach().cpu().numpy(), state
            n_design = n  # nothing to learn from yet: go on filling the space
        design = scattered(self.space, n_design, self.seed, number)
        known = [*(self._points[i] for i in self._told), *pending]
        taken = torch.tensor(np.array(known).reshape(-1, self.space.n_dims))
        return distinct(self.space, design, taken, generator).numpy(), state

    def _pending_points(self) -> list[NDArray[np.float64]]:
        return [
            point
            for point, trial in zip(self._points, self._trials, strict=True)
            if trial.state == "pending"
        ]

    def _data(self, pending: list[NDArray[np.float64]] | None = None) -> Dataset:
        return Dataset.of(
            self.space,
            [(self._points[i], self._trials[i]) for i in self._told],
            self._pending_points() if pending is None else pending,
            self.n_constraints,
            self._device,
            keeps_repeats=self.is_bandit,
        )

    def tell(self, x: Any, y: Any, c: Any = None, *, seconds: Any = None) -> None:
        """Record an outcome. A NaN or infinite objective is recorded as a failure.

        Args:
            x: the point, in the user's units; asked before or not.
            y: the objective.
            c: the constraints, `n_constraints` of them; NaN where one is missing.
            seconds: how long the evaluation took, for the record.
        """
        values = self.space.values(x)
        fun, constraints = check_outcome(y, c, self.n_constraints)
        known = all(not math.isinf(value) for value in constraints or ())
        if math.isfinite(fun) and known:
            self._finish(values, Trial(x, fun, constraints, "complete", seconds))
        else:
            error = f"objective {fun}, constraints {list(constraints or ())}"
            self._finish(values, Trial(x, state="failed", seconds=seconds, error=error))

    def tell_failed(
        self, x: Any, *, error: str | None = None, seconds: float | None = None
    ) -> None:
        """Record that the evaluation of x crashed or gave nothing usable."""
        values = self.space.values(x)
        self._finish(values, Trial(x, state="failed", seconds=seconds, error=error))

    def adopt(self, trial: Trial) -> None:
        """Record a finished trial as it is, from a record that was checked before."""
        self._finish(self.space.values(trial.x), trial)

    def _finish(self, values: tuple[Any, ...], trial: Trial) -> None:
        trial = replace(trial, x=self.space.config(values))
        point = self.space.encode(values)
        for i, other in enumerate(self._trials):
            if other.state != "pending":
                continue
            if np.abs(self._points[i] - point).max() <= _SAME:
                self._trials[i] = trial
                self._points[i] = point
                self._told.append(i)
                return
        self._add(trial, values)
        self._told.append(len(self._trials) - 1)

    def _add(self, trial: Trial, values: tuple[Any, ...]) -> None:
        self._trials.append(trial)
        self._points.append(self.space.encode(values))

    def state_dict(self) -> dict[str, Any]:
        """All there is to know, as JSON: `from_state_dict` continues bit for bit."""
        return {
            "format": _FORMAT,
            "space": self.space.to_json(),
            "method": self.method,
            "n_constraints": self.n_constraints,
            "n_evals": self.n_evals,
            "seed": self.seed,
            "options": self.options,
            "n_asked": self._n_asked,
            "method_state": self._state,
            "trials": [t.to_json(self.space.values(t.x)) for t in self._trials],
            "told": list(self._told),
        }

    @classmethod
    def from_state_dict(
        cls,
        d: dict[str, Any],
        options: dict[str, Any] | None = None,
        *,
        pde: Any = None,
    ) -> Optimizer:
        """The optimizer that gave this state.

        Args:
            d: the state.
            options: options that JSON cannot hold, such as a model; the same again.
            pde: the same again, if there was one: it is code, which JSON cannot hold.
        """
        if not isinstance(d, dict) or d.get("format") != _FORMAT:
            raise InputError(
                "This is not the state of a wideopt optimizer that this version reads: "
                f"its format is {d.get('format') if isinstance(d, dict) else d!r}, "
                f"expected {_FORMAT}."
            )
        optimizer = cls(
            Space.from_json(d["space"]),
            method=d["method"],
            n_constraints=d["n_constraints"],
            n_evals=d["n_evals"],
            pde=pde,
            seed=d["seed"],
            options={**d["options"], **(options or {})},
        )
        for form in d["trials"]:
            values = optimizer.space.values(optimizer.space.config(form["x"]))
            config = optimizer.space.config(values)
            optimizer._add(Trial.from_json(form, config), values)
        optimizer._n_asked = d["n_asked"]
        optimizer._state = d["method_state"]
        optimizer._told = list(d["told"])
        return optimizer


def _count(name: str, value: object, least: int) -> int:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least:  # type: ignore[operator]
        raise InputError(
            f"{name} must be a whole number of at least {least}, but got {value!r}."
        )
    return int(value)  # type: ignore[call-overload, no-any-return]


def _with_pde(method: str, pde: Any, options: Any) -> Any:
    if method in summaries() and not has_option(method, "pde"):
        raise InputError(
            f"Method {method} makes no use of a PDE; use pinn-bo, or leave pde out."
        )
    if options is not None and not isinstance(options, dict):
        return options  # an error, said elsewhere
    return {**(options or {}), "pde": pde}


def _device(name: object) -> str:
    try:
        torch.zeros(1, device=str(name))
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"Device {name!r} cannot be used: {reason.rstrip('.')}."
        ) from None
    return str(name)
