"""Sensitive samples for a classifier of digits (004, section 7.2.1), without noise.

A run minimizes the negative sensitivity over 7 x 7 images. The report adds the paper's
figure: the share of 1,000 tampered classifiers that samples detect.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wideopt.bench.suite import Suite, register
from wideopt.bench.suites import neural_bo_synthetic
from wideopt.bench.task import Task
from wideopt.space import Space

if TYPE_CHECKING:
    from wideopt.bench.run_data import Run

__all__ = ["SUITE"]

_NAME = "mnist-7x7"


def _make(name: str, is_smoke: bool) -> Task:
    import torch

    from wideopt.bench.applications import sensitive_samples as samples

    original = samples.classifier()

    def outputs(x: Any) -> tuple[float, Sequence[float]]:
        image = torch.as_tensor(x, dtype=torch.float64)
        return -samples.sensitivity(original, image), ()

    return Task(
        name=name,
        space=Space([(0.0, 1.0)] * samples.SIDE**2),
        n_evals=8 if is_smoke else 200,
        outputs=outputs,
        n_init=5 if is_smoke else None,
    )


def _section(runs: Sequence[Run], folder: Path) -> str:
    from wideopt.bench.detection import detection_section

    return detection_section(runs, folder)


SUITE = register(
    Suite(
        name="sensitive-samples",
        title="images that reveal a tampered classifier, 49 pixels (NeuralBO)",
        full=(_NAME,),
        smoke=(_NAME,),
        make=_make,
        methods=neural_bo_synthetic.SUITE.methods,
        reference="neural-bo",
        section=_section,
    )
)
