"""A study, read once: what is new in it is added to what is known.

A trial that is finished does not change any more, so each is looked at once for the
search space, and once for each model. Trials are told in the order in which they
finished, which every process that reads the study sees alike.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from wideopt.integrations._branches import Branches
from wideopt.integrations._codec import Codec
from wideopt.optimizer import Optimizer
from wideopt.space import Conditional

__all__ = ["PARAMS", "Model", "Reader", "Settings"]

PARAMS = "wideopt:params"  # of a trial under way: what was proposed for it
_HUGE = 1e300  # stands for an infinite constraint


@dataclass(frozen=True)
class Settings:
    """What `Optimizer` is created with, whatever the space; and constraint names."""

    method: str
    seed: int
    n_evals: int | None
    options: Mapping[str, Any]
    constraints: tuple[str, ...] | None

    def optimizer(self, space: Conditional, n_constraints: int) -> Optimizer:
        """A new optimizer of a space."""
        return Optimizer(
            space,
            method=self.method,
            n_constraints=n_constraints,
            n_evals=self.n_evals,
            seed=self.seed,
            options=dict(self.options),
        )


class Reader:
    """The finished trials of one study in the order of their ends."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._start()

    def _start(self) -> None:
        self._seen: set[int] = set()
        self.finished: list[FrozenTrial] = []
        self.constraints: tuple[str, ...] = self._settings.constraints or ()
        self.branches = Branches()
        self._models: dict[str, Model] = {}

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Take note of what has finished since the last call."""
        new = [
            t for t in trials if t.state.is_finished() and t.number not in self._seen
        ]
        new.sort(key=_end)
        if new and self.finished and _end(new[0]) < _end(self.finished[-1]):
            self._start()  # one that ended earlier shows up late: clocks differ
            return self.read(trials)
        for trial in new:
            self._seen.add(trial.number)
            self.finished.append(trial)
            if trial.state != TrialState.FAIL:  # that may have had more parameters
                self.branches.add(trial.params, trial.distributions)
        if self._settings.constraints is None:
            self._note_constraints(new)
        return None

    def _note_constraints(self, new: list[FrozenTrial]) -> None:
        names = {*self.constraints, *(name for t in new for name in t.constraints)}
        if names != set(self.constraints):
            self.constraints = tuple(sorted(names))
            self._models.clear()

    def model(self, space: Mapping[str, BaseDistribution], sign: int) -> Model:
        """The model of a search space, told all that is finished."""
        conditions = self.branches.conditions(space)
        codecs = {name: codec for name, d in space.items() if (codec := Codec.of(d))}
        text = repr((self._settings, sorted(space.items()), self.constraints))
        text += repr([(n, c.switch, sorted(c.off)) for n, c in conditions.items()])
        if text not in self._models:
            parameters = {name: codec.parameter for name, codec in codecs.items()}
            inner = Conditional(parameters, conditions)
            optimizer = self._settings.optimizer(inner, len(self.constraints))
            key = f"wideopt:state:{zlib.crc32(text.encode()):08x}"
            self._models = dict(list(self._models.items())[-1:])  # two are kept
            self._models[text] = Model(key, codecs, inner, optimizer)
        model = self._models[text]
        model.tell(self.finished, self.constraints, sign)
        return model


class Model:
    """One search space: an optimizer that is told every trial that fits into it."""

    def __init__(
        self,
        key: str,
        codecs: dict[str, Codec],
        space: Conditional,
        optimizer: Optimizer,
    ) -> None:
        self.key = key  # under which a trial keeps the method's state
        self._codecs, self._space, self._optimizer = codecs, space, optimizer
        self._n_told = 0

    def tell(
        self, finished: Sequence[FrozenTrial], names: Sequence[str], sign: int
    ) -> None:
        """Tell what the optimizer does not know yet."""
        for trial in finished[self._n_told :]:
            config = self._config(trial.params)
            if config is not None:
                self._tell(config, trial, names, sign)
        self._n_told = len(finished)

    def _tell(
        self,
        config: dict[str, Any],
        trial: FrozenTrial,
        names: Sequence[str],
        sign: int,
    ) -> None:
        y = _objective(trial)
        if y is None:
            self._optimizer.tell_failed(config)
            return
        known = {**trial.user_attrs, **trial.constraints}
        c = [_constraint(known.get(name)) for name in names]
        self._optimizer.tell(config, sign * y, c or None)

    def _config(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The config of a trial; None if it does not fit into this space."""
        known = {}
        for name in self._codecs.keys() & params.keys():
            try:
                known[name] = self._codecs[name].inner(params[name])
            except ValueError:  # the range is another one now
                return None
        if not known.keys() >= set(self._space.active(known)):
            return None
        rest = dict(zip(self._space.names, self._space.resting_values, strict=True))
        return rest | known

    def suggest(
        self, number: int, state: dict[str, Any], under_way: Sequence[FrozenTrial]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters of trial `number`, and the method's new state."""
        known = [self._config(_proposed(trial)) for trial in under_way]
        pending = [config for config in known if config is not None]
        config, state = self._optimizer.suggested(number, state, pending)
        names = self._space.active(config)  # type: ignore[arg-type]
        return {n: self._codecs[n].outer(config[n]) for n in names}, state


def _end(trial: FrozenTrial) -> tuple[Any, int]:
    return (trial.datetime_complete, trial.number)


def _proposed(trial: FrozenTrial) -> dict[str, Any]:
    """What is known of a trial under way: what was proposed, and what was taken."""
    attrs = trial.system_attrs
    enqueued = attrs.get("fixed_params", {})
    return {**attrs.get(PARAMS, {}), **enqueued, **trial.params}


def _objective(trial: FrozenTrial) -> float | None:
    """The value; of a pruned trial the last one reported; None if there is none."""
    if trial.state == TrialState.COMPLETE and trial.values:
        return float(trial.values[0])
    if trial.state == TrialState.PRUNED and trial.intermediate_values:
        return float(trial.intermediate_values[max(trial.intermediate_values)])
    return None


def _constraint(value: Any) -> float:
    """A constraint's value; NaN, for not measured, if it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    return min(max(float(value), -_HUGE), _HUGE)
