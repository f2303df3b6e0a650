"""All that agents and coordinator tell each other: plain numbers, JSON all through.

An agent sends a `Message` each round and nothing else. The coordinator answers all
agents alike with a signal, whose kind says what the agents do with it: `Prices`
(DMABO), `Totals` (DCEI) or `Residual` (the ADMM penalty heuristic).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

__all__ = [
    "Message",
    "Party",
    "Prices",
    "Residual",
    "Rule",
    "Signal",
    "Totals",
    "Vector",
    "message_of",
    "plain",
    "signal_of",
]

Vector: TypeAlias = "tuple[float, ...]"


@dataclass(frozen=True)
class Message:
    """What leaves an agent.

    Attributes:
        Ax: A_i x_i, its share of the affine constraints; empty if it has none.
        g: its lower confidence bounds of the black-box constraints at x_i, zero for
            those in which it has no part; with DCEI the posterior means. Estimates from
            before the evaluation, never its outcome.
    """

    Ax: Vector
    g: Vector


@dataclass(frozen=True)
class Prices:
    """The prices λ and μ of DMABO before round t, and their scale η."""

    lam: Vector
    mu: Vector
    eta: float
    t: int = 1


@dataclass(frozen=True)
class Totals:
    """Sums over all agents, for DCEI: of the constraints in the round before t."""

    g: Vector
    t: int = 1


@dataclass(frozen=True)
class Residual:
    """Of exchange ADMM, before round t: the mean residual r̄, its sum u, penalty ρ."""

    r: Vector
    u: Vector
    penalty: float
    t: int = 1


Signal: TypeAlias = "Prices | Totals | Residual"

_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Prices, Totals, Residual)}


def plain(said: Message | Signal) -> dict[str, Any]:
    """A JSON form; floats are exact in it. That of a signal names its kind."""
    kind = {} if isinstance(said, Message) else {"kind": type(said).__name__}
    return {**kind, **_with_lists(asdict(said))}


def message_of(form: dict[str, Any]) -> Message:
    """The message of a JSON form."""
    return Message(**_with_tuples(form))


def signal_of(form: dict[str, Any]) -> Signal:
    """The signal of a JSON form."""
    fields = _with_tuples(form)
    signal: Signal = _KINDS[fields.pop("kind")](**fields)
    return signal


def _with_lists(fields: dict[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}


def _with_tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}


@runtime_checkable
class Party(Protocol):
    """Who takes part in rounds: an agent at work, or a proxy of one elsewhere."""

    def choose(self, signal: Signal) -> Message:
        """Choose the point of round signal.t, and say no more of it than a message."""
        ...

    def evaluate(self) -> None:
        """Evaluate the chosen point; the outcome stays with the agent."""
        ...


@runtime_checkable
class Rule(Protocol):
    """How a coordinator turns messages into the next signal. It holds no state."""

    def first(self) -> Signal:
        """The signal of the first round."""
        ...

    def update(self, signal: Signal, messages: Sequence[Message]) -> Signal:
        """The next signal."""
        ...
