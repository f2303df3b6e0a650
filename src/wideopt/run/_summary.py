"""A run as its study and its user see it: the same as before, and in the right sign."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from wideopt.data import Trial
from wideopt.exceptions import StorageError, WideoptWarning
from wideopt.result import Result
from wideopt.space import Space

__all__ = ["check_same", "summarized", "turned", "warn_of_failures", "warn_of_seed"]


def check_same(
    header: dict[str, Any], name: str, space: Space, n_constraints: int | None
) -> None:
    """Raise unless a study holds this space and so many constraints, if known."""
    theirs = Space.from_json(header["space"])
    if theirs != space:
        raise StorageError(
            f"Study {name!r} in this storage holds another space, {theirs!r}; "
            "use another study_name."
        )
    known = header["n_constraints"]
    if n_constraints is not None and known != n_constraints:
        raise StorageError(
            f"Study {name!r} in this storage has {known} constraint(s), but "
            f"n_constraints is {n_constraints}; use another study_name."
        )


def warn_of_seed(name: str, theirs: int, ours: int) -> None:
    """Say that a study keeps the seed that it was begun with."""
    warnings.warn(
        f"Study {name!r} was begun with seed {theirs} and goes on with it; seed {ours} "
        "is ignored.",
        WideoptWarning,
        stacklevel=6,
    )


def warn_of_failures(history: list[Trial]) -> None:
    """Say that the whole initial design has failed."""
    warnings.warn(
        f"The first {len(history)} evaluations all failed, the last with: "
        f"{history[-1].error}",
        WideoptWarning,
        stacklevel=3,
    )


def summarized(best: Result, study: Any, message: str, sign: int) -> Result:
    """A minimization's result with its study, a message, and the user's sign."""
    failed = [trial for trial in best.history if trial.state == "failed"]
    parts = [message, best.message]
    if failed:
        parts.append(f"{len(failed)} failed, the last with {failed[-1].error}")
    text = "; ".join(part for part in parts if part)
    result = replace(best, study=study, message=text)
    if sign > 0:
        return result
    history = [turned(trial, sign) for trial in result.history]
    fun = None if result.fun is None else -result.fun
    return replace(result, fun=fun, history=history, is_maximized=True)


def turned(trial: Trial, sign: int) -> Trial:
    """A trial with its objective times the sign."""
    return replace(trial, y=None if trial.y is None else sign * trial.y)
