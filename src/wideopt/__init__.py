"""wideopt: optimization of expensive black boxes with wide neural networks.

    import wideopt as wo

    result = wo.minimize(f, [(0, 1), (-5, 10)], n_evals=100, seed=0)

Names are loaded when first used (PEP 562), so that `import wideopt` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_LAZY = {
    "Categorical": "wideopt.space",
    "FitError": "wideopt.exceptions",
    "InputError": "wideopt.exceptions",
    "Integer": "wideopt.space",
    "Optimizer": "wideopt.optimizer",
    "PDE": "wideopt.pde",
    "Real": "wideopt.space",
    "Result": "wideopt.result",
    "Space": "wideopt.space",
    "SpaceError": "wideopt.exceptions",
    "StorageError": "wideopt.exceptions",
    "Trial": "wideopt.data",
    "WideoptError": "wideopt.exceptions",
    "WideoptWarning": "wideopt.exceptions",
    "integrations": "",
    "maximize": "wideopt.run",
    "methods": "",
    "minimize": "wideopt.run",
    "multiagent": "",
    "pde": "",
    "problems": "",
    "surrogates": "",
}

__all__ = [
    "PDE",
    "Categorical",
    "FitError",
    "InputError",
    "Integer",
    "Optimizer",
    "Real",
    "Result",
    "Space",
    "SpaceError",
    "StorageError",
    "Trial",
    "WideoptError",
    "WideoptWarning",
    "integrations",
    "maximize",
    "methods",
    "minimize",
    "multiagent",
    "pde",
    "problems",
    "surrogates",
]

if TYPE_CHECKING:
    from wideopt import integrations, multiagent, pde, problems, surrogates
    from wideopt.data import Trial
    from wideopt.exceptions import (
        FitError,
        InputError,
        SpaceError,
        StorageError,
        WideoptError,
        WideoptWarning,
    )
    from wideopt.optimizer import Optimizer
    from wideopt.pde import PDE
    from wideopt.result import Result
    from wideopt.run import maximize, minimize
    from wideopt.space import Categorical, Integer, Real, Space

    def methods() -> dict[str, str]:
        """Name → one line, for every method."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'wideopt' has no attribute {name!r}")
    module = _LAZY[name]
    if not module:
        return importlib.import_module(f"wideopt.{name}")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
