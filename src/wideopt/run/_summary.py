"""A run as its study and its user see it: the same as before, and in the right sign."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wideopt.data import Trial
from wideopt.exceptions import StorageError
from wideopt.result import Result
from wideopt.space import Space

__all__ = ["check_same", "summarized", "turned"]


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
