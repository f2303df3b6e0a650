"""Methods: named algorithms that turn data into the next points. One file each.

The public `wideopt.methods()` lists them. A package and a function cannot share a name,
since importing the one replaces the other, so this package is itself callable.
"""

from __future__ import annotations

import sys
from types import ModuleType

from wideopt.methods.catalog import create, nearest, summaries

__all__ = ["create", "nearest", "summaries"]


class _CallableModule(ModuleType):
    def __call__(self) -> dict[str, str]:
        return summaries()


sys.modules[__name__].__class__ = _CallableModule
