"""The one call: `minimize`, and its mirror `maximize`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Any

from wideopt.exceptions import InputError
from wideopt.methods.catalog import has_option
from wideopt.optimizer import Optimizer
from wideopt.result import Result
from wideopt.run._evaluate import Maximized
from wideopt.run._executor import Workers
from wideopt.run._loop import Limits, Run, check_seconds

__all__ = ["maximize", "minimize"]


def minimize(
    fun: Callable[[Any], Any],
    space: Any,
    *,
    method: str = "auto",
    n_evals: int = 100,
    n_init: int | None = None,
    n_constraints: int | None = None,
    pde: Any = None,
    seed: int | None = None,
    executor: Executor | None = None,
    n_workers: int | None = None,
    storage: Any = None,
    study_name: str | None = None,
    callbacks: Iterable[Callable[[Result], Any]] = (),
    progress: bool | None = None,
    timeout: float | None = None,
    eval_timeout: float | None = None,
    options: dict[str, Any] | None = None,
) -> Result:
    """Find the minimum of an expensive function.

    Args:
        fun: takes a point (an array, or a dict where the space is named), returns a
            number, or (number, constraints); a constraint is satisfied iff <= 0. If it
            raises, or returns NaN or an infinity, the evaluation counts as failed, the
            run goes on, and the method learns to keep away.
        space: a list of (low, high) pairs or parameters, or a dict of them by name.
        method: a name out of `wideopt.methods()`.
        n_evals: evaluations in total, including those a resumed study already holds.
        n_init: size of the initial space-filling design; by default from the dimension,
            and beyond 5 at most a third of `n_evals`.
        n_constraints: inferred from the first evaluation if not given.
        pde: physics of the objective, a `PDE` or a list of them, for `pinn-bo`; `auto`
            then chooses that.
        seed: the same seed gives the same run.
        executor: any `concurrent.futures.Executor` to evaluate in.
        n_workers: evaluations at a time, 1 by default, or as many as the executor has
            workers; above 1 in processes of our own unless there is an executor. One
            that dies costs its evaluation only, which is tried once more.
        storage: an Optuna storage URL such as "sqlite:///run.db"; give the same one
            again and the run resumes.
        study_name: name of the study in the storage.
        callbacks: called with the `Result` so far after each evaluation; one that
            returns True stops the run.
        progress: whether to show a progress bar; by default in a terminal.
        timeout: seconds after which no new evaluation is started.
        eval_timeout: seconds after which an evaluation is killed and counts as failed;
            evaluations then run in processes of our own, even one at a time.
        options: settings of the method, and `device`.

    Returns:
        The best observation and the history; Ctrl-C returns what there is so far.
    """
    given = options
    if n_init is not None:
        given = {**(options or {}), "n_init": n_init}
    if isinstance(fun, Maximized) and has_option(method, "is_maximized"):
        given = {"is_maximized": True, **(given or {})}
    optimizer = Optimizer(
        space,
        method=method,
        n_constraints=n_constraints or 0,
        n_evals=n_evals,
        pde=pde,
        seed=seed,
        options=given,
    )
    run = Run(fun, optimizer, n_constraints)
    limits = Limits(progress, timeout)
    check_seconds("eval_timeout", eval_timeout)
    workers = Workers.of(executor, n_workers, eval_timeout, fun)
    calls = _callables(callbacks)
    study = (storage, study_name, seed is not None)
    return run.go(study, workers, calls, limits)


def _callables(callbacks: Any) -> tuple[Callable[[Result], Any], ...]:
    calls = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    for call in calls:
        if not callable(call):
            raise InputError(f"A callback must be a function, but got {call!r}.")
    return calls


def maximize(fun: Callable[[Any], Any], space: Any, **settings: Any) -> Result:
    """Find the maximum: the mirror of `minimize`, with the same arguments."""
    return minimize(Maximized(fun), space, **settings)


maximize.__signature__ = inspect.signature(minimize)  # type: ignore[attr-defined]
