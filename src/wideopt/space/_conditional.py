"""A space in which some parameters matter only for some values of others.

A parameter that does not matter *rests*: whatever was proposed for it, its point of the
unit cube is moved to the middle. Configs that differ only in resting parameters are
then one point, to the models as to the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideopt.space._parameters import Array
from wideopt.space._space import Space

__all__ = ["Condition", "Conditional"]


@dataclass(frozen=True)
class Condition:
    """Rests where the parameter `switch` rests, or has one of the values `off`."""

    switch: str
    off: frozenset[Any]


class Conditional(Space):
    """A space with conditions, by the name of the parameter that they let rest."""

    def __init__(self, definition: Any, conditions: Mapping[str, Condition]) -> None:
        super().__init__(definition)
        self.conditions = dict(conditions)
        self._rest = [
            p.snap(np.full((1, p.n_dims), 0.5))[0] for p in self.parameters
        ]  # fmt: skip

    @property
    def resting_values(self) -> tuple[Any, ...]:
        """The value that stands for each parameter where it rests."""
        pairs = zip(self.parameters, self._rest, strict=True)
        return tuple(parameter.decode(rest) for parameter, rest in pairs)

    def active(self, values: Mapping[str, Any]) -> list[str]:
        """The names of the parameters that matter, given the values of the others."""
        return [name for name in self.names if self._is_active(name, values)]

    def _is_active(self, name: str, values: Mapping[str, Any]) -> bool:
        condition = self.conditions.get(name)
        if condition is None:
            return True
        if not self._is_active(condition.switch, values):
            return False
        return values.get(condition.switch) not in condition.off

    def encode(self, values: Sequence[Any]) -> Array:
        """The point of the unit cube, with what rests in the middle."""
        point: Array = self._rested(super().encode(values)[None, :])[0]
        return point

    def snap(self, points: Array) -> Array:
        """The encodings of the legal configs, with what rests in the middle."""
        return self._rested(super().snap(points))

    def every_point(self) -> Array:
        """The encodings of all configs that differ in something that matters."""
        return np.unique(super().every_point(), axis=0)

    def _rested(self, points: Array) -> Array:
        rests: dict[str, NDArray[np.bool_]] = {}
        for name in self.conditions:
            self._note_rest(name, points, rests)
        points = points.copy()
        for i, name in enumerate(self.names):
            if name in self.conditions:
                points[rests[name], self.slices[i]] = self._rest[i]
        return points

    def _note_rest(
        self, name: str, points: Array, rests: dict[str, NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """Rows in which a parameter rests, noted for it and for its switches."""
        condition = self.conditions.get(name)
        if condition is None:
            return np.zeros(len(points), dtype=np.bool_)
        if name not in rests:
            i = self.names.index(condition.switch)
            decode, s = self.parameters[i].decode, self.slices[i]
            is_off = [decode(point[s]) in condition.off for point in points]
            above = self._note_rest(condition.switch, points, rests)
            rests[name] = above | np.array(is_off, dtype=np.bool_)
        return rests[name]
