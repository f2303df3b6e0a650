"""A search space: parameters in order, and the unit cube that encodes them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import InputError, SpaceError
from wideopt.space._candidates import Candidates
from wideopt.space._parameters import Array, Categorical, Integer, Parameter, Real

__all__ = ["Config", "Space"]

Config: TypeAlias = "NDArray[Any] | dict[str, Any]"


class Space:
    """The set of legal configs.

    Args:
        definition: a list of (low, high) pairs or parameters (configs are arrays), or
            a dict of name to pair or parameter (configs are dicts), or a `Space`.

    `Space.from_candidates(array)` is the space of the rows of an array.
    """

    def __init__(self, definition: Any) -> None:
        self.is_named: bool
        self.names: tuple[str, ...]
        self.parameters: tuple[Parameter, ...]
        if isinstance(definition, Space):
            self.is_named = definition.is_named
            self.names, self.parameters = definition.names, definition.parameters
        else:
            self.is_named, self.names, items = _split(definition)
            self.parameters = tuple(
                _parameter(name, item)
                for name, item in zip(self.names, items, strict=True)
            )
        stops = np.cumsum([p.n_dims for p in self.parameters])
        self.slices: tuple[slice, ...] = tuple(
            slice(int(stop) - p.n_dims, int(stop))
            for p, stop in zip(self.parameters, stops, strict=True)
        )
        self.n_dims: int = int(stops[-1])

    @classmethod
    def from_candidates(cls, rows: Any) -> Space:
        """The space whose configs are exactly the rows of an array.

        In the unit cube each column is scaled to [0, 1].
        """
        return cls([Candidates(rows)])

    @property
    def candidates(self) -> Candidates | None:
        """The rows that the configs are; None if the space is not made of rows."""
        first = self.parameters[0]
        return first if isinstance(first, Candidates) else None

    def __repr__(self) -> str:
        if self.candidates is not None:
            return f"Space.from_candidates({self.candidates!r})"
        if self.is_named:
            items = zip(self.names, self.parameters, strict=True)
            return "Space({" + ", ".join(f"{n!r}: {p!r}" for n, p in items) + "})"
        return f"Space({list(self.parameters)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.is_named, self.names, self.parameters))

    def __len__(self) -> int:
        return self.n_dims if self.candidates is not None else len(self.parameters)

    @property
    def is_continuous(self) -> bool:
        """Whether every parameter is a real number."""
        return all(isinstance(p, Real) for p in self.parameters)

    @property
    def n_configs(self) -> float:
        """Number of distinct configs; infinite if a parameter is real."""
        return math.prod(p.n_values for p in self.parameters)

    @property
    def _is_numeric(self) -> bool:
        return all(
            isinstance(choice, int | float)
            and not isinstance(choice, bool)
            and choice == float(choice)  # a float holds it exactly
            for p in self.parameters
            if isinstance(p, Categorical)
            for choice in p.choices
        )

    def values(self, config: Any) -> tuple[Any, ...]:
        """The config's values in order, checked; an error names the bad one."""
        items = self._items(config)
        checked = []
        for name, parameter, item in zip(
            self.names, self.parameters, items, strict=True
        ):
            try:
                checked.append(parameter.check(item))
            except InputError as error:
                raise InputError(f"Parameter {name} {error}.") from None
        return tuple(checked)

    def _items(self, config: Any) -> list[Any]:
        if self.candidates is not None:
            return [config]
        if self.is_named:
            if not isinstance(config, Mapping):
                raise InputError(
                    f"This space is named, so a point is a dict with the keys "
                    f"{list(self.names)}, but got {_short(config)}."
                )
            if set(config) != set(self.names):
                raise InputError(
                    f"A point needs the keys {list(self.names)}, but got "
                    f"{sorted(map(str, config))}."
                )
            return [config[name] for name in self.names]
        if isinstance(config, Mapping | str) or not hasattr(config, "__len__"):
            raise InputError(
                f"A point of this space is an array of {len(self)} values, but got "
                f"{_short(config)}."
            )
        if np.ndim(config) != 1 or len(config) != len(self):
            raise InputError(
                f"A point of this space has {len(self)} values, but got "
                f"{_short(config)} with shape {np.shape(config)}."
            )
        return list(config)

    def config(self, values: Sequence[Any]) -> Config:
        """The form a user sees: a dict in a named space, else an array."""
        if self.candidates is not None:
            row: NDArray[Any] = self.candidates.rows[values[0]].copy()
            return row
        if self.is_named:
            return dict(zip(self.names, values, strict=True))
        dtype: Any = np.float64 if self._is_numeric else object
        array = np.empty(len(self), dtype=dtype)
        array[:] = values
        return array

    def encode(self, values: Sequence[Any]) -> Array:
        """The point of the unit cube that stands for these (checked) values."""
        return np.concatenate(
            [p.encode(v) for p, v in zip(self.parameters, values, strict=True)]
        )

    def decode(self, point: Array) -> tuple[Any, ...]:
        """The legal values whose cell holds a point of the unit cube."""
        return tuple(
            p.decode(point[s])
            for p, s in zip(self.parameters, self.slices, strict=True)
        )

    def snap(self, points: Array) -> Array:
        """The encodings of the legal configs in whose cells the rows lie."""
        return np.hstack(
            [
                p.snap(points[:, s])
                for p, s in zip(self.parameters, self.slices, strict=True)
            ]
        )

    def every_point(self) -> Array:
        """The encodings of all configs, row by row; only if `n_configs` is finite."""
        if self.candidates is not None:
            return self.candidates.codes.copy()
        axes = [p.every_value() for p in self.parameters if not isinstance(p, Real)]
        return np.array([self.encode(values) for values in itertools.product(*axes)])

    def to_json(self) -> dict[str, Any]:
        """A JSON form."""
        return {
            "named": self.is_named,
            "parameters": [
                [name, parameter.to_json()]
                for name, parameter in zip(self.names, self.parameters, strict=True)
            ],
        }

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> Space:
        """The space of a JSON form."""
        named = {name: _from_json(item) for name, item in form["parameters"]}
        return cls(named if form["named"] else list(named.values()))


def _split(definition: Any) -> tuple[bool, tuple[str, ...], list[Any]]:
    if isinstance(definition, Mapping):
        for name in definition:
            if not isinstance(name, str) or not name:
                raise SpaceError(f"Parameter names are strings, but got {name!r}.")
        is_named, names = True, tuple(definition)
        items = list(definition.values())
    elif hasattr(definition, "__iter__") and not isinstance(definition, str):
        items = list(definition)
        is_named, names = False, tuple(f"x{i}" for i in range(len(items)))
    else:
        raise SpaceError(
            "A space is a list of (low, high) pairs or parameters, or a dict of name "
            f"to parameter, but got {definition!r}."
        )
    if not items:
        raise SpaceError("A space needs at least one parameter, but got none.")
    if any(isinstance(item, Candidates) for item in items):
        if is_named or len(items) > 1:
            raise SpaceError("Candidates stand alone: they are all parameters at once.")
        names = ("row",)
    return is_named, names, items


def _parameter(name: str, item: Any) -> Parameter:
    if isinstance(item, Real | Integer | Categorical | Candidates):
        return item
    try:
        low, high = item
    except (TypeError, ValueError):
        raise SpaceError(
            f"Parameter {name} must be a (low, high) pair, Real, Integer or "
            f"Categorical, but got {item!r}."
        ) from None
    try:
        return Real(low, high)
    except SpaceError as error:
        raise SpaceError(f"Parameter {name}: {error}") from None


_KINDS: dict[str, Any] = {
    "real": Real,
    "integer": Integer,
    "categorical": Categorical,
    "candidates": Candidates,
}


def _from_json(form: dict[str, Any]) -> Parameter:
    settings = {key: value for key, value in form.items() if key != "kind"}
    parameter: Parameter = _KINDS[form["kind"]](**settings)
    return parameter


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
