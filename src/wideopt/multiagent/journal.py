"""A journal: an append-only file of JSON lines, on the disk before anything goes on.

The first line says what the file is and for whom. A line that a crash has cut short has
never been reported to anyone: it is left out, and the next line takes its place. A file
that is something else is never written to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from wideopt.exceptions import StorageError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such locks
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal", "MovedError", "alone"]

Record: TypeAlias = "dict[str, Any]"


class MovedError(StorageError):
    """Someone else has written to the journal since it was read; read it again."""


class Journal:
    """The records of one agent, or of a coordinator.

    Args:
        path: of the file; it is made, with its folder, if there is none.
        header: what the first line says, and must say if there is one.

    Raises:
        StorageError: the file is something else, or of another run, or damaged.
    """

    def __init__(self, path: Path, header: Record) -> None:
        self.path = path
        self.records: list[Record] = []
        first = _line(header)
        data = _bytes_of(path)
        self._size = self._torn = 0
        if not data.endswith(b"\n") and first.startswith(data):
            self._torn = len(data)  # nothing, or a header that was cut short
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(first, is_synced=True)
            _sync_folder(path.parent)
            return
        lines = data.split(b"\n")
        self._torn = len(lines.pop())
        self._size = len(data) - self._torn
        _check_header(path, lines[0] if lines else b"", header)
        self.records = [_parsed(path, i, line) for i, line in enumerate(lines)][1:]

    @staticmethod
    def header_of(path: Path, kind: str) -> Record:
        """The first line of a journal of some format."""
        return _header(path, _bytes_of(path).split(b"\n")[0], kind)

    @property
    def is_current(self) -> bool:
        """Whether nobody else has written to the file."""
        return self.path.exists() and self.path.stat().st_size in (
            self._size,
            self._size + self._torn,
        )

    def add(self, record: Record, *, is_synced: bool = True) -> None:
        """Append a record; it is on the disk when this returns.

        Args:
            record: JSON all through.
            is_synced: if not, it outlives this process but not the machine.

        Raises:
            MovedError: someone else has written meanwhile.
        """
        self._write(_line(record), is_synced=is_synced)
        self.records.append(record)

    def _write(self, line: bytes, *, is_synced: bool) -> None:
        with _locked(self.path) as file:
            size = os.fstat(file).st_size
            if size not in (self._size, self._size + self._torn):
                raise MovedError(
                    f"{self.path} has {size} bytes where {self._size} were expected: "
                    "another process writes to it. Let one of them end."
                )
            os.ftruncate(file, self._size)
            os.lseek(file, self._size, os.SEEK_SET)
            os.write(file, line)
            if is_synced:
                os.fsync(file)
        self._size, self._torn = self._size + len(line), 0


@contextmanager
def alone(path: Path | None) -> Iterator[None]:
    """Wait until no other process works on a journal, and keep others waiting.

    The lock is of this process, not of its threads, and ends with it, however that
    ends: children that a user's function has left behind do not hold it.
    """
    if path is None or fcntl is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _line(record: Record) -> bytes:
    return json.dumps(record, allow_nan=False, default=str).encode() + b"\n"


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error}.") from None


def _parsed(path: Path, i: int, line: bytes) -> Record:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise StorageError(
            f"Line {i + 1} of {path} is damaged; what stands before it is sound. Cut "
            "the file there to go on from that point, or name another folder."
        )
    return record


def _header(path: Path, line: bytes, kind: str) -> Record:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != kind:
        raise StorageError(
            f"{path} is not a {kind}; nothing was written. Name another folder."
        )
    return found


def _check_header(path: Path, line: bytes, header: Record) -> None:
    found = _header(path, line, header["format"])
    wanted = json.loads(_line(header))
    other = [k for k in {**wanted, **found} if wanted.get(k) != found.get(k)]
    if other:
        texts = [f"{k} {found.get(k)!r}, not {wanted.get(k)!r}" for k in other]
        raise StorageError(
            f"{path} is of another run: it has {'; '.join(texts)}. Give the same "
            "again, or name another folder."
        )


def _sync_folder(folder: Path) -> None:
    """A new file is only safe once the folder knows it."""
    if os.name != "posix":
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
