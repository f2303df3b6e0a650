"""Optuna's distributions ↔ parameters of a space.

A distribution with a step, and a categorical one, become whole numbers: the index of
the value. Those of one value only, and those that no parameter can hold, have no codec.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from wideopt.exceptions import SpaceError
from wideopt.space import Categorical, Integer, Parameter, Real

__all__ = ["Codec"]

_MAX_INTEGER = 2**40  # beyond, an integer is modeled as a real number and rounded


@dataclass(frozen=True)
class Codec:
    """A distribution and the parameter that stands for it; build it with `of`."""

    distribution: BaseDistribution
    parameter: Parameter

    @classmethod
    def of(cls, distribution: BaseDistribution) -> Codec | None:
        """The codec of a distribution, None if it cannot be modeled."""
        if distribution.single():
            return None
        try:
            return cls(distribution, _parameter(distribution))
        except SpaceError:
            return None

    def inner(self, value: Any) -> Any:
        """The parameter's value; a `ValueError` if it is not legal (any more)."""
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return int(d.to_internal_repr(value))
        if _is_stepped(d):
            value = (value - d.low) / d.step  # type: ignore[attr-defined]
            value = round(value) if abs(value - round(value)) < 1e-6 else value
        return self.parameter.check(value)

    def outer(self, value: Any) -> Any:
        """The value that Optuna's user sees."""
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return d.choices[value]
        if isinstance(d, IntDistribution):
            number = d.low + value * d.step if _is_stepped(d) else round(value)
            return int(min(max(number, d.low), d.high))
        assert isinstance(d, FloatDistribution)
        number = d.low + value * (d.step or 0.0) if _is_stepped(d) else value
        return float(min(max(number, d.low), d.high))


def _is_stepped(distribution: BaseDistribution) -> bool:
    """Whether the values are numbered from `low` up."""
    if isinstance(distribution, FloatDistribution):
        return distribution.step is not None
    if not isinstance(distribution, IntDistribution) or distribution.log:
        return False
    return distribution.high - distribution.low <= _MAX_INTEGER


def _parameter(d: BaseDistribution) -> Parameter:
    if isinstance(d, CategoricalDistribution):
        return Categorical(range(len(d.choices)))
    if _is_stepped(d):
        n_steps = (d.high - d.low) / d.step  # type: ignore[attr-defined]
        return Integer(0, round(n_steps))
    if isinstance(d, IntDistribution) and d.high <= _MAX_INTEGER:
        return Integer(d.low, d.high, log=d.log)
    if isinstance(d, IntDistribution | FloatDistribution):
        return Real(d.low, d.high, log=d.log)
    raise SpaceError(f"There is no parameter for the distribution {d!r}.")
