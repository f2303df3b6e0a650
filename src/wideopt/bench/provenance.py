"""Where and with what a run was made: versions, commit, machine, memory."""

from __future__ import annotations

import functools
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["THREADS", "commit", "machine", "peak_memory_mb", "versions"]

THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)

_PACKAGES = ("wideopt", "torch", "gpytorch", "botorch", "numpy", "scipy")


def versions(extra: str | None = None) -> dict[str, str]:
    """Versions of Python and of the packages that matter; absent ones are left out."""
    found = {"python": platform.python_version()}
    for package in (*_PACKAGES, *([extra] if extra else [])):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@functools.cache
def commit() -> dict[str, Any] | None:
    """Commit of the source tree and whether it has changes; None if not run from one.

    A package installed within some other repository's tree is not that repository.
    """
    source = Path(__file__).resolve().parents[1]
    try:
        root = Path(_git(source, "rev-parse", "--show-toplevel"))
        if root / "src" / "wideopt" != source:
            return None
        changes = _git(source, "status", "--porcelain", "--", str(source))
        return {
            "id": _git(source, "rev-parse", "HEAD"),
            "is_dirty": bool(changes),
        }
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *args: str) -> str:
    done = subprocess.run(
        # status would otherwise refresh the index, a write
        ["git", "--no-optional-locks", "-C", str(folder), *args],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    """Processor, its count and the threads that a run may use."""
    return {
        "cpu": _cpu_model(),
        "n_cpus": os.cpu_count(),
        "system": platform.platform(),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or None,
    }


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match.group(1) if match else platform.processor()


def peak_memory_mb() -> float:
    """The most memory that this process has held, in MB.

    On Linux from VmHWM: `ru_maxrss` of a child starts with the memory of its parent.
    """
    try:
        text = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        text = ""
    match = re.search(r"^VmHWM:\s*(\d+) kB$", text, re.MULTILINE)
    if match:
        return int(match.group(1)) / 1024
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)
