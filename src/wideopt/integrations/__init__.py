"""wideopt inside other tools. A module is loaded, with its tool, when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wideopt.integrations import optuna

__all__ = ["optuna"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'wideopt.integrations' has no attribute {name!r}")
    return importlib.import_module(f"wideopt.integrations.{name}")
