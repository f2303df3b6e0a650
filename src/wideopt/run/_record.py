"""The record of a run: an Optuna study, in memory or behind a storage URL.

Study attribute `wideopt`: the space, method, seed and options. A trial is created when
its point is asked, in state RUNNING, with the method's state, if it changed, beside
it; it is finished when told. What was told is therefore stored before the next ask,
and a run that was cut off finds the evaluation that was in flight as a RUNNING trial.
"""

from __future__ import annotations

import logging
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import BaseStorage, InMemoryStorage, get_storage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from wideopt.data import Trial
from wideopt.exceptions import StorageError
from wideopt.optimizer import Optimizer
from wideopt.space import Candidates, Categorical, Config, Integer, Parameter, Space

__all__ = ["Record"]

_KEY = "wideopt"
_STATE, _TOLD, _SECONDS, _ERROR = (f"{_KEY}:{k}" for k in ("state", "told", "s", "err"))
_CONSTRAINTS = "constraints"  # where Optuna and optuna-dashboard look for them
_MISSING = sys.float_info.max  # for NaN: infeasible, and legal JSON for the dashboard


class Record:
    """One study: a header, and a trial for every evaluation. Build it with `open`."""

    def __init__(self, storage: BaseStorage, study: Study, *, sign: int) -> None:
        self.study = study
        self._storage = storage
        self._id = storage.get_study_id_from_name(study.study_name)
        self._sign = sign
        self._state: Any = None  # the method's state as last stored
        self._is_state_kept = True

    @classmethod
    def open(cls, storage: Any, name: str | None, *, sign: int) -> Record:
        """Create the study or find it again."""
        direction = StudyDirection.MINIMIZE if sign > 0 else StudyDirection.MAXIMIZE
        with _quiet():
            try:
                backend = InMemoryStorage() if storage is None else get_storage(storage)
                study = optuna.create_study(
                    storage=backend,
                    study_name=name or _KEY,
                    direction=direction,
                    load_if_exists=True,
                )
            except Exception as error:
                raise StorageError(_why(storage, error)) from error
        if study.directions != [direction]:
            raise StorageError(
                f"Study {study.study_name!r} in {_shown(storage)} has the directions "
                f"{[d.name.lower() for d in study.directions]}, not "
                f"{direction.name.lower()}; use another study_name."
            )
        record = cls(backend, study, sign=sign)
        if record.header is None and study.get_trials(deepcopy=False):
            raise StorageError(
                f"Study {study.study_name!r} in {_shown(storage)} holds trials that "
                "wideopt did not make; use another study_name."
            )
        return record

    @property
    def header(self) -> dict[str, Any] | None:
        """Space, method, seed and options of the run so far; None if it is new."""
        header: dict[str, Any] | None = self.study.user_attrs.get(_KEY)
        return header

    def write_header(self, optimizer: Optimizer) -> None:
        """Store what defines the run."""
        state = optimizer.state_dict()
        keep = ("format", "space", "method", "n_constraints", "seed", "options")
        self._storage.set_study_user_attr(self._id, _KEY, {k: state[k] for k in keep})

    def discard_if_empty(self) -> None:
        """Delete the study unless it holds an outcome."""
        trials = self._storage.get_all_trials(self._id, deepcopy=False)
        if not any(trial.state.is_finished() for trial in trials):
            self._storage.delete_study(self._id)

    def forget_state(self) -> None:
        """Make restore() ignore the stored state: it is another method's."""
        self._is_state_kept = False

    def asked(self, optimizer: Optimizer, config: Config) -> int:
        """Store a point that is about to be evaluated; gives the trial's number."""
        space = optimizer.space
        values = space.values(config)
        state = optimizer.method_state
        attrs = {} if state == self._state else {_STATE: state}
        self._state = state
        names = space.names
        template = create_trial(
            state=TrialState.RUNNING,
            params=dict(zip(names, values, strict=True)),
            distributions=distributions(space),
            user_attrs=attrs,
        )
        trial_id = self._storage.create_new_trial(self._id, template)
        return self._storage.get_trial_number_from_id(trial_id)

    def told(self, number: int, trial: Trial, order: int) -> None:
        """Store an outcome; only then is it safe to go on."""
        store = self._storage
        trial_id = store.get_trial_id_from_study_id_trial_number(self._id, number)
        store.set_trial_user_attr(trial_id, _TOLD, order)
        store.set_trial_user_attr(trial_id, _SECONDS, trial.seconds)
        if trial.error is not None:
            store.set_trial_user_attr(trial_id, _ERROR, trial.error)
        if trial.c is not None:
            constraints = [_MISSING if math.isnan(c) else c for c in trial.c]
            store.set_trial_system_attr(trial_id, _CONSTRAINTS, constraints)
        if trial.y is None:
            store.set_trial_state_values(trial_id, TrialState.FAIL)
        else:
            values = [self._sign * trial.y]
            store.set_trial_state_values(trial_id, TrialState.COMPLETE, values)

    def restore(
        self, header: dict[str, Any], options: dict[str, Any]
    ) -> tuple[Optimizer, list[int]]:
        """The optimizer as it was, and the numbers of its pending trials.

        Options that JSON cannot hold come from the caller.
        """
        space = Space.from_json(header["space"])
        frozen = [
            trial
            for trial in self._storage.get_all_trials(self._id)
            if trial.state != TrialState.WAITING and set(trial.params) == {*space.names}
        ]
        forms = [self._form(trial, space, header["n_constraints"]) for trial in frozen]
        told = [i for i, form in enumerate(forms) if form["state"] != "pending"]
        told.sort(key=lambda i: frozen[i].user_attrs.get(_TOLD, frozen[i].number))
        for trial in frozen if self._is_state_kept else ():
            self._state = trial.user_attrs.get(_STATE, self._state)
        optimizer = Optimizer.from_state_dict(
            {
                **header,
                "n_asked": len(frozen),
                "method_state": self._state or {},
                "trials": forms,
                "told": told,
            },
            options,
        )
        running = [t.number for t in frozen if t.state == TrialState.RUNNING]
        return optimizer, running

    def _form(self, trial: FrozenTrial, space: Space, k: int) -> dict[str, Any]:
        state = {TrialState.COMPLETE: "complete", TrialState.RUNNING: "pending"}
        constraints = [None if c == _MISSING else c for c in trial.constraints.values()]
        value = trial.values[0] if trial.state == TrialState.COMPLETE else None
        return {
            "x": [trial.params[name] for name in space.names],
            "y": None if value is None else self._sign * value,
            "c": constraints if k and len(constraints) == k else None,
            "state": state.get(trial.state, "failed"),
            "seconds": trial.user_attrs.get(_SECONDS),
            "error": trial.user_attrs.get(_ERROR),
        }


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """The space in Optuna's terms."""
    return {
        name: _distribution(parameter)
        for name, parameter in zip(space.names, space.parameters, strict=True)
    }


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Categorical):
        return CategoricalDistribution(parameter.choices)
    if isinstance(parameter, Candidates):  # stored by the index of the row
        return IntDistribution(0, len(parameter.rows) - 1)
    kind = IntDistribution if isinstance(parameter, Integer) else FloatDistribution
    return kind(parameter.low, parameter.high, log=parameter.log)  # type: ignore[arg-type]


def _shown(storage: Any) -> str:
    return f"storage {storage!r}" if isinstance(storage, str) else "this storage"


def _why(storage: Any, error: Exception) -> str:
    reason = str(error.__cause__ or error).strip().splitlines() or [repr(error)]
    hint = ""
    if isinstance(storage, str) and "://" not in storage:
        hint = f" An SQLite file is written as sqlite:///{storage.lstrip('/')}."
    return f"{_shown(storage).capitalize()} cannot be opened: {reason[0]}.{hint}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Optuna's log line about a new study off the user's screen."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)
