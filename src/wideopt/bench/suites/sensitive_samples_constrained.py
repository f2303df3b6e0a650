"""Sensitive samples that look like digits (000, section 5.5), without noise.

A run minimizes the negative sensitivity over 7 x 7 images whose rating of realism is
0.5 or more. A learned score rates them; `constrained_task(realism=...)` takes another
reviewer, such as a function that shows the image to a person:

    run_one("neural-cbo", constrained_task(realism=ask_someone), seed=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wideopt.bench.suite import Suite, register
from wideopt.bench.suites import neural_cbo
from wideopt.bench.task import Task
from wideopt.space import Space

if TYPE_CHECKING:
    from wideopt.bench.applications.realism import Realism
    from wideopt.bench.run_data import Run

__all__ = ["SUITE", "constrained_task"]

_NAME = "mnist-7x7-realistic"


def constrained_task(
    realism: Realism | None = None, threshold: float = 0.5, *, n_evals: int = 200
) -> Task:
    """The task with a reviewer, who rates a 28 x 28 image from 0 to 1.

    Args:
        realism: the reviewer; by default the learned score.
        threshold: the least rating of an image that is good enough.
        n_evals: the budget.
    """
    from wideopt.bench.applications.realism import constrained_outputs
    from wideopt.bench.applications.sensitive_samples import SIDE

    return Task(
        name=_NAME,
        space=Space([(0.0, 1.0)] * SIDE**2),
        n_evals=n_evals,
        outputs=constrained_outputs(realism, threshold),
        n_constraints=1,
        n_init=5 if n_evals < 20 else None,
    )


def _make(name: str, is_smoke: bool) -> Task:
    assert name == _NAME
    return constrained_task(n_evals=8 if is_smoke else 200)


def _section(runs: Sequence[Run], folder: Path) -> str:
    from wideopt.bench.constrained import feasibility_section
    from wideopt.bench.detection import detection_section

    return f"{feasibility_section(runs)}\n\n{detection_section(runs, folder)}"


SUITE = register(
    Suite(
        name="sensitive-samples-constrained",
        title="images that reveal a tampered classifier and look like digits",
        full=(_NAME,),
        smoke=(_NAME,),
        make=_make,
        methods=neural_cbo.SUITE.methods,
        reference="neural-cbo",
        is_per_task=False,
        section=_section,
    )
)
