"""Test problems of the papers, with box, constraints and known optimum.

`get("branin")` or `get("ackley-10")` gives a `Problem`, `names()` lists them, `Noisy`
adds noise. Everything is minimized and a constraint is satisfied if c <= 0.
"""

from __future__ import annotations

from wideopt.problems._problem import Noisy, Problem
from wideopt.problems._registry import get, names

__all__ = ["Noisy", "Problem", "get", "names"]
