"""The six constrained problems of Neural-CBO (000, section 5), with and without noise.

Noisy tasks: sd 5% of each output's sd, constraints included, as in the authors' code;
`--noise paper` gives the printed rule. 100 evaluations in 2-D, else 200.
"""

from __future__ import annotations

from wideopt.bench.suite import Suite, register
from wideopt.bench.task import NEURAL_CBO_CODE, Task, from_problem
from wideopt.problems import get

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


SUITE = register(
    Suite(
        name="neural-cbo",
        title="six problems with unknown constraints, noise-free and noisy",
        full=(*_PROBLEMS, *(f"{name}-noisy" for name in _PROBLEMS)),
        smoke=("branin-disk", "simionescu-noisy", "hartmann-ball"),
        make=_make,
        methods=(
            *("neural-cbo", "neural-cbo[faithful=true]", "cei", "configopt", "ucb-c"),
            *("admmbo", "scbo", "gp-ei", "random", "peer:botorch-logei"),
            *("peer:optuna-tpe", "peer:optuna-gp", "peer:cma"),
        ),
        reference="neural-cbo",
    )
)
