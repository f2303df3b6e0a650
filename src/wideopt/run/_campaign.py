"""What to evaluate next, and what came of it: one optimizer, one record, maybe copies.

The record is the truth: before every ask, what other copies have begun or finished is
read from it. Alone, a campaign asks the same points whether it was interrupted or not.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from wideopt.data import Trial, check_outcome
from wideopt.exceptions import InputError, WideoptWarning
from wideopt.optimizer import Optimizer
from wideopt.result import Result
from wideopt.run._copies import Copies
from wideopt.run._evaluate import Job, Outcome
from wideopt.run._record import Record, Running
from wideopt.run._summary import (
    check_same,
    summarized,
    warn_of_failures,
    warn_of_seed,
)
from wideopt.space import Config

__all__ = ["BY_HAND", "Campaign"]

_MAX_CUTS = 2  # an evaluation cut off so often is what kills the process
BY_HAND = "hand"  # the copy of trials that a person evaluates; it does not die
_NEAR = 1e-3  # in the unit cube: two copies asked for the same at the same time


class Campaign:
    """The trials of a study, as this process knows them."""

    def __init__(
        self, optimizer: Optimizer, *, sign: int = 1, n_constraints: int | None = None
    ) -> None:
        self.optimizer = optimizer
        self.n_evals: int = optimizer.n_evals or 1
        self.sign = sign
        self._is_open = n_constraints is None  # number of constraints not known yet
        self._state: dict[str, Any] = {}
        self._n_asked = 0
        self._ours: dict[int, Config] = {}  # asked here, not told yet
        self._theirs: list[Running] = []  # under way in copies that are alive
        self._orphans: list[Running] = []  # under way in copies that are dead
        self._has_company = False
        self.record: Record
        self._copies: Copies

    def start(
        self,
        storage: Any,
        name: str | None,
        *,
        is_seed_given: bool = False,
        is_by_hand: bool = False,
    ) -> None:
        """Open the record; continue the run it holds, if any.

        By hand: somebody asks now and tells days later, and there is no budget.
        """
        self.record = Record.open(storage, name, sign=self.sign)
        header = self.record.header
        if header is None:
            self.record.write_header(self.optimizer)
        else:
            self._resume(header, is_seed_given)
        self._copies = Copies(self.record.storage, self.record.id)
        if is_by_hand:
            self.n_evals, self._copies.token = sys.maxsize, BY_HAND
        else:
            self._join()
        self.sync()

    def _join(self) -> None:
        self._copies.enter()
        if self._copies.alive():  # not the same random numbers as another copy
            entropy = [self.optimizer.seed, int(self._copies.token, 16)]
            seed = np.random.SeedSequence(entropy).generate_state(1)[0]
            self._rebuild(seed=int(seed))

    def open_jobs(self) -> list[Job]:
        """What was asked by hand and not told yet."""
        self.sync()
        found = [Job(r.config, r.number) for r in self._theirs if r.copy == BY_HAND]
        found += [Job(config, number) for number, config in self._ours.items()]
        return sorted(found, key=lambda job: job.number)

    @property
    def n_under_way(self) -> int:
        """Number of trials that are asked and not told, here or elsewhere."""
        return len(self._ours) + len(self._theirs) + len(self._orphans)

    def begun(self, config: Config) -> Job:
        """A job for a config that nobody asked for."""
        space, state = self.optimizer.space, self._state
        return Job(config, self.record.asked(space, config, state, BY_HAND))

    def _resume(self, header: dict[str, Any], is_seed_given: bool) -> None:
        ours = self.optimizer
        name = self.record.study.study_name
        k = None if self._is_open else ours.n_constraints
        check_same(header, name, ours.space, k)
        if is_seed_given and header["seed"] != ours.seed:
            warn_of_seed(name, header["seed"], ours.seed)
        wanted = {"method": ours.method, "options": ours.options}
        self._rebuild(**{**header, **wanted})
        if header != header | wanted:  # a change of mind: the data stay
            self.record.forget_state()
            self.record.write_header(self.optimizer)

    def _rebuild(self, **changes: Any) -> None:
        """The optimizer with other settings; what it was told stays."""
        ours = self.optimizer
        state = {**ours.state_dict(), **changes}
        self.optimizer = Optimizer.from_state_dict(state, ours.object_options)

    def end(self) -> None:
        """Leave: what is under way here was not cut off by an accident."""
        self._copies.leave()

    def discard_if_empty(self) -> None:
        """Leave nothing behind, unless there is an outcome or another copy."""
        if not self._copies.alive():
            self.record.discard_if_empty()

    def sync(self) -> list[Trial]:
        """Learn what the other copies did; gives what they finished."""
        news = self.record.read(self.optimizer.space, self.optimizer.n_constraints)
        if self._is_open and news.n_constraints is not None:
            self._is_open = False
            if news.n_constraints != self.optimizer.n_constraints:
                self._rebuild(n_constraints=news.n_constraints, trials=[], told=[])
                news = replace(news, finished=self.record.reread(self.optimizer))
        for trial in news.finished:
            self.optimizer.adopt(trial)
        if news.state is not None:
            self._state = news.state
        self._n_asked = news.n_asked
        others = [r for r in news.running if r.number not in self._ours]
        self._has_company = bool(alive := self._copies.alive())
        alive.add(BY_HAND)
        self._theirs = [r for r in others if r.copy in alive]
        self._orphans = [r for r in others if r.copy not in alive]
        return news.finished

    def next(self) -> Job | None:
        """The next evaluation; None if there is none to begin now."""
        self.sync()
        while self._orphans:
            job = self._taken(self._orphans.pop(0))
            if job is not None:
                return job
        while self._n_known < self.n_evals:
            job = self._asked()
            if job is not None:
                return job
            self.sync()
        return None

    @property
    def _others(self) -> list[Running]:
        """Under way elsewhere, but for what a person has, which may take days."""
        return [r for r in self._theirs if r.copy != BY_HAND]

    @property
    def _n_known(self) -> int:
        return len(self.optimizer.history) + len(self._ours) + len(self._others)

    @property
    def is_waiting(self) -> bool:
        """Whether evaluations of other copies may yet have to be done here."""
        is_short = len(self.optimizer.history) < self.n_evals
        return is_short and bool(self._others or self._orphans)

    @property
    def is_exhausted(self) -> bool:
        """Whether every config of a finite space has been asked."""
        pending = [*self._ours.values(), *(r.config for r in self._theirs)]
        return self.optimizer.is_exhausted(pending)

    def _asked(self) -> Job | None:
        pending = [*self._ours.values(), *(r.config for r in self._theirs)]
        start = time.perf_counter()
        config, state = self.optimizer.suggested(self._n_asked, self._state, pending)
        seconds = time.perf_counter() - start
        space, token = self.optimizer.space, self._copies.token
        number = self.record.asked(space, config, state, token, seconds=seconds)
        self._state = state
        self._n_asked += 1
        if self._has_company and not self._is_ours_to_do(number, config):
            self.record.free(number)
            return None
        self._ours[number] = config
        return Job(config, number)

    def _is_ours_to_do(self, number: int, config: Config) -> bool:
        """False if another copy asked for the same, or the last, a moment before."""
        self._ours[number] = config  # so that it is not taken for another's
        finished = self.sync()
        del self._ours[number]
        before = [r for r in self._theirs if r.number < number]
        n_before = len(self.optimizer.history)
        n_before += sum(r.number < number for r in self._others)
        n_before += sum(other < number for other in self._ours)
        if n_before >= self.n_evals:
            return False
        point = self._point(config)
        configs = [*(r.config for r in before), *(t.x for t in finished)]
        gaps = [np.abs(self._point(x) - point).max() for x in configs]
        return self.optimizer.is_bandit or not gaps or min(gaps) > _NEAR

    def _point(self, config: Config) -> Any:
        space = self.optimizer.space
        return space.encode(space.values(config))

    def _taken(self, orphan: Running) -> Job | None:
        """An evaluation of a dead copy, to be done here; None if it is not to be."""
        is_accident = (
            orphan.copy is not None and orphan.copy not in self._copies.ended()
        )
        n_cuts = orphan.n_cuts + is_accident
        number, token = orphan.number, self._copies.token
        if self._has_company:
            if not self.record.free(number):
                return None  # another copy was quicker
            space, state = self.optimizer.space, self._state
            number = self.record.asked(
                space, orphan.config, state, token, n_cuts=n_cuts
            )
        elif not self.record.take(number, token, n_cuts):
            return None
        job = Job(orphan.config, number)
        self._ours[number] = orphan.config
        if n_cuts < _MAX_CUTS:
            return job
        error = f"the process ended {n_cuts} times during this evaluation"
        self.tell(job, Outcome(None, None, error))
        return None

    def tell(self, job: Job, outcome: Outcome) -> None:
        """Take note of an outcome and store it."""
        error, seconds = outcome.error, outcome.seconds
        config = job.config
        if error is None:
            try:
                y, c = self._checked(outcome)
                self.optimizer.tell(config, self.sign * y, c, seconds=seconds)
            except InputError as wrong:
                if not self.has_complete:
                    raise  # the very first value: the function itself is wrong
                error = str(wrong)
                warnings.warn(
                    f"Evaluation {job.number + 1} is recorded as failed: {wrong}",
                    WideoptWarning,
                    stacklevel=2,
                )
        if error is not None:
            self.optimizer.tell_failed(config, error=error, seconds=seconds)
        self._ours.pop(job.number, None)
        history = self.optimizer.history
        if not self.record.told(job.number, history[-1], len(history) - 1):
            warnings.warn(
                f"Evaluation {job.number + 1} was taken over by another copy, which "
                "believed that this one was dead; its outcome is not stored.",
                WideoptWarning,
                stacklevel=2,
            )
        if len(history) == self.optimizer.n_init and not self.has_complete:
            warn_of_failures(history)

    def _checked(self, outcome: Outcome) -> tuple[float, tuple[float, ...] | None]:
        y, c = outcome.split()
        if not self._is_open:
            return check_outcome(y, c, self.optimizer.n_constraints)
        fun, constraints = check_outcome(y, c, None)
        if math.isfinite(fun):
            self._rebuild(n_constraints=len(constraints or ()))
            self.record.write_header(self.optimizer)
            self._is_open = False
            return fun, constraints
        return fun, None

    @property
    def has_complete(self) -> bool:
        """Whether any evaluation has succeeded."""
        return any(trial.state == "complete" for trial in self.optimizer.history)

    def result(self, message: str) -> Result:
        """The best so far, with what is worth knowing in its message."""
        best = self.optimizer.best_given(self._state)
        return summarized(best, self.record.study, message, self.sign)
