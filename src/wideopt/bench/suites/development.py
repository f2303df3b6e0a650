"""Where constants of ours are chosen: problems drawn by chance, see `generated`.

60 evaluations in 2-D and 3-D, 100 beyond; 40 in fields of steady heat, whose equation
is known; 72 for hyper-parameters of classifiers, on data that no other suite has. No
figure of it is a claim.
"""

from __future__ import annotations

from dataclasses import replace

from wideopt.bench.applications.generated import NAMES, generated
from wideopt.bench.applications.heat import drawn
from wideopt.bench.suite import Suite, register
from wideopt.bench.suites.go_ucb import tuning_task
from wideopt.bench.suites.pinn_bo import field_task
from wideopt.bench.task import NEURAL_CBO_CODE, Task, from_problem

__all__ = ["SUITE"]


_NOISY = (
    *("posynomial-0-noisy", "wells-0-noisy", "wells-1-noisy", "wells-2-noisy"),
    *("ripples-3-noisy", "ripples-5-noisy", "ripples-6-noisy"),
    *("funnel-0-noisy", "funnel-1-noisy", "funnel-2-noisy"),
)
_FIELDS = tuple(f"field-{i}" for i in range(8))
_TUNING = (
    *("forest-heart-mixed", "boosting-heart-mixed", "mlp-heart-mixed"),
    *("forest-sonar-mixed", "boosting-sonar-mixed"),
    *("forest-heart-box", "boosting-sonar-box"),
)


def _make(name: str, is_smoke: bool) -> Task:
    if name in _TUNING:
        return tuning_task(name, is_smoke)
    if name in _FIELDS:
        task = field_task(name, drawn(int(name[-1])))
        return replace(task, n_evals=8, n_init=5) if is_smoke else task
    problem = generated(name.removesuffix("-noisy"))
    n_evals = 60 if problem.dim <= 3 else 100
    return from_problem(
        problem,
        n_evals=8 if is_smoke else n_evals,
        n_init=5 if is_smoke else None,
        noise=NEURAL_CBO_CODE if name.endswith("-noisy") else None,
        name=name,
    )


SUITE = register(
    Suite(
        name="development",
        title="problems drawn by chance, on which our constants are chosen",
        full=(*NAMES, *_NOISY, *_FIELDS, *_TUNING),
        smoke=("posynomial-1", "wells-0", "landscape-0"),
        make=_make,
        methods=("auto", "peer:optuna-gp", "peer:botorch-logei", "random"),
        reference="auto",
    )
)
