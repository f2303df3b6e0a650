"""Where constants of ours are chosen: problems drawn by chance, see `generated`.

60 evaluations in 2-D and 3-D, 100 beyond. No figure of it is a claim.
"""

from __future__ import annotations

from wideopt.bench.applications.generated import NAMES, generated
from wideopt.bench.suite import Suite, register
from wideopt.bench.task import Task, from_problem

__all__ = ["SUITE"]


def _make(name: str, is_smoke: bool) -> Task:
    problem = generated(name)
    n_evals = 60 if problem.dim <= 3 else 100
    return from_problem(
        problem, n_evals=8 if is_smoke else n_evals, n_init=5 if is_smoke else None
    )


SUITE = register(
    Suite(
        name="development",
        title="problems drawn by chance, on which our constants are chosen",
        full=NAMES,
        smoke=("posynomial-1", "wells-0", "landscape-0"),
        make=_make,
        methods=("auto", "peer:optuna-gp", "peer:botorch-logei", "random"),
        reference="auto",
    )
)
