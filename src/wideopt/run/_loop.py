"""The loop: ask, evaluate, tell, store; again until the budget is spent."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from wideopt.data import Trial, check_outcome
from wideopt.exceptions import InputError, StorageError, WideoptWarning
from wideopt.optimizer import Optimizer
from wideopt.result import Result
from wideopt.run._evaluate import Maximized, Outcome, evaluate
from wideopt.run._executor import open_executor
from wideopt.run._progress import Bar
from wideopt.run._record import Record
from wideopt.space import Config, Space

__all__ = ["Limits", "Run"]

Callback: TypeAlias = Callable[[Result], Any]


@dataclass(frozen=True)
class Limits:
    """Whether to show a bar (None: in a terminal), and how many seconds to run."""

    progress: bool | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        is_number = isinstance(self.timeout, int | float)
        if self.timeout is not None and not (is_number and self.timeout > 0):
            raise InputError(
                f"timeout must be a positive number, but got {self.timeout!r}."
            )


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
        self._sign = -1 if isinstance(fun, Maximized) else 1
        self._n_evals: int = optimizer.n_evals or 1
        self._optimizer = optimizer
        self._is_open = n_constraints is None  # number of constraints not known yet
        self._cut_off: list[tuple[Config, int]] = []  # in flight when a run ended
        self._message = ""
        self._record: Record

    def start(self, storage: Any, name: str | None, *, is_seed_given: bool) -> None:
        """Open the record; continue the run it holds, if any."""
        self._record = Record.open(storage, name, sign=self._sign)
        header = self._record.header
        if header is None:
            self._record.write_header(self._optimizer)
            return
        self._check_same(header, is_seed_given)
        ours = self._optimizer
        wanted = {"method": ours.method, "options": ours.options}
        if header != header | wanted:  # a change of mind: the data stay
            self._record.forget_state()
        header = {**header, **wanted, "n_evals": ours.n_evals}
        self._optimizer, running = self._record.restore(header, ours.object_options)
        self._record.write_header(self._optimizer)
        self._is_open = self._is_open and not self._has_complete()
        self._cut_off = list(zip(self._optimizer.pending, running, strict=True))

    def _check_same(self, header: dict[str, Any], is_seed_given: bool) -> None:
        ours, name = self._optimizer, self._record.study.study_name
        theirs = Space.from_json(header["space"])
        if theirs != ours.space:
            raise StorageError(
                f"Study {name!r} in this storage holds another space, {theirs!r}; "
                "use another study_name."
            )
        known = header["n_constraints"]
        if not self._is_open and known != ours.n_constraints:
            raise StorageError(
                f"Study {name!r} in this storage has {known} constraint(s), but "
                f"n_constraints is {ours.n_constraints}; use another study_name."
            )
        if is_seed_given and header["seed"] != ours.seed:
            warnings.warn(
                f"Study {name!r} was begun with seed {header['seed']} and goes on with "
                f"it; seed {ours.seed} is ignored.",
                WideoptWarning,
                stacklevel=4,
            )

    def go(
        self,
        executor: Executor | None,
        n_workers: int,
        callbacks: Sequence[Callback],
        limits: Limits,
    ) -> Result:
        """Run to the end; Ctrl-C ends it early with what there is."""
        bar = Bar(self._n_evals, len(self._optimizer.history), limits.progress)
        end = math.inf if limits.timeout is None else time.monotonic() + limits.timeout
        try:
            with open_executor(executor, n_workers, self._fun) as pool, bar.shown():
                self._loop(pool, n_workers, end, [*callbacks, bar.update])
        except KeyboardInterrupt:
            self._say(f"interrupted after {len(self._optimizer.history)} evaluations")
        except InputError:
            self._record.discard_if_empty()  # a wrong call leaves nothing behind
            raise
        return self._result()

    def _loop(
        self, pool: Executor, n_workers: int, end: float, callbacks: list[Callback]
    ) -> None:
        running: dict[Future[Outcome], tuple[Config, int]] = {}
        try:
            while self._fill(pool, running, n_workers, end):
                left = None if end == math.inf else max(end - time.monotonic(), 0.0)
                done, _ = wait(running, timeout=left, return_when=FIRST_COMPLETED)
                if not done:
                    self._say("timeout reached with evaluations still running")
                    return
                is_enough = False
                for future in done:  # all of them: what is finished is never lost
                    self._tell(*running.pop(future), _outcome(future))
                    is_enough = self._wants_stop(callbacks) or is_enough
                if is_enough:
                    self._say("stopped by a callback")
                    return
        finally:
            for future in running:
                future.cancel()

    def _fill(
        self,
        pool: Executor,
        running: dict[Future[Outcome], tuple[Config, int]],
        n_workers: int,
        end: float,
    ) -> bool:
        """Start evaluations while there are free workers; False if none is running."""
        while len(running) < n_workers:
            if len(self._optimizer.history) + len(running) >= self._n_evals:
                break
            if time.monotonic() >= end:
                self._say("timeout reached")
                break
            config, number = self._next()
            running[pool.submit(evaluate, self._fun, config.copy())] = (config, number)
        return bool(running)

    def _next(self) -> tuple[Config, int]:
        if self._cut_off:
            return self._cut_off.pop(0)
        config = self._optimizer.ask()
        return config, self._record.asked(self._optimizer, config)

    def _tell(self, config: Config, number: int, outcome: Outcome) -> None:
        error, seconds = outcome.error, outcome.seconds
        if error is None:
            try:
                y, c = self._checked(outcome)
                self._optimizer.tell(config, self._sign * y, c, seconds=seconds)
            except InputError as wrong:
                if not self._has_complete():
                    raise  # the very first value: the function itself is wrong
                error = str(wrong)
                warnings.warn(
                    f"Evaluation {number + 1} is recorded as failed: {wrong}",
                    WideoptWarning,
                    stacklevel=2,
                )
        if error is not None:
            self._optimizer.tell_failed(config, error=error, seconds=seconds)
        history = self._optimizer.history
        self._record.told(number, history[-1], len(history) - 1)
        self._warn_if_hopeless(history)

    def _checked(self, outcome: Outcome) -> tuple[float, tuple[float, ...] | None]:
        y, c = outcome.split()
        if not self._is_open:
            return check_outcome(y, c, self._optimizer.n_constraints)
        fun, constraints = check_outcome(y, c, None)
        if math.isfinite(fun):
            k = len(constraints or ())
            state = {**self._optimizer.state_dict(), "n_constraints": k}
            self._optimizer = Optimizer.from_state_dict(
                state, self._optimizer.object_options
            )
            self._record.write_header(self._optimizer)
            self._is_open = False
            return fun, constraints
        return fun, None

    def _has_complete(self) -> bool:
        return any(trial.state == "complete" for trial in self._optimizer.history)

    def _warn_if_hopeless(self, history: list[Trial]) -> None:
        n = self._optimizer.n_init
        if len(history) == n and not self._has_complete():
            warnings.warn(
                f"The first {n} evaluations all failed, the last with: "
                f"{history[-1].error}",
                WideoptWarning,
                stacklevel=2,
            )

    def _wants_stop(self, callbacks: Sequence[Callback]) -> bool:
        result = self._result()
        # Every callback is called, even if an earlier one wants to stop.
        answers = [callback(result) for callback in callbacks]
        return any(answer is True for answer in answers)

    def _say(self, sentence: str) -> None:
        self._message = sentence

    def _result(self) -> Result:
        result = replace(self._optimizer.best, study=self._record.study)
        failed = [trial for trial in result.history if trial.state == "failed"]
        parts = [self._message, result.message]
        if failed:
            parts.append(f"{len(failed)} failed, the last with {failed[-1].error}")
        result = replace(result, message="; ".join(part for part in parts if part))
        return result if self._sign > 0 else _mirrored(result)


def _outcome(future: Future[Outcome]) -> Outcome:
    error = future.exception()
    if error is None:
        return future.result()
    return Outcome(None, None, f"{type(error).__name__}: {error}".strip(": "))


def _mirrored(result: Result) -> Result:
    history = [
        replace(trial, y=None if trial.y is None else -trial.y)
        for trial in result.history
    ]
    fun = None if result.fun is None else -result.fun
    return replace(result, fun=fun, history=history, is_maximized=True)
