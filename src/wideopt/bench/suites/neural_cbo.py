"""The six constrained problems of Neural-CBO (000, section 5), with and without noise.

Noisy tasks: sd 5% of each output's sd, constraints included, as in the authors' code;
`--noise paper` gives the printed rule. 100 evaluations in 2-D, else 200.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wideopt.bench.suite import Suite, register
from wideopt.bench.task import NEURAL_CBO_CODE, Task, from_problem
from wideopt.problems import get

if TYPE_CHECKING:
    from wideopt.bench.run_data import Run

__all__ = ["SUITE"]

_PROBLEMS = (
    *("branin-disk", "simionescu", "gas-transmission"),
    *("ackley-constrained", "hartmann-ball", "speed-reducer"),
)


def _make(name: str, is_smoke: bool) -> Task:
    problem = get(name.removesuffix("-noisy"))
    n_evals = 100 if problem.dim == 2 else 200
    return from_problem(
        problem,
        n_evals=8 if is_smoke else n_evals,
        n_init=5 if is_smoke else None,
        noise=NEURAL_CBO_CODE if name.endswith("-noisy") else None,
        name=name,
    )


def _section(runs: Sequence[Run], folder: Path) -> str:
    from wideopt.bench.constrained import constrained_section

    return constrained_section(runs, folder)


SUITE = register(
    Suite(
        name="neural-cbo",
        title="six problems with unknown constraints, noise-free and noisy",
        full=(*_PROBLEMS, *(f"{name}-noisy" for name in _PROBLEMS)),
        smoke=("branin-disk", "simionescu-noisy", "hartmann-ball"),
        make=_make,
        methods=(
            *("neural-cbo", "neural-cbo[faithful=true]", "cei", "configopt", "ucb-c"),
            *("admmbo", "scbo", "peer:botorch-logei", "peer:optuna-tpe"),
            *("peer:optuna-gp", "peer:cma", "random"),
        ),
        reference="neural-cbo",
        section=_section,
    )
)
