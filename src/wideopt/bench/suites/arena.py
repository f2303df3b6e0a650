"""The arena: `auto` against peers in their defaults, in six groups of problems.

A task is named GROUP--PROBLEM:

- `constrained`: the six problems of Neural-CBO and nine designs of engineers, 100
  evaluations in 2-D, else 200;
- `bbob`: COCO's 24 functions in 2, 5 and 10 dimensions, 20 d evaluations;
- `noisy`: six functions with noise of 1% and of 10% of their standard deviation;
- `mixed`: hyper-parameters of three classifiers on three data sets, real, integer and
  categorical together;
- `large`: 20 to 100 dimensions, 200 to 1,000 evaluations;
- `batch`: four evaluations at a time.

The six problems of Neural-CBO and the tuning tasks are shared with the suites
`neural-cbo` and `go-ucb`: a run recorded there counts here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wideopt.bench.applications.tuning import CLASSIFIERS, DATA_SETS
from wideopt.bench.suite import Suite, Twin, get, register
from wideopt.bench.task import Noise, Task, from_problem
from wideopt.problems import get as get_problem

if TYPE_CHECKING:
    from wideopt.bench.run_data import Run

__all__ = ["GROUPS", "SUITE"]

_PAPER = (
    *("branin-disk", "simionescu", "gas-transmission", "ackley-constrained"),
    *("hartmann-ball", "speed-reducer"),
)
_DESIGNS = (
    *("pressure-vessel", "welded-beam", "tension-spring", "three-bar-truss"),
    *("cantilever-beam", "tubular-column", "himmelblau", "car-side-impact", "i-beam"),
)
_PLAIN = ("branin", "hartmann-6", "ackley-5", "levy-6", "rosenbrock-4", "griewank-10")
_LARGE = {
    "ackley-20": 200,
    "levy-20": 200,
    "styblinski-tang-20": 200,
    "rosenbrock-50": 500,
    "ackley-100": 1000,
}
_TUNING = tuple(f"{name}-{data}" for data in DATA_SETS for name in CLASSIFIERS)

GROUPS = {
    "constrained": _PAPER + _DESIGNS,
    "bbob": tuple(f"f{f:02}-d{d:02}-i1" for d in (2, 5, 10) for f in range(1, 25)),
    "noisy": tuple(f"{name}-{share}" for name in _PLAIN for share in ("1%", "10%")),
    "mixed": _TUNING,
    "large": tuple(_LARGE),
    "batch": _PLAIN,
}


def _make(name: str, is_smoke: bool) -> Task:
    group, _, problem = name.partition("--")
    task = _task(group, problem)
    if is_smoke:
        task = replace(task, n_evals=8, n_init=4)
    return replace(task, name=name)


def _task(group: str, name: str) -> Task:
    if group == "bbob":
        return get("coco").task(name)
    if group == "mixed":
        return get("go-ucb").task(f"{name}-mixed")
    if group == "large":
        return from_problem(get_problem(name), n_evals=_LARGE[name])
    if group == "noisy":
        base, _, share = name.rpartition("-")
        noise = Noise("sd", float(share.rstrip("%")) / 100)
        problem = get_problem(base)
        return from_problem(problem, n_evals=20 * problem.dim, noise=noise)
    problem = get_problem(name)
    if group == "batch":
        return replace(from_problem(problem, n_evals=20 * problem.dim), n_batch=4)
    return from_problem(problem, n_evals=100 if problem.dim == 2 else 200)


def _twin(name: str, method: str) -> Twin | None:
    """The runs of other suites; `auto` is `neural-cbo` where there are constraints."""
    group, _, problem = name.partition("--")
    if group == "constrained" and problem in _PAPER:
        return Twin("neural-cbo", problem, "neural-cbo" if method == "auto" else method)
    if group == "mixed":
        return Twin("go-ucb", f"{problem}-mixed", method)
    return None


def _section(runs: Sequence[Run], folder: Path) -> str:
    from wideopt.bench.groups import groups_section

    return groups_section(runs, folder, "auto")


SUITE = register(
    Suite(
        name="arena",
        title="auto against peers in six groups of problems",
        full=tuple(f"{g}--{name}" for g, names in GROUPS.items() for name in names),
        smoke=(
            *("constrained--three-bar-truss", "noisy--branin-10%", "batch--branin"),
            *("bbob--f01-d02-i1", "large--levy-20"),
        ),
        make=_make,
        methods=(
            *("auto", "turbo", "scbo", "peer:botorch-logei", "peer:botorch-qlognei"),
            *("peer:optuna-tpe", "peer:optuna-gp", "peer:smac", "peer:hebo"),
            *("peer:cma", "random"),
        ),
        reference="auto",
        is_per_task=False,
        section=_section,
        twin=_twin,
    )
)
