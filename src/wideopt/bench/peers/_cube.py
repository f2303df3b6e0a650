"""The unit cube of a task, for peers that know nothing but boxes of reals."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideopt.bench.contender import Observation
from wideopt.exceptions import WideoptError
from wideopt.space import Space

__all__ = ["Points", "load", "penalized"]


class Points:
    """Configs as points of the cube and back."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self.n_dims = space.n_dims

    def encode(self, x: Any) -> NDArray[np.float64]:
        """The point of a config."""
        return self._space.encode(self._space.values(x))

    def decode(self, point: Any) -> Any:
        """The config whose cell holds a point."""
        inside = np.clip(np.asarray(point, dtype=float), 0.0, 1.0)
        return self._space.config(self._space.decode(inside))


def load(module: str, package: str, install: str | None = None) -> ModuleType:
    """A module of an optional package, or an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise WideoptError(
            f"This peer needs the package {package}, which cannot be imported "
            f"({error}): pip install {install or package}."
        ) from None


def penalized(initial: list[Observation], y: float, c: list[float]) -> float:
    """One number for a peer without constraints: y, or worse than the whole design.

    An infeasible point costs the worst objective of the initial design, plus the sum of
    its violations, each in units of that constraint's sd over the design, times the
    objective's sd over the design.
    """
    violation = np.maximum(np.array(c, dtype=float), 0.0)
    if not np.any(violation > 0):
        return y
    Y = np.array([seen.y for seen in initial])
    C = np.array([seen.c for seen in initial])
    scale = np.where(C.std(axis=0) > 0, C.std(axis=0), 1.0)
    unit = float(Y.std()) or 1.0
    return float(Y.max() + unit * np.sum(violation / scale))
