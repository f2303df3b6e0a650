"""`minimize` and `maximize`: evaluate, store, resume, show progress.

Loaded when first used: a worker process needs `evaluate` only, not torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wideopt.run._minimize import maximize, minimize

__all__ = ["maximize", "minimize"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'wideopt.run' has no attribute {name!r}")
    from wideopt.run import _minimize

    return getattr(_minimize, name)
