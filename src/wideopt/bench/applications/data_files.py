"""Where files of data are: `benchmarks/data` of the repository, or $WIDEOPT_DATA.

They are no part of the installed package.
"""

from __future__ import annotations

import os
from pathlib import Path

from wideopt.exceptions import WideoptError

__all__ = ["data_file"]

_FOLDER = Path(__file__).resolve().parents[4] / "benchmarks" / "data"


def data_file(name: str, origin: str) -> Path:
    """The path of a file of data; `origin` tells who has none where to get it."""
    path = Path(os.environ.get("WIDEOPT_DATA") or _FOLDER) / name
    if not path.is_file():
        raise WideoptError(
            f"There is no file {path}: {origin}. Put it there, or set WIDEOPT_DATA to "
            "the folder that has it."
        )
    return path
