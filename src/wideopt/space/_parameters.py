"""Parameters: one legal range of user values, and its cells of the unit cube.

Notation: v a user value, u ∈ [0, 1]^k its encoding, k = `n_dims`. Encoding sends a
value to the middle of its cell, decoding sends a whole cell to its value, so that
every u decodes to a legal value and decode(encode(v)) = v.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import InputError, SpaceError
from wideopt.space._candidates import Candidates
from wideopt.space._categorical import Categorical

__all__ = ["Categorical", "Integer", "Parameter", "Real"]

Array: TypeAlias = NDArray[np.float64]

_MAX_INTEGER = 2**40  # beyond, the log of a float no longer tells neighbors apart


def is_number(value: object) -> bool:
    """Whether value is a real number (a bool is not meant as one)."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _check_bounds(kind: str, low: object, high: object, log: object) -> None:
    for name, bound in (("low", low), ("high", high)):
        if not is_number(bound) or not math.isfinite(bound):  # type: ignore[arg-type]
            raise SpaceError(
                f"{kind} needs finite numbers as bounds, but {name} is {bound!r}."
            )
    if not low < high:  # type: ignore[operator]
        raise SpaceError(f"{kind} needs low < high, but got low={low}, high={high}.")
    if not isinstance(log, bool):
        raise SpaceError(f"{kind} needs log to be True or False, but got {log!r}.")
    if log and low <= 0:  # type: ignore[operator]
        raise SpaceError(
            f"{kind} on a log scale needs low > 0, but got low={low}; "
            "shift the range or use log=False."
        )


@dataclass(frozen=True)
class Real:
    """A real number in [low, high], uniform or on a log scale."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_bounds("Real", self.low, self.high, self.log)
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if not math.isfinite(self.high - self.low):
            raise SpaceError(
                f"Real needs a range that a float can hold, but [{self.low}, "
                f"{self.high}] is wider."
            )
        if self.log and math.log(self.low) == math.log(self.high):
            raise SpaceError(
                f"Real needs ends whose logarithms differ, but those of [{self.low}, "
                f"{self.high}] do not; use log=False."
            )

    @property
    def n_dims(self) -> int:
        """Dimensions taken in the unit cube."""
        return 1

    @property
    def n_values(self) -> float:
        """Number of distinct values: infinite."""
        return math.inf

    def check(self, value: object) -> float:
        """The value as a float, or an error if it is not in the range."""
        if not is_number(value):
            raise InputError(f"is {value!r}, which is not a number")
        number = float(value)  # type: ignore[arg-type]
        slack = 1e-9 * (self.high - self.low)  # rounding of a user's own arithmetic
        if not self.low - slack <= number <= self.high + slack:
            raise InputError(f"is {number}, outside [{self.low}, {self.high}]")
        return min(max(number, self.low), self.high)

    def encode(self, value: float) -> Array:
        """Position in the unit interval."""
        v = min(max(value, self.low), self.high)
        if self.log:  # a difference of logs, since high / low may overflow
            start = math.log(self.low)
            u = (math.log(v) - start) / (math.log(self.high) - start)
        else:
            u = (v - self.low) / (self.high - self.low)
        return np.array([min(max(u, 0.0), 1.0)])

    def decode(self, u: Array) -> float:
        """The value at a position; clamped, since exp(log(10)) exceeds 10."""
        t = min(max(float(u[0]), 0.0), 1.0)
        if self.log:
            start, stop = math.log(self.low), math.log(self.high)
            v = math.exp(min(start + t * (stop - start), stop))
        else:
            v = (1.0 - t) * self.low + t * self.high  # exact at both ends
        return min(max(v, self.low), self.high)

    def snap(self, U: Array) -> Array:
        """Nearest legal encodings, row by row: a real number is always legal."""
        return np.clip(U, 0.0, 1.0)

    def to_json(self) -> dict[str, Any]:
        """A JSON form."""
        return {"kind": "real", "low": self.low, "high": self.high, "log": self.log}


@dataclass(frozen=True)
class Integer:
    """A whole number in {low, ..., high}, uniform or on a log scale."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_bounds("Integer", self.low, self.high, self.log)
        for name, bound in (("low", self.low), ("high", self.high)):
            if bound != int(bound):
                raise SpaceError(
                    f"Integer needs whole bounds, but {name} is {bound!r}."
                )
            object.__setattr__(self, name, int(bound))
        if max(abs(self.low), abs(self.high)) > _MAX_INTEGER:
            raise SpaceError(
                f"Integer bounds must be within ±2**40, but got [{self.low}, "
                f"{self.high}]; use Real and round."
            )

    @property
    def n_dims(self) -> int:
        """Dimensions taken in the unit cube."""
        return 1

    @property
    def n_values(self) -> float:
        """Number of distinct values."""
        return self.high - self.low + 1

    def every_value(self) -> Sequence[int]:
        """All values, in order."""
        return range(self.low, self.high + 1)

    def check(self, value: object) -> int:
        """The value as an int, or an error if it is not in the range."""
        if not is_number(value) or not math.isfinite(value):  # type: ignore[arg-type]
            raise InputError(f"is {value!r}, which is not a whole number")
        number = round(float(value))  # type: ignore[arg-type]
        if abs(number - float(value)) > 1e-9 * max(1, abs(number)):  # type: ignore[arg-type]
            raise InputError(f"is {value}, which is not a whole number")
        if not self.low <= number <= self.high:
            raise InputError(f"is {number}, outside [{self.low}, {self.high}]")
        return number

    def _edges(self) -> tuple[float, float]:
        return self.low - 0.5, self.high + 0.5

    def _positions(self, values: Array) -> Array:
        a, b = self._edges()
        if self.log:
            return np.log(values / a) / math.log(b / a)
        return (values - a) / (b - a)

    def _values(self, U: Array) -> Array:
        a, b = self._edges()
        t = np.clip(U, 0.0, 1.0)
        if self.log:
            raw = np.rint(a * np.exp(t * math.log(b / a)))
        else:
            # The last cell is closed: u = 1 decodes to high.
            raw = self.low + np.floor(t * (b - a))
        return np.clip(raw, self.low, self.high)

    def encode(self, value: int) -> Array:
        """Middle of the value's cell."""
        return self._positions(np.array([float(value)]))

    def decode(self, u: Array) -> int:
        """The value whose cell holds u."""
        return int(self._values(u[:1])[0])

    def snap(self, U: Array) -> Array:
        """Nearest legal encodings, row by row."""
        return self._positions(self._values(U))

    def to_json(self) -> dict[str, Any]:
        """A JSON form."""
        return {"kind": "integer", "low": self.low, "high": self.high, "log": self.log}


Parameter: TypeAlias = Real | Integer | Categorical | Candidates
