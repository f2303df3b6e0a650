"""BBOB through COCO (004, figure 2): 24 noiseless functions, 20 · d evaluations.

An instance moves the optimum, so one seed per instance is the custom. The metric is
the fraction of (function, instance, target) triples solved; `wideopt.bench.targets`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from wideopt.bench.suite import Suite, register
from wideopt.bench.targets import coco_section
from wideopt.bench.task import Task
from wideopt.exceptions import WideoptError
from wideopt.space import Space

__all__ = ["SUITE"]

_DIMS = (2, 3, 5, 10)
_INSTANCES = (1, 2, 3, 4, 5)


def _make(name: str, is_smoke: bool) -> Task:
    match = re.fullmatch(r"f(\d+)-d(\d+)-i(\d+)", name)
    assert match is not None  # the suite checks names against its list
    function, dim, instance = map(int, match.groups())
    try:
        import cocoex  # type: ignore[import-untyped]
    except ImportError:
        raise WideoptError(
            "Suite coco needs the package coco-experiment: "
            'pip install "wideopt[bench]".'
        ) from None
    problem = cocoex.BareProblem("bbob", function, dim, instance)

    def outputs(x: Any) -> tuple[float, Sequence[float]]:
        return problem(x), ()

    return Task(
        name=name,
        space=Space([(-5.0, 5.0)] * dim),
        n_evals=8 if is_smoke else 20 * dim,
        outputs=outputs,
        optimum=problem.best_value(),
        n_init=5 if is_smoke else None,
    )


SUITE = register(
    Suite(
        name="coco",
        title="BBOB, 24 functions in 2 to 10 dimensions, 5 instances (NeuralBO)",
        full=tuple(
            f"f{f:02}-d{d:02}-i{i}"
            for d in _DIMS
            for f in range(1, 25)
            for i in _INSTANCES
        ),
        smoke=("f01-d02-i1", "f08-d02-i1", "f15-d03-i1"),
        make=_make,
        methods=("neural-bo", "auto", "random", "gp-ei", "peer:cma"),
        reference="neural-bo",
        n_seeds=1,
        is_per_task=False,
        section=coco_section,
    )
)
