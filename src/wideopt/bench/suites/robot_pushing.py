"""Robot pushing with 14 parameters (004, section 7.2.3), without noise.

`push-0` has the published goals, the others have goals of their own. 500 evaluations,
where the paper has 6,000, which `robot-pushing-long` has too; 15 of them initial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wideopt.bench.applications.robot_pushing import instance, reward, space
from wideopt.bench.suite import Suite, register
from wideopt.bench.suites import neural_bo_synthetic
from wideopt.bench.task import Task

__all__ = ["LONG", "SUITE"]


def _task(name: str, is_smoke: bool, n_evals: int) -> Task:
    goals = instance(int(name.removeprefix("push-"))).goals

    def outputs(x: Any) -> tuple[float, Sequence[float]]:
        return -reward(goals, x), ()

    return Task(
        name=name,
        space=space(),
        n_evals=8 if is_smoke else n_evals,
        outputs=outputs,
        n_init=5 if is_smoke else 15,
    )


def _make(name: str, is_smoke: bool) -> Task:
    return _task(name, is_smoke, n_evals=500)


def _make_long(name: str, is_smoke: bool) -> Task:
    return _task(name, is_smoke, n_evals=6000)


SUITE = register(
    Suite(
        name="robot-pushing",
        title="two hands push two objects to goals, 14 parameters (NeuralBO)",
        full=("push-0", "push-1", "push-2"),
        smoke=("push-0", "push-1"),
        make=_make,
        methods=neural_bo_synthetic.SUITE.methods,
        reference="neural-bo",
    )
)

LONG = register(
    Suite(
        name="robot-pushing-long",
        title="the same, published goals, 6,000 evaluations as in the paper",
        full=("push-0",),
        smoke=("push-0",),
        make=_make_long,
        methods=("neural-bo", "neural-greedy", "turbo", "random"),
        reference="neural-bo",
    )
)
