"""The loop: ask, evaluate, tell, store; again until the budget is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, TypeAlias

from wideopt.exceptions import InputError
from wideopt.optimizer import Optimizer
from wideopt.result import Result
from wideopt.run._campaign import Campaign
from wideopt.run._evaluate import Job, Maximized, Outcome, evaluate
from wideopt.run._executor import BrokenWorkersError, Workers, failure, is_accident
from wideopt.run._open import storage_errors
from wideopt.run._progress import Bar

__all__ = ["Limits", "Run"]

Callback: TypeAlias = Callable[[Result], Any]

_POLL = 1.0  # seconds between looks at what the other copies are doing


@dataclass(frozen=True)
class Limits:
    """Whether to show a bar (None: in a terminal), and how many seconds to run."""

    progress: bool | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_seconds("timeout", self.timeout)


def check_seconds(name: str, seconds: object) -> None:
    """Raise unless this is a positive number, or None."""
    is_number = isinstance(seconds, int | float)
    if seconds is not None and not (is_number and seconds > 0):  # type: ignore[operator]
        raise InputError(f"{name} must be a positive number, but got {seconds!r}.")


@dataclass(frozen=True)
class _Attempt:
    job: Job
    n_accidents: int = 0


class Run:
    """One run: what `minimize` has in hand between its evaluations."""

    def __init__(
        self,
        fun: Callable[[Any], Any],
        optimizer: Optimizer,
        n_constraints: int | None,
    ) -> None:
        given = fun.fun if isinstance(fun, Maximized) else fun
        if not callable(given):
            raise InputError(f"The objective must be a function, but got {given!r}.")
        self._fun = fun
        sign = -1 if isinstance(fun, Maximized) else 1
        self._campaign = Campaign(optimizer, sign=sign, n_constraints=n_constraints)
        self._running: dict[Future[Outcome], _Attempt] = {}
        self._message = ""

    def go(
        self,
        storage: tuple[Any, str | None, bool],
        workers: Workers,
        callbacks: Sequence[Callback],
        limits: Limits,
    ) -> Result:
        """Run to the end; Ctrl-C ends it early with what there is.

        The storage comes with the study's name, and whether a seed was given.
        """
        campaign, (url, name, is_seed_given) = self._campaign, storage
        with storage_errors(url):
            campaign.start(url, name, is_seed_given=is_seed_given)
            bar = Bar(campaign.n_evals, self._n_told, limits.progress)
            end = math.inf
            if limits.timeout is not None:
                end = time.monotonic() + limits.timeout
            try:
                with workers.opened(self._fun) as pool, bar.shown():
                    self._loop(pool, workers.n, end, [*callbacks, bar.update])
            except KeyboardInterrupt:
                self._say(f"interrupted after {self._n_told} evaluations")
            except BrokenWorkersError as error:
                self._say(f"stopped after {self._n_told} evaluations: {error}")
            except InputError:
                campaign.discard_if_empty()  # a wrong call leaves nothing behind
                raise
            finally:
                campaign.end()
            return campaign.result(self._message)

    @property
    def _n_told(self) -> int:
        return len(self._campaign.optimizer.history)

    def _loop(
        self, pool: Executor, n_workers: int, end: float, callbacks: list[Callback]
    ) -> None:
        try:
            while self._fill(pool, n_workers, end):
                done = self._wait(end)
                if not self._running and not done:
                    continue  # other copies have something under way
                if not done:
                    self._say("timeout reached with evaluations still running")
                    return
                if self._tell_all(pool, done, callbacks):
                    self._say("stopped by a callback")
                    return
        finally:
            for future in self._running:
                future.cancel()

    def _fill(self, pool: Executor, n_workers: int, end: float) -> bool:
        """Start evaluations while there are free workers; False if all is done."""
        while len(self._running) < n_workers:
            if time.monotonic() >= end:
                self._say("timeout reached")
                return bool(self._running)
            if self._campaign.is_exhausted:
                self._say("every config of the space has been evaluated")
                break
            job = self._campaign.next()
            if job is None:
                break
            self._submit(pool, _Attempt(job))
        return bool(self._running) or self._campaign.is_waiting

    def _submit(self, pool: Executor, attempt: _Attempt) -> None:
        config = attempt.job.config.copy()
        try:
            future = pool.submit(evaluate, self._fun, config)
        except RuntimeError as error:  # BrokenExecutor, or one that was shut down
            raise BrokenWorkersError(
                f"the executor takes no more work ({error})"
            ) from error
        self._running[future] = attempt

    def _wait(self, end: float) -> set[Future[Outcome]]:
        left = None if end == math.inf else max(end - time.monotonic(), 0.0)
        if not self._running:
            time.sleep(_POLL if left is None else min(_POLL, left))
            return set()
        return wait(self._running, timeout=left, return_when=FIRST_COMPLETED).done

    def _tell_all(
        self, pool: Executor, done: set[Future[Outcome]], callbacks: list[Callback]
    ) -> bool:
        """Tell what is finished, all of it, lest it be lost; whether to stop."""
        is_enough = False
        for future in done:
            attempt = self._running.pop(future)
            error = failure(future)
            if error is not None and is_accident(error) and attempt.n_accidents == 0:
                self._submit(pool, _Attempt(attempt.job, 1))
                continue
            outcome = future.result() if error is None else _failed(error)
            self._campaign.tell(attempt.job, outcome)
            is_enough = self._wants_stop(callbacks) or is_enough
        return is_enough

    def _wants_stop(self, callbacks: Sequence[Callback]) -> bool:
        result = self._campaign.result(self._message)
        # Every callback is called, even if an earlier one wants to stop.
        answers = [callback(result) for callback in callbacks]
        return any(answer is True for answer in answers)

    def _say(self, sentence: str) -> None:
        self._message = sentence


def _failed(error: BaseException) -> Outcome:
    text = f"{type(error).__name__}: {error}".strip(": ")
    return Outcome(None, None, text.splitlines()[0])
