"""Open a storage: Optuna's, or an error in one sentence, and nothing is changed."""

from __future__ import annotations

import logging
import random
import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
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

from wideopt.exceptions import StorageError
from wideopt.space import Candidates, Categorical, Integer, Parameter, Space

__all__ = ["distributions", "open_study", "shown", "storage_errors"]

_N_TRIES = 6  # copies that start together may trip over each other's new tables
_SQLITE = "sqlite:///"
_TABLES = ("stud", "trial", "version_info", "alembic_version", "sqlite_", "ix_")


def open_study(
    storage: Any, name: str, direction: StudyDirection, *, must_exist: bool = False
) -> tuple[BaseStorage, Study]:
    """The storage, and its study of that name, which is created if it may be."""
    _check_file(storage, must_exist=must_exist)
    for attempt in range(_N_TRIES):
        try:
            with _quiet():
                return _open(storage, name, direction, must_exist)
        except Exception as error:
            if attempt < _N_TRIES - 1 and _is_collision(storage, error):
                time.sleep(random.uniform(0.05, 0.3) * (attempt + 1))
                continue
            raise StorageError(_why(storage, error)) from error
    raise AssertionError("unreachable")


def _open(
    storage: Any, name: str, direction: StudyDirection, must_exist: bool
) -> tuple[BaseStorage, Study]:
    backend = InMemoryStorage() if storage is None else get_storage(storage)
    if must_exist:
        return backend, optuna.load_study(storage=backend, study_name=name)
    study = optuna.create_study(
        storage=backend, study_name=name, direction=direction, load_if_exists=True
    )
    return backend, study


def _is_collision(storage: Any, error: Exception) -> bool:
    """Whether it looks as if another process had created the same thing just now."""
    if not isinstance(storage, str) or "://" not in storage:
        return False
    text = f"{error} {error.__cause__}".lower()
    words = ("already exists", "duplicate", "locked", "unique constraint")
    return any(word in text for word in words)


def _check_file(storage: Any, *, must_exist: bool) -> None:
    """Raise if an SQLite file is torn, or holds the tables of something else."""
    if not isinstance(storage, str) or not storage.startswith(_SQLITE):
        return
    path = Path(storage.removeprefix(_SQLITE).partition("?")[0])
    if path.is_file() and path.stat().st_size > 0:
        _check_tables(storage, path)
    elif must_exist:
        raise StorageError(f"There is no file {str(path)!r}.")


def _check_tables(storage: str, path: Path) -> None:
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            rows = connection.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.OperationalError:
        return  # locked, or to be rolled back first: what opening it will do
    except sqlite3.DatabaseError as error:
        raise StorageError(_why(storage, error)) from error
    if state != "ok":
        raise StorageError(f"{shown(storage).capitalize()} is damaged: {state!r}.")
    names = {name for (name,) in rows}
    # Another copy may be creating them just now, so some of Optuna's may be missing.
    if "studies" not in names and any(not n.startswith(_TABLES) for n in names):
        raise StorageError(
            f"{shown(storage).capitalize()} holds the tables of something else; use "
            "another file."
        )


@contextmanager
def storage_errors(storage: Any) -> Iterator[None]:
    """What a storage raises in the middle of things, as an error of ours."""
    try:
        yield
    except optuna.exceptions.StorageInternalError as error:
        raise StorageError(
            f"{shown(storage).capitalize()} failed: {_reason(error)}."
        ) from error


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


def shown(storage: Any) -> str:
    """How a message names a storage; without the password, if there is one."""
    if not isinstance(storage, str):
        return "this storage"
    scheme, at, rest = storage.rpartition("@")
    if at and ":" in scheme.partition("://")[2]:
        storage = f"{scheme.rpartition(':')[0]}:***@{rest}"
    return f"storage {storage!r}"


def _reason(error: BaseException) -> str:
    lines = str(error.__cause__ or error).strip().splitlines() or [repr(error)]
    return lines[0].rstrip(".")


def _why(storage: Any, error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{shown(storage).capitalize()} has no such study: {_reason(error)}."
    hint = ""
    if isinstance(storage, str) and "://" not in storage:
        hint = f" An SQLite file is written as sqlite:///{storage.lstrip('/')}."
    return f"{shown(storage).capitalize()} cannot be opened: {_reason(error)}.{hint}"


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
