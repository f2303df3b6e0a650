"""The record of a run: an Optuna study, in memory or behind a storage URL.

Study attribute `wideopt`: the space, method, seed and options. A trial is created when
its point is asked, in state RUNNING, with the copy that evaluates it and the method's
state, if it changed, beside it; it is finished when told. What was told is therefore
stored before the next ask, and the evaluations that were in flight when a copy died are
RUNNING trials of a dead copy. A trial taken from a dead copy while others live is
FAILED and marked as freed, which only one copy can do, and begun again under a new
number.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from wideopt.data import Trial
from wideopt.exceptions import StorageError
from wideopt.optimizer import Optimizer
from wideopt.run._open import distributions, open_study, shown
from wideopt.space import Config, Space

__all__ = ["News", "Record", "Running"]

_KEY = "wideopt"
_STATE, _TOLD, _SECONDS, _ERROR = (f"{_KEY}:{k}" for k in ("state", "told", "s", "err"))
_COPY, _CUTS, _FREED = (f"{_KEY}:{k}" for k in ("copy", "cuts", "freed"))
_ASK = f"{_KEY}:ask_s"  # seconds that the suggestion took
_CONSTRAINTS = "constraints"  # where Optuna and optuna-dashboard look for them
_MISSING = sys.float_info.max  # for NaN: infeasible, and legal JSON for the dashboard


@dataclass(frozen=True)
class Running:
    """A trial under way: its copy, and how often a copy died of it or with it."""

    number: int
    config: Config
    copy: str | None
    n_cuts: int


@dataclass(frozen=True)
class News:
    """What was not known yet, and what is under way.

    Attributes:
        finished: trials that were not known, in the order told.
        running: all trials under way.
        state: the method's state that was stored last, if any.
        n_asked: number of trials.
        n_constraints: of the trials that are complete; None if there is none.
    """

    finished: list[Trial]
    running: list[Running]
    state: dict[str, Any] | None
    n_asked: int
    n_constraints: int | None


class Record:
    """One study: a header, and a trial for every evaluation. Build it with `open`."""

    def __init__(self, storage: BaseStorage, study: Study, *, sign: int) -> None:
        self.study = study
        self.storage = storage
        self.id = storage.get_study_id_from_name(study.study_name)
        self.sign = sign
        self._state: Any = None  # the method's state as last stored
        self._is_state_kept = True
        self._known: set[int] = set()  # numbers of finished trials that were read

    @classmethod
    def existing(cls, storage: Any, name: str | None) -> Record:
        """A study that is there already, whatever its direction."""
        minimize, maximize = StudyDirection.MINIMIZE, StudyDirection.MAXIMIZE
        backend, study = open_study(storage, name or _KEY, minimize, must_exist=True)
        if len(study.directions) > 1:
            raise StorageError(
                f"Study {study.study_name!r} has {len(study.directions)} objectives, "
                "but wideopt has one."
            )
        return cls(backend, study, sign=-1 if study.direction == maximize else 1)

    @classmethod
    def open(cls, storage: Any, name: str | None, *, sign: int) -> Record:
        """Create the study or find it again."""
        direction = StudyDirection.MINIMIZE if sign > 0 else StudyDirection.MAXIMIZE
        backend, study = open_study(storage, name or _KEY, direction)
        if study.directions != [direction]:
            raise StorageError(
                f"Study {study.study_name!r} in {shown(storage)} has the directions "
                f"{[d.name.lower() for d in study.directions]}, not "
                f"{direction.name.lower()}; use another study_name."
            )
        record = cls(backend, study, sign=sign)
        # The header is looked for last: another copy may be writing it just now.
        if study.get_trials(deepcopy=False) and record.header is None:
            raise StorageError(
                f"Study {study.study_name!r} in {shown(storage)} holds trials that "
                "wideopt did not make; use another study_name."
            )
        return record

    @property
    def header(self) -> dict[str, Any] | None:
        """Space, method, seed and options of the run so far; None if it is new."""
        header: dict[str, Any] | None = self.study.user_attrs.get(_KEY)
        return header

    def write_header(self, optimizer: Optimizer) -> None:
        """Store what defines the run; its seed stays that of the first copy."""
        state = optimizer.state_dict()
        keep = ("format", "space", "method", "n_constraints", "seed", "options")
        header = {k: state[k] for k in keep}
        header["seed"] = (self.header or header)["seed"]
        self.storage.set_study_user_attr(self.id, _KEY, header)

    def discard_if_empty(self) -> None:
        """Delete the study unless it holds an outcome."""
        trials = self.storage.get_all_trials(self.id, deepcopy=False)
        if not any(trial.state.is_finished() for trial in trials):
            self.storage.delete_study(self.id)

    def forget_state(self) -> None:
        """Make `read` ignore the state stored so far: it is another method's."""
        self._is_state_kept = False

    def read(self, space: Space, n_constraints: int) -> News:
        """What has happened since the last call."""
        trials = [
            trial
            for trial in self.storage.get_all_trials(self.id, deepcopy=False)
            if _is_of(trial, space)
        ]
        done = [
            t for t in trials if t.state.is_finished() and t.number not in self._known
        ]
        done.sort(key=lambda t: (t.user_attrs.get(_TOLD, t.number), t.number))
        self._known.update(t.number for t in done)
        states = (
            t.user_attrs[_STATE] for t in reversed(trials) if _STATE in t.user_attrs
        )
        state = next(states, None) if self._is_state_kept else None
        self._state = state if state is not None else self._state
        return News(
            [self._trial(t, space, n_constraints) for t in done],
            [_running(t, space) for t in trials if t.state == TrialState.RUNNING],
            state,
            len(trials),
            next((len(t.constraints) for t in trials if _is_complete(t)), None),
        )

    def reread(self, optimizer: Optimizer) -> list[Trial]:
        """All finished trials once more: the number of constraints was not known."""
        self._known.clear()
        return self.read(optimizer.space, optimizer.n_constraints).finished

    def numbered(self, space: Space, n_constraints: int) -> list[tuple[int, Trial]]:
        """Every finished trial with its number, in the order of the numbers."""
        return [
            (trial.number, self._trial(trial, space, n_constraints))
            for trial in self.storage.get_all_trials(self.id, deepcopy=False)
            if trial.state.is_finished() and _is_of(trial, space)
        ]

    def ask_seconds(self) -> dict[int, float]:
        """How long each suggestion took, by the trial's number."""
        trials = self.storage.get_all_trials(self.id, deepcopy=False)
        return {t.number: t.user_attrs[_ASK] for t in trials if _ASK in t.user_attrs}

    def asked(
        self,
        space: Space,
        config: Config,
        state: dict[str, Any],
        copy: str,
        **more: int | float,
    ) -> int:
        """Store a point that is about to be evaluated; gives the trial's number.

        More that is known of it: `n_cuts`, and `seconds` that the suggestion took.
        """
        attrs: dict[str, Any] = {_COPY: copy}
        if "seconds" in more:
            attrs[_ASK] = more["seconds"]
        if state != (self._state or {}) or not self._is_state_kept:
            attrs[_STATE] = state
        if more.get("n_cuts"):
            attrs[_CUTS] = more["n_cuts"]
        self._state, self._is_state_kept = state, True
        template = create_trial(
            state=TrialState.RUNNING,
            params=dict(zip(space.names, space.values(config), strict=True)),
            distributions=distributions(space),
            user_attrs=attrs,
        )
        trial_id = self.storage.create_new_trial(self.id, template)
        return self.storage.get_trial_number_from_id(trial_id)

    def _trial_id(self, number: int) -> int:
        return self.storage.get_trial_id_from_study_id_trial_number(self.id, number)

    def take(self, number: int, copy: str, n_cuts: int) -> bool:
        """Go on with a trial of a dead copy, if nobody else does."""
        try:
            for key, value in ((_COPY, copy), (_CUTS, n_cuts)):
                self.storage.set_trial_user_attr(self._trial_id(number), key, value)
        except UpdateFinishedTrialError:
            return False
        return True

    def free(self, number: int) -> bool:
        """End a trial that is begun anew or not at all; False if it has ended."""
        try:
            self.storage.set_trial_user_attr(self._trial_id(number), _FREED, value=True)
            self.storage.set_trial_state_values(self._trial_id(number), TrialState.FAIL)
        except UpdateFinishedTrialError:
            return False
        return True

    def told(self, number: int, trial: Trial, order: int) -> bool:
        """Store an outcome; only then go on. False if it came too late."""
        self._known.add(number)
        try:
            self._told(self._trial_id(number), trial, order)
        except UpdateFinishedTrialError:
            return False
        return True

    def _told(self, trial_id: int, trial: Trial, order: int) -> None:
        store = self.storage
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
            values = [self.sign * trial.y]
            store.set_trial_state_values(trial_id, TrialState.COMPLETE, values)

    def _trial(self, trial: FrozenTrial, space: Space, k: int) -> Trial:
        c = [math.nan if c == _MISSING else c for c in trial.constraints.values()]
        is_complete = _is_complete(trial)
        return Trial(
            x=_config(trial, space),
            y=self.sign * trial.values[0] if is_complete else None,
            c=tuple(c) if k and len(c) == k else None,
            state="complete" if is_complete else "failed",
            seconds=trial.user_attrs.get(_SECONDS),
            error=trial.user_attrs.get(_ERROR),
        )


def _is_complete(trial: FrozenTrial) -> bool:
    return trial.state == TrialState.COMPLETE


def _is_of(trial: FrozenTrial, space: Space) -> bool:
    """Whether a trial counts: not one that only waits, or was given up for another."""
    if trial.state == TrialState.WAITING or set(trial.params) != {*space.names}:
        return False
    return not (trial.state == TrialState.FAIL and trial.user_attrs.get(_FREED))


def _config(trial: FrozenTrial, space: Space) -> Config:
    return space.config([trial.params[name] for name in space.names])


def _running(trial: FrozenTrial, space: Space) -> Running:
    attrs = trial.user_attrs
    config = _config(trial, space)
    return Running(trial.number, config, attrs.get(_COPY), attrs.get(_CUTS, 0))
