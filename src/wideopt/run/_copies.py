"""Which of the processes that share a study are alive.

Optuna's heartbeat does not reach trials that are asked and told, so this is our own.
Every run is a *copy*, with a token; study attribute `wideopt:copy:TOKEN` says where it
runs, and when it last gave a sign of life, as a thread does every few seconds. On its
own machine a copy is alive iff its process exists. On another one it is dead if it gave
no sign for a while, by our own clock if the clocks of the machines agree, and by what
we watched ourselves if not.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from optuna.storages import BaseStorage, InMemoryStorage

__all__ = ["Copies"]

_KEY = "wideopt:copy:"
_INTERVAL = 10.0  # seconds between signs of life
_SILENCE = 60.0  # watched for so long without one: dead
_AGE = 600.0  # a sign this old: dead at once, whatever the clocks are


class Copies:
    """This copy, which shows that it lives, and what it knows of the others."""

    def __init__(self, storage: BaseStorage, study_id: int) -> None:
        self.token = secrets.token_hex(6)
        self._storage, self._study_id = storage, study_id
        self._is_shared = not isinstance(storage, InMemoryStorage)
        self._watched: dict[str, tuple[float, float]] = {}  # sign, and when first seen
        self._is_over = threading.Event()
        self._card = {
            "machine": _machine(),
            "pid": os.getpid(),
            "start": _start_of(os.getpid()),
        }

    def enter(self) -> None:
        """Give signs of life from now on."""
        if self._is_shared:
            self._sign()
            threading.Thread(target=self._beat, daemon=True).start()

    def leave(self) -> None:
        """Say that this copy ended by itself: what it left undone did not kill it."""
        self._is_over.set()
        if self._is_shared:
            with suppress(Exception):  # a storage that is gone has its own error
                self._sign(ended=True)

    def _beat(self) -> None:
        while not self._is_over.wait(_INTERVAL):
            with suppress(Exception):  # the next sign will do
                self._sign()

    def _sign(self, **more: Any) -> None:
        card = {**self._card, "sign": time.time(), **more}
        self._storage.set_study_user_attr(self._study_id, _KEY + self.token, card)

    def cards(self) -> dict[str, dict[str, Any]]:
        """What the other copies say of themselves, by token."""
        if not self._is_shared:
            return {}
        attrs = self._storage.get_study_user_attrs(self._study_id)
        cards = {
            k.removeprefix(_KEY): v for k, v in attrs.items() if k.startswith(_KEY)
        }
        return {token: card for token, card in cards.items() if token != self.token}

    def alive(self) -> set[str]:
        """The tokens of the other copies that are alive."""
        return {
            token for token, card in self.cards().items() if self._lives(token, card)
        }

    def ended(self) -> set[str]:
        """The tokens of the other copies that ended by themselves."""
        return {token for token, card in self.cards().items() if card.get("ended")}

    def _lives(self, token: str, card: dict[str, Any]) -> bool:
        if card.get("ended"):
            return False
        if card["machine"] == self._card["machine"]:
            return _exists(card["pid"]) and card["start"] == _start_of(card["pid"])
        if time.time() - card["sign"] > _AGE:
            return False
        sign, since = self._watched.get(token, (None, 0.0))
        if sign != card["sign"]:
            self._watched[token] = (card["sign"], time.monotonic())
            return True
        return time.monotonic() - since < _SILENCE


def _machine() -> str:
    """A name for this machine since it was started, and for this set of processes."""
    parts = [socket.gethostname(), f"{uuid.getnode():x}"]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return " ".join(parts)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return _state_of(pid) != "Z"


def _stat(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _state_of(pid: int) -> str:
    return next(iter(_stat(pid)), "")


def _start_of(pid: int) -> str:
    """When a process began, so that a later one with its number is not taken for it."""
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else ""
