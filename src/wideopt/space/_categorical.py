"""A choice without order, and the corners of the unit cube that stand for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import InputError, SpaceError

__all__ = ["Categorical"]

Array: TypeAlias = NDArray[np.float64]
Choice: TypeAlias = "str | int | float | bool | None"


@dataclass(frozen=True)
class Categorical:
    """One of several choices without order: strings, numbers, booleans or None.

    Two choices take one dimension of the unit cube; more take one each (one-hot).
    """

    choices: tuple[Choice, ...]

    def __init__(self, choices: Any) -> None:
        if isinstance(choices, str) or not hasattr(choices, "__iter__"):
            raise SpaceError(f"Categorical needs a list of choices, got {choices!r}.")
        items = tuple(_plain(choice) for choice in choices)
        for choice in items:
            _check_choice(choice)
        if len(set(items)) < len(items):  # True equals 1, and storages confuse them
            raise SpaceError(f"Categorical has a choice twice: {list(items)}.")
        if len(items) < 2:
            raise SpaceError(
                f"Categorical needs at least two choices, but got {list(items)}."
            )
        object.__setattr__(self, "choices", items)

    @property
    def n_dims(self) -> int:
        """Dimensions taken in the unit cube."""
        return 1 if len(self.choices) == 2 else len(self.choices)

    @property
    def n_values(self) -> float:
        """Number of distinct values."""
        return len(self.choices)

    def every_value(self) -> Sequence[Choice]:
        """All choices."""
        return self.choices

    def check(self, value: object) -> Choice:
        """The choice that equals value, or an error if there is none."""
        return self.choices[self._index(value)]

    def _index(self, value: object) -> int:
        identity = _identity(_plain(value))
        for i, choice in enumerate(self.choices):
            if _identity(choice) == identity:
                return i
        raise InputError(f"is {value!r}, not one of {list(self.choices)}")

    def encode(self, value: object) -> Array:
        """A corner of the cube."""
        index = self._index(value)
        if len(self.choices) == 2:
            return np.array([float(index)])
        return _one_hot(len(self.choices), index)

    def decode(self, u: Array) -> Choice:
        """The choice with the largest coordinate (the first of equal ones)."""
        return self.choices[int(self._indices(u[None, :])[0])]

    def _indices(self, U: Array) -> NDArray[np.intp]:
        if len(self.choices) == 2:
            return np.asarray(U[:, 0] >= 0.5, dtype=np.intp)
        return np.asarray(np.argmax(U, axis=1), dtype=np.intp)

    def snap(self, U: Array) -> Array:
        """Nearest legal encodings, row by row."""
        index = self._indices(U)
        if len(self.choices) == 2:
            return index[:, None].astype(np.float64)
        return _one_hot(len(self.choices), index)

    def to_json(self) -> dict[str, Any]:
        """A JSON form."""
        return {"kind": "categorical", "choices": list(self.choices)}


def _one_hot(n: int, index: int | NDArray[np.intp]) -> Array:
    corners: Array = np.eye(n)[index]
    return corners


def _plain(value: object) -> Any:
    """A NumPy scalar as the Python value it holds."""
    return value.item() if isinstance(value, np.generic) else value


def _identity(choice: object) -> tuple[str, object]:
    """Tells True from 1, but not 1 from 1.0."""
    if isinstance(choice, bool) or choice is None:
        return (type(choice).__name__, choice)
    return ("number", choice) if isinstance(choice, int | float) else ("text", choice)


def _check_choice(choice: object) -> None:
    if choice is not None and not isinstance(choice, str | int | float | bool):
        raise SpaceError(
            "Categorical takes strings, numbers, booleans and None, but got "
            f"{choice!r}; use its name and look the object up in your function."
        )
    if isinstance(choice, float) and not math.isfinite(choice):
        raise SpaceError(f"Categorical needs finite numbers, but got {choice!r}.")
