"""Rounds: signals out, messages in, until enough; the coordinator's journal.

The coordinator writes each signal down before anyone hears it. Made again from its
journal, it sends the last one again, and agents answer as they did.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Literal

from wideopt.exceptions import InputError
from wideopt.multiagent.journal import Journal
from wideopt.multiagent.lines import Direct, Line
from wideopt.multiagent.messages import (
    Message,
    Party,
    Rule,
    Signal,
    message_of,
    plain,
    signal_of,
)

__all__ = ["Round", "run_rounds"]


@dataclass(frozen=True)
class Round:
    """What a coordinator knows of a round: what callbacks are given.

    Attributes:
        t: which one, from 1.
        signal: what all agents were told.
        messages: what each of them said.
        is_late: whether each of them was late, so that its last message stands.
    """

    t: int
    signal: Signal
    messages: list[Message]
    is_late: list[bool]


def run_rounds(
    parties: Sequence[Party | Line],
    coordinator: Rule,
    n_rounds: int | None,
    *,
    storage: str | Path | None = None,
    callbacks: Sequence[Callable[[Round], Any]] = (),
    timeout: float | None = None,
    on_slow: Literal["wait", "reuse"] = "wait",
    slow_after: float = 60.0,
) -> list[Signal]:
    """The signals before each round and after the last.

    All that passes between a party and the rest are `choose`, from a signal to a
    message, and `evaluate`, which takes and gives nothing.

    Args:
        parties: sites, proxies of sites elsewhere, or lines.
        coordinator: from messages to the next signal.
        n_rounds: how many, those of a journal included; None to go on until a callback
            or the timeout says stop.
        storage: folder of the coordinator's journal, `coordinator.jsonl`.
        callbacks: called with each `Round`; one that returns True ends the run.
        timeout: seconds after which no round is begun.
        on_slow: whether an agent that takes longer than `slow_after` is waited for, or
            its last message used again until it is done.
        slow_after: seconds.
    """
    _check(n_rounds, callbacks, timeout, slow_after)
    lines = [p if isinstance(p, Line) else Direct(p) for p in parties]
    log = _Log(coordinator, len(lines), storage)
    crew = _Crew(lines, log.messages, slow_after if on_slow == "reuse" else None)
    end = math.inf if timeout is None else time.monotonic() + timeout
    limit = math.inf if n_rounds is None else n_rounds
    try:
        while len(log.signals) <= limit and time.monotonic() < end:
            messages, is_late = crew.turn(log.signals[-1])
            log.add(coordinator.update(log.signals[-1], messages), messages)
            t = len(log.signals) - 1
            made = Round(t, log.signals[-2], messages, is_late)
            # Every callback is called, even if an earlier one wants to stop.
            if any([call(made) is True for call in callbacks]):  # noqa: C419
                break
    except KeyboardInterrupt:
        pass  # with the rounds that are whole
    crew.settle()
    return log.signals


class _Crew:
    """All lines, and who is still busy."""

    def __init__(
        self,
        lines: Sequence[Line],
        messages: list[Message | None],
        patience: float | None,
    ) -> None:
        self._lines, self._patience = lines, patience
        self._last = messages
        self._busy: dict[int, Future[Message]] = {}

    def turn(self, signal: Signal) -> tuple[list[Message], list[bool]]:
        """The message of each agent, and whether it is an old one."""
        for i, line in enumerate(self._lines):
            if i not in self._busy:
                self._busy[i] = line.turn(signal)
        wait(self._busy.values(), timeout=self._patience)
        # Of whom nothing was ever heard, nothing can be used again.
        wait([f for i, f in self._busy.items() if self._last[i] is None])
        for i in [i for i, future in self._busy.items() if future.done()]:
            self._last[i] = self._busy.pop(i).result()
        known = [message for message in self._last if message is not None]
        return known, [i in self._busy for i in range(len(self._lines))]

    def settle(self) -> None:
        """Wait for everyone, and have the last choices evaluated."""
        wait(self._busy.values())
        for future in [line.settle() for line in self._lines]:
            future.result()


class _Log:
    """The signals so far, on the disk if a folder is given."""

    def __init__(self, rule: Rule, n_agents: int, folder: str | Path | None) -> None:
        self.signals: list[Signal] = [rule.first()]
        self.messages: list[Message | None] = [None] * n_agents
        self._journal = None
        if folder is None:
            return
        header = {
            "format": "wideopt coordinator journal",
            "n_agents": n_agents,
            "rule": type(rule).__name__,
            **_settings(rule),
        }
        self._journal = Journal(Path(folder) / "coordinator.jsonl", header)
        for record in self._journal.records:
            self.signals.append(signal_of(record["signal"]))
            self.messages = [message_of(form) for form in record["messages"]]

    def add(self, signal: Signal, messages: list[Message]) -> None:
        """Keep a signal, and the messages that it came from."""
        if self._journal is not None:
            said = [plain(message) for message in messages]
            self._journal.add({"signal": plain(signal), "messages": said})
        self.signals.append(signal)


def _settings(rule: Rule) -> dict[str, Any]:
    form: Any = rule
    if not is_dataclass(form):
        return {}  # one of the user's own: its name has to do
    settings: dict[str, Any] = json.loads(json.dumps(asdict(form)))  # type: ignore[arg-type]
    return settings


def _check(
    n_rounds: int | None,
    callbacks: Sequence[Any],
    timeout: float | None,
    slow_after: float,
) -> None:
    if n_rounds is None and timeout is None and not callbacks:
        raise InputError(
            "n_rounds=None needs something that ends the run: a timeout, or a callback "
            "that returns True."
        )
    if n_rounds is not None and n_rounds < 1:
        raise InputError(f"n_rounds must be at least 1, but got {n_rounds}.")
    for name, value in (("timeout", timeout), ("slow_after", slow_after)):
        if value is not None and not value >= 0:
            raise InputError(f"{name} must be at least 0, but got {value}.")
    for call in callbacks:
        if not callable(call):
            raise InputError(f"A callback must be a function, but got {call!r}.")
