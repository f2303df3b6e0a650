"""What `wideopt run` is pointed at: a file of the user's, or a problem of ours."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from wideopt.exceptions import InputError

__all__ = ["load"]


def load(target: str) -> tuple[Callable[[Any], Any], Any, float | None]:
    """Function, space and known optimum (or None) of a target."""
    path, _, name = target.partition(":")
    if path.endswith(".py"):
        return *_from_file(Path(path), name or "fun"), None
    from wideopt.problems import get

    problem = get(target)
    return problem, problem.space, problem.optimum


def _from_file(path: Path, name: str) -> tuple[Callable[[Any], Any], Any]:
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.")
    module = _import(path)
    for needed in (name, "space"):
        if not hasattr(module, needed):
            raise InputError(
                f"{path} must define {needed!r}: a function (named after the colon, "
                "fun by default) and its space."
            )
    return getattr(module, name), module.space


def _import(path: Path) -> ModuleType:
    # Under its own name and with its folder on the path, as `python FILE.py` would
    # have it, so that worker processes can import the function too.
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(
            f"{path} cannot be imported: {type(error).__name__}: {error}."
        ) from error
    return module
