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
from wideopt.run._executor import check_workers
from wideopt.run._loop import Limits, Run

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
    n_workers: int = 1,
    storage: Any = None,
    study_name: str | None = None,
    callbacks: Iterable[Callable[[Result], Any]] = (),
    progress: bool | None = None,
    timeout: float | None = None,
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
        n_init: size of the initial space-filling design; by default from the dimension.
        n_constraints: inferred from the first evaluation if not given.
        pde: physics of the objective, a `PDE` or a list of them, for `pinn-bo`; `auto`
            then chooses that.
        seed: the same seed gives the same run.
        executor: any `concurrent.futures.Executor` to evaluate in.
        n_workers: evaluations at a time; above 1 in a pool of processes by default.
        storage: an Optuna storage URL such as "sqlite:///run.db"; give the same one
            again and the run resumes.
        study_name: name of the study in the storage.
        callbacks: called with the `Result` so far after each evaluation; one that
            returns True stops the run.
        progress: whether to show a progress bar; by default in a terminal.
        timeout: seconds after which no new evaluation is started.
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
    check_workers(executor, n_workers, fun)
    calls = _callables(callbacks)
    run.start(storage, study_name, is_seed_given=seed is not None)
    return run.go(executor, n_workers, calls, limits)


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
