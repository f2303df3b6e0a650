"""Problems by name: "branin", or "ackley-10" where the dimension is free."""

from __future__ import annotations

import difflib
import operator
import re

from wideopt.exceptions import InputError
from wideopt.problems import _synthetic
from wideopt.problems._constrained import CONSTRAINED
from wideopt.problems._engineering import ENGINEERING
from wideopt.problems._problem import Problem
from wideopt.problems._synthetic import FAMILIES

__all__ = ["get", "names"]

FIXED = _synthetic.FIXED | CONSTRAINED | ENGINEERING


def names() -> dict[str, str]:
    """Every name with its title; "ackley-D" stands for "ackley-1", "ackley-2", ..."""
    titles = {f"{name}-D": family.title for name, family in FAMILIES.items()}
    titles |= {name: problem.title for name, problem in FIXED.items()}
    return dict(sorted(titles.items()))


def get(name: str, dim: int | None = None) -> Problem:
    """The problem of this name; `get("ackley-10")` equals `get("ackley", dim=10)`."""
    base, dim = _split(name, dim)
    full = base if dim is None else f"{base}-{dim}"
    if full in FIXED:
        return FIXED[full]
    if base in FIXED:
        raise InputError(
            f"Problem {base!r} has the dimension {FIXED[base].dim}, not {dim}."
        )
    if base not in FAMILIES:
        raise InputError(f"There is no problem {name!r}; {_advice(base, dim)}")
    if dim is None:
        raise InputError(
            f"Problem {base!r} needs a dimension; write '{base}-10' for ten."
        )
    return FAMILIES[base].problem(dim)


def _split(name: str, dim: int | None) -> tuple[str, int | None]:
    """The name without its dimension, and the dimension if either states it."""
    key = name.lower().replace("_", "-")
    if dim is not None:
        try:
            dim = operator.index(dim)
        except TypeError as error:
            raise InputError(f"A dimension is an integer, but got {dim!r}.") from error
    match = re.fullmatch(r"(.+)-(\d+|d)", key)
    if match is None:
        return _without_own_dim(key, dim)
    base, suffix = match.groups()
    if suffix == "d":
        return base, dim
    if dim not in (None, int(suffix)):
        raise InputError(f"The name {name!r} and dim={dim} contradict each other.")
    return _without_own_dim(base, int(suffix))


def _without_own_dim(base: str, dim: int | None) -> tuple[str, int | None]:
    """Drop a dimension that only repeats the one of a fixed problem."""
    is_repeated = base in FIXED and FIXED[base].dim == dim
    return base, None if is_repeated else dim


def _advice(base: str, dim: int | None) -> str:
    """What to write instead of an unknown name."""
    query, suffix = (base, "D") if dim is None else (f"{base}-{dim}", str(dim))
    known = [f"{family}-{suffix}" for family in FAMILIES] + list(FIXED)
    nearest = difflib.get_close_matches(query, known)
    if not nearest:
        return "wideopt.problems.names() lists them all."
    return "did you mean " + " or ".join(repr(near) for near in nearest) + "?"
