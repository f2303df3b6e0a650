"""`WideoptSampler`: every method of wideopt as a sampler of Optuna."""

from __future__ import annotations

import secrets
import threading
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from wideopt.exceptions import InputError
from wideopt.integrations._codec import Codec
from wideopt.integrations._reader import PARAMS, Reader, Settings
from wideopt.methods import create

__all__ = ["WideoptSampler"]


class WideoptSampler(BaseSampler):
    """Suggests the parameters of an Optuna study with a method of wideopt.

    It has no state of its own: with the same seed and the same trials in the study,
    the suggestion for a trial number is the same, in this process or another one.
    Failed and pruned trials are learned from, running ones are pending. A constraint is
    what `trial.set_constraint(name, value)` sets, satisfied iff <= 0, whatever the
    order; one that is missing in a trial counts as not measured.

    Args:
        method: a name out of `wideopt.methods()`.
        seed: the same seed and the same trials give the same suggestions.
        constraints: names of the constraints, also those that are user attributes; by
            default all that any trial has set.
        n_evals: the number of trials, if it is known; see `Optimizer`.
        options: settings of the method, `n_init` and `device`.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        seed: int | None = None,
        constraints: Sequence[str] | None = None,
        n_evals: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        create(method, dict(options or {}))  # unknown names are an error here and now
        if isinstance(constraints, str):
            raise InputError(
                f"constraints must be a list of names, but got {constraints!r}."
            )
        self._settings = Settings(
            method,
            secrets.randbits(31) if seed is None else seed,
            n_evals,
            dict(options or {}),
            None if constraints is None else tuple(constraints),
        )
        self._clear()

    def _clear(self) -> None:
        self._lock = threading.Lock()  # n_jobs of `study.optimize` are threads
        self._study: tuple[Any, int] | None = None  # storage and id
        self._reader = Reader(self._settings)

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clear()

    def infer_relative_search_space(
        self,
        study: Study,
        trial: FrozenTrial,  # noqa: ARG002 (part of the interface)
    ) -> dict[str, BaseDistribution]:
        """Every parameter seen so far, conditional ones included, that has a model."""
        with self._lock:
            self._read(study)
            return self._reader.branches.space()

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        """The method's suggestion, for the parameters that will matter."""
        with self._lock:
            trials = self._read(study)
            space = {n: d for n, d in search_space.items() if Codec.of(d) is not None}
            if not space:
                return {}
            model = self._reader.model(space, _sign(study))
            others = [t for t in trials if t.number != trial.number]
            known = _latest(others, model.key)
            under_way = [t for t in others if not t.state.is_finished()]
            params, state = model.suggest(trial.number, known, under_way)
        _note(study, trial, PARAMS, params)
        if state != known:
            _note(study, trial, model.key, state)
        return params

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A random value, by (seed, trial number, name)."""
        _check_single_objective(study)
        name = zlib.crc32(param_name.encode())
        entropy = np.random.SeedSequence([self._settings.seed, trial.number, name])
        sampler = RandomSampler(seed=int(entropy.generate_state(1)[0]))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def _read(self, study: Study) -> list[FrozenTrial]:
        _check_single_objective(study)
        key = (study._storage, study._study_id)
        if key != self._study:
            self._study, self._reader = key, Reader(self._settings)
        trials = study.get_trials(deepcopy=False)
        self._reader.read(trials)
        return trials


def _check_single_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise InputError(
            f"WideoptSampler optimizes one objective, but study {study.study_name!r} "
            f"has {len(study.directions)}; make all but one constraints."
        )


def _sign(study: Study) -> int:
    return -1 if study.direction == StudyDirection.MAXIMIZE else 1


def _latest(trials: list[FrozenTrial], key: str) -> dict[str, Any]:
    """The method's state as the latest trial that changed it left it."""
    for trial in reversed(trials):
        if trial.state != TrialState.WAITING and key in trial.system_attrs:
            state: dict[str, Any] = trial.system_attrs[key]
            return state
    return {}


def _note(study: Study, trial: FrozenTrial, key: str, value: dict[str, Any]) -> None:
    study._storage.set_trial_system_attr(trial._trial_id, key, value)
