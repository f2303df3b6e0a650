"""Which parameters of a define-by-run objective appear, and on what that depends.

A *branch* is a set of parameters that came together in a trial. A parameter that is
missing in some branches depends on a discrete one, its switch, if the switch never had
the same value with it and without it. One for which no switch is found (it may depend
on a real number, or on chance) cannot be modeled.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    IntDistribution,
)

from wideopt.integrations._codec import Codec
from wideopt.space import Condition

__all__ = ["Branches"]

_MAX_VALUES = 64  # a switch has no more than these, else it is a quantity
_MAX_RANGES = 4  # a parameter whose range changed more often changes with each trial


class Branches:
    """What is known of the search space; `add` a trial's parameters to know more."""

    def __init__(self) -> None:
        self._ranges: dict[str, list[BaseDistribution]] = {}
        self._values: dict[frozenset[str], dict[str, set[int]]] = {}

    def add(
        self, params: Mapping[str, Any], ranges: Mapping[str, BaseDistribution]
    ) -> None:
        """Take note of a trial that ran to its end."""
        for name, distribution in ranges.items():
            known = self._ranges.setdefault(name, [])
            if distribution in known:
                known.remove(distribution)
            known.append(distribution)  # the latest is the one in force
        branch = self._values.setdefault(frozenset(params), {})
        for name, distribution in ranges.items():
            if _is_switch(distribution):
                value = int(distribution.to_internal_repr(params[name]))
                branch.setdefault(name, set()).add(value)

    def space(self) -> dict[str, BaseDistribution]:
        """The parameters that can be modeled together, by name."""
        found = {
            name: ranges[-1]
            for name, ranges in sorted(self._ranges.items())
            if len(ranges) <= _MAX_RANGES and Codec.of(ranges[-1]) is not None
        }
        known = self._always() | set(self.conditions(found))
        return {name: d for name, d in found.items() if name in known}

    def _always(self) -> set[str]:
        return set.intersection(*map(set, self._values)) if self._values else set()

    def conditions(self, space: Mapping[str, BaseDistribution]) -> dict[str, Condition]:
        """When the parameters that do not always appear do, if that is known."""
        found: dict[str, Condition] = {}
        above = [name for name in space if name in self._always()]
        waiting = [name for name in space if name not in self._always()]
        while above and waiting:  # level by level: a switch may have a switch itself
            level = {
                name: condition
                for name in waiting
                if (condition := self._condition(name, space, above))
            }
            found |= level
            above = list(level)
            waiting = [name for name in waiting if name not in found]
        return found

    def _condition(
        self, name: str, space: Mapping[str, BaseDistribution], switches: list[str]
    ) -> Condition | None:
        """The condition that explains a parameter with the fewest values."""
        found = []
        for switch in switches:
            off = self._off(name, switch)
            codec = Codec.of(space[switch])
            if off is not None and codec is not None:
                found.append((len(off), switch, _inner(codec, off)))
        if not found:
            return None
        _, switch, values = min(found, key=lambda item: item[:2])
        return Condition(switch, values)

    def _off(self, name: str, switch: str) -> set[int] | None:
        """Values of the switch without the parameter; None if it decides nothing."""
        on: set[int] = set()
        off: set[int] = set()
        for names, values in self._values.items():
            if name in names:
                if switch not in values:
                    return None
                on |= values[switch]
            else:
                off |= values.get(switch, set())
        return None if on & off else off


def _is_switch(distribution: BaseDistribution) -> bool:
    if isinstance(distribution, IntDistribution):
        n_values = (distribution.high - distribution.low) // distribution.step + 1
        return n_values <= _MAX_VALUES
    return isinstance(distribution, CategoricalDistribution)


def _inner(codec: Codec, values: set[int]) -> frozenset[Any]:
    """Values in Optuna's internal form as those of the parameter."""
    if isinstance(codec.distribution, CategoricalDistribution):
        return frozenset(values)
    found = set()
    for value in values:
        with suppress(ValueError):  # not in the range that is now in force
            found.add(codec.inner(value))
    return frozenset(found)
