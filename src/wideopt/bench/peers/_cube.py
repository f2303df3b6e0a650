"""A task's configs for peers: as points of the unit cube, or each value in its kind."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideopt.bench.contender import Observation
from wideopt.exceptions import WideoptError
from wideopt.space import Categorical, Integer, Space

__all__ = ["KindPoints", "Points", "labels", "load", "penalized"]


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


class KindPoints:
    """Configs as dicts and back: integers and choices as they are, the rest in [0, 1].

    A parameter that takes several coordinates and is no choice has a name for each.
    Choices go by the `labels` of theirs, since some peers take strings only.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._names: list[list[str]] = []  # of each parameter
        self.items: list[tuple[str, Any]] = []  # name and parameter, None for [0, 1]
        for p, s in zip(space.parameters, space.slices, strict=True):
            is_kept = isinstance(p, Integer | Categorical)
            stop = s.start + 1 if is_kept else s.stop
            names = [f"u{i:03}" for i in range(s.start, stop)]
            self._names.append(names)
            self.items.extend((name, p if is_kept else None) for name in names)

    def encode(self, x: Any) -> dict[str, Any]:
        """The dict of a config."""
        found: dict[str, Any] = {}
        for value, p, names in self._each(self._space.values(x)):
            if isinstance(p, Categorical):
                parts = [labels(p)[p.choices.index(value)]]
            else:
                parts = [value] if isinstance(p, Integer) else p.encode(value).tolist()
            found |= dict(zip(names, parts, strict=True))
        return found

    def decode(self, found: dict[str, Any]) -> Any:
        """The config of a dict."""
        values: list[Any] = []
        for parts, p, _ in self._each([[found[n] for n in ns] for ns in self._names]):
            if isinstance(p, Categorical):
                values.append(p.choices[labels(p).index(str(parts[0]))])
            elif isinstance(p, Integer):
                values.append(int(np.clip(round(parts[0]), p.low, p.high)))
            else:
                values.append(p.decode(np.clip(np.array(parts, dtype=float), 0.0, 1.0)))
        return self._space.config(values)

    def _each(self, values: Sequence[Any]) -> Iterator[tuple[Any, Any, list[str]]]:
        return zip(values, self._space.parameters, self._names, strict=True)


def labels(parameter: Categorical) -> list[str]:
    """A string for each choice."""
    return [f"{i}:{choice}" for i, choice in enumerate(parameter.choices)]


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
