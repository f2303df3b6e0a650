"""A finite set of points: the legal configs are exactly the rows of an array.

Notation: v the index of a row, its value; u ∈ [0, 1]^k the row with each column scaled
to the unit interval. Between rows, u stands for the nearest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import InputError, SpaceError

__all__ = ["Candidates"]

Array: TypeAlias = NDArray[np.float64]

_SLACK = 1e-9  # in the unit cube: rounding of a user's own arithmetic
_CHUNK = 2**22  # distances computed at a time


class Candidates:
    """Rows of numbers, one of which is to be chosen; all parameters at once."""

    def __init__(self, rows: Any) -> None:
        self.rows = _checked(rows)
        low = self.rows.min(axis=0)
        with np.errstate(over="ignore"):
            span = self.rows.max(axis=0) - low
        self.low, self.span = low, np.where(span > 0, span, 1.0)
        if not np.isfinite(self.span).all():
            raise SpaceError("The columns of the candidates range too far for a float.")
        self.codes: Array = np.asarray((self.rows - self.low) / self.span)
        self._index = {code.tobytes(): i for i, code in enumerate(self.codes)}
        if len(self._index) < len(self.rows):
            raise SpaceError(
                f"Of the {len(self.rows)} candidates only {len(self._index)} are "
                "distinct; remove the others, as numpy.unique(rows, axis=0) does."
            )

    def __repr__(self) -> str:
        return f"Candidates({self.rows.shape[0]} rows of {self.rows.shape[1]})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidates) and np.array_equal(self.rows, other.rows)

    def __hash__(self) -> int:
        return hash(self.rows.tobytes())

    @property
    def n_dims(self) -> int:
        """Dimensions taken in the unit cube: the columns."""
        return int(self.rows.shape[1])

    @property
    def n_values(self) -> float:
        """Number of rows."""
        return int(self.rows.shape[0])

    def every_value(self) -> Sequence[int]:
        """All indices."""
        return range(self.rows.shape[0])

    def check(self, value: object) -> int:
        """The index of the row that equals value, or an error if there is none."""
        try:
            row = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"is {value!r}, which is not a row of numbers") from None
        if row.shape != (self.n_dims,):
            raise InputError(
                f"has the shape {row.shape}, but a candidate has {self.n_dims} values"
            )
        code = ((row + 0.0 - self.low) / self.span)[None, :]
        index = int(self._nearest(code)[0])
        if not np.abs(self.codes[index] - code).max() <= _SLACK:
            raise InputError(f"is {row}, not one of the {len(self.rows)} candidates")
        return index

    def encode(self, value: int) -> Array:
        """The scaled row."""
        return np.array(self.codes[value])

    def decode(self, u: Array) -> int:
        """The index of the nearest row."""
        return int(self._nearest(u[None, :])[0])

    def snap(self, U: Array) -> Array:
        """Nearest scaled rows."""
        snapped: Array = self.codes[self._nearest(U)]
        return snapped

    def near(self, value: int, n: int) -> list[int]:
        """The n other rows closest to a row."""
        gap = np.square(self.codes - self.codes[value]).sum(axis=1)
        gap[value] = np.inf
        n = min(n, len(gap) - 1)
        return [int(i) for i in np.argsort(gap, kind="stable")[:n]]

    def _nearest(self, U: Array) -> NDArray[np.intp]:
        index = np.array([self._index.get(u.tobytes(), -1) for u in U], dtype=np.intp)
        (unknown,) = np.nonzero(index < 0)
        step = max(1, _CHUNK // len(self.rows))
        for start in range(0, len(unknown), step):
            part = unknown[start : start + step]
            index[part] = _distances(U[part], self.codes).argmin(axis=1)
        return index

    def to_json(self) -> dict[str, Any]:
        """A JSON form."""
        return {"kind": "candidates", "rows": self.rows.tolist()}


def _checked(rows: Any) -> Array:
    try:
        array = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SpaceError(f"Candidates are an array of numbers: {error}.") from None
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 1:
        raise SpaceError(
            "Candidates are an array with two rows or more, one for each candidate, "
            f"but got the shape {array.shape}."
        )
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise SpaceError(f"Candidates need finite numbers, but row {row} has others.")
    return array + 0.0  # -0.0 becomes 0.0, so that equal rows have equal bytes


def _distances(U: Array, V: Array) -> Array:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(U, V, "sqeuclidean"))
