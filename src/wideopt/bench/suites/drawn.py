"""A new problem for every seed, drawn by chance: one set for all would mislead.

A task is named GROUP--FAMILY-D: a family of `families`, in D dimensions, with 20 D
evaluations. Groups are `plain`; `noisy`, with noise of 10% of the function's deviation;
`calm`, with 1%; `batch`, four evaluations at a time; `mixed`, where of three parameters
one is real, one an integer, and one has four choices whose order tells nothing. No
figure of it is a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wideopt.bench.applications.generated import FAMILIES, fresh
from wideopt.bench.suite import Suite, register
from wideopt.bench.task import Noise, Scales, Task
from wideopt.space import Categorical, Integer, Real, Space

if TYPE_CHECKING:
    from wideopt.bench.run_data import Run

__all__ = ["SUITE"]

_NOISE = {"noisy": Noise("sd", 0.1), "calm": Noise("sd", 0.01)}
_GROUPS = ("plain", *_NOISE, "batch", "mixed")
_DIMS = (2, 3, 5, 8)
_STEPS = 12  # of an integer
_CHOICES = "abcd"


def _make(name: str, is_smoke: bool) -> Task:
    group, _, rest = name.partition("--")
    family, _, number = rest.partition("-")
    d = int(number)

    is_mixed = group == "mixed"

    def outputs_of(seed: int) -> Callable[[Any], tuple[float, Sequence[float]]]:
        f = fresh(family, d, seed)
        if not is_mixed:
            return lambda x: (float(f(x)), ())
        u_of = _coordinates(d, seed)
        return lambda x: (float(f(u_of(x))), ())

    return Task(
        name=name,
        space=_mixed(d) if is_mixed else Space([(0.0, 1.0)] * d),
        n_evals=8 if is_smoke else 20 * d,
        outputs=outputs_of(0),
        n_init=5 if is_smoke else None,
        scales=Scales((1.0,), (1.0,)),
        noise=_NOISE.get(group),
        outputs_of_seed=outputs_of,
        n_batch=4 if group == "batch" else 1,
    )


def _mixed(d: int) -> Space:
    kinds = (Real(0.0, 1.0), Categorical(tuple(_CHOICES)), Integer(0, _STEPS))
    return Space({f"x{i}": kinds[i % 3] for i in range(d)})


def _coordinates(d: int, seed: int) -> Callable[[Any], list[float]]:
    """Where a mixed config lies in the cube; each choice is a place drawn by chance."""
    rng = np.random.default_rng([seed, d])
    places = [rng.permutation(len(_CHOICES)) / (len(_CHOICES) - 1) for _ in range(d)]

    def u_of(x: Any) -> list[float]:
        values = x.values()
        return [
            float(places[i][_CHOICES.index(v)])
            if i % 3 == 1
            else v / _STEPS
            if i % 3 == 2
            else v
            for i, v in enumerate(values)
        ]

    return u_of


def _section(runs: Sequence[Run], folder: Path) -> str:
    from wideopt.bench.groups import groups_section

    return groups_section(runs, folder, "auto")


SUITE = register(
    Suite(
        name="drawn",
        title="another problem for every seed, on which our constants are chosen",
        full=tuple(
            f"{group}--{family}-{d}"
            for group in _GROUPS
            for d in _DIMS
            for family in FAMILIES
        ),
        smoke=(
            "plain--landscape-2",
            "noisy--valley-3",
            "batch--wells-2",
            "mixed--bowl-3",
        ),
        make=_make,
        methods=("auto", "turbo", "peer:optuna-gp", "random"),
        reference="auto",
        is_per_task=False,
        section=_section,
    )
)
