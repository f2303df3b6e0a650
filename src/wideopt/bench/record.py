"""Records: one JSON file a run, written whole or not at all.

    results/SUITE/TASK/METHOD/SEED.json

A record holds what was run (`suite`, `task`, `method`, `options`, `seed`), with what
(`versions`, `commit`, `machine`), how it ended (`status`, `error`), what it cost
(`seconds`, `memory_mb`) and its `trajectory`, column by column: `x`; `y` and `c`, true;
`y_observed` and `c_observed`, as the method saw them; `ask_cpu`, `ask_wall`, `tell_cpu`
and `tell_wall`, in seconds. A value that is not finite is null. `messages` are what the
method said of a task with constraints, such as that no point looks feasible: each as
the number of evaluations it knew and the text, where the text changed.

While it runs, a run appends to a hidden journal beside its record, one line an
evaluation, so that a run that is stopped keeps what it has done.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wideopt.bench.contender import Contender
from wideopt.bench.task import Task

__all__ = [
    "COLUMNS",
    "Journal",
    "Record",
    "Status",
    "assemble",
    "fingerprint",
    "fingerprint_of",
    "is_settled",
    "load",
    "record_path",
    "save",
]

Record: TypeAlias = dict[str, Any]
Status: TypeAlias = Literal["complete", "failed", "timeout", "killed"]

FORMAT = 1
COLUMNS = (
    *("x", "y", "c", "y_observed", "c_observed"),
    *("ask_cpu", "ask_wall", "tell_cpu", "tell_wall"),
)


def fingerprint(contender: Contender, task: Task, seed: int) -> str:
    """A hash of all that defines a run; a record with another one is stale.

    The commit is not part of it: a report says which commits its records come from.
    """
    return _hashed(contender.label, task.to_json(), seed)


def fingerprint_of(record: Record) -> str:
    """The same of a record."""
    return _hashed(record["method"], record["task"], record["seed"])


def _hashed(label: str, task: dict[str, Any], seed: int) -> str:
    form = {"format": FORMAT, "method": label, "task": _rounded(task), "seed": seed}
    text = json.dumps(form, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    """The value with 10 digits: of ranges and deviations processors differ in 16."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return float(f"{value:.9e}") if isinstance(value, float) else value


def record_path(
    results: Path, suite: str, task: str, contender: Contender, seed: int
) -> Path:
    """Where the record of a run belongs."""
    return results / suite / task / contender.slug / f"{seed}.json"


def save(record: Record, path: Path) -> None:
    """Write a record so that a reader sees the old file or the new one, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            json.dump(_plain(record), stream, allow_nan=False)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: Path) -> Record | None:
    """The record of a file; None if there is none that can be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(record, dict) and record.get("format") == FORMAT
    return record if is_ours else None


def is_settled(record: Record | None, mark: str, max_seconds: float | None) -> bool:
    """Whether a run need not be made again.

    Complete runs of the same fingerprint are settled; so are runs out of time, unless
    they may now take longer. What failed is tried again.
    """
    if record is None or fingerprint_of(record) != mark:
        return False
    if record["status"] == "timeout":
        limit = record["max_seconds"] or 0.0
        return max_seconds is not None and max_seconds <= limit
    return bool(record["status"] == "complete")


class Journal:
    """The lines that a run leaves as it goes: a header, then one per evaluation."""

    def __init__(self, path: Path, header: Record) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("w", encoding="utf-8")
        self.add(header)

    def add(self, line: Record) -> None:
        """Append a line, at once."""
        self._stream.write(json.dumps(_plain(line), allow_nan=False) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Stop."""
        self._stream.close()

    @staticmethod
    def read(path: Path) -> tuple[Record, list[Record]] | None:
        """Header and evaluations; a torn last line is dropped. None without header."""
        try:
            texts = path.read_text(encoding="utf-8").split("\n")
        except OSError:
            return None
        lines = [json.loads(text) for text in texts[:-1]]  # a whole line ends in \n
        return (lines[0], lines[1:]) if lines else None


def assemble(
    header: Record, steps: list[Record], status: Status, error: str | None = None
) -> Record:
    """The record of a run, from its header and its evaluations."""
    return {
        **header,
        "status": status,
        "error": error,
        "n_done": len(steps),
        "seconds": {
            "cpu": sum(step["ask_cpu"] + step["tell_cpu"] for step in steps),
            "wall": sum(step["ask_wall"] + step["tell_wall"] for step in steps),
        },
        "memory_mb": {
            "baseline": header["memory_mb"]["baseline"],
            "peak": max((step["memory_mb"] for step in steps), default=None),
        },
        "messages": _messages(steps),
        "trajectory": {name: [step[name] for step in steps] for name in COLUMNS},
    }


def _messages(steps: list[Record]) -> list[list[Any]]:
    """Each message with the number of evaluations before it, where it changed."""
    texts = ["", *(step.get("message", "") for step in steps)]
    pairs = enumerate(pairwise(texts))
    return [[i, text] for i, (before, text) in pairs if text != before]


def _plain(value: Any) -> Any:
    """The value with what JSON cannot hold replaced by null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
