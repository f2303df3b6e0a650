"""Synthetic functions of NeuralBO (004, section 7.1), with noise.

Noise: sd 10% of the function's sd, as in the authors' code; `--noise paper` gives the
printed rule. 200 evaluations, where the paper has 2,000.
"""

from __future__ import annotations

from wideopt.bench.suite import Suite, register
from wideopt.bench.task import NEURAL_BO_CODE, Task, from_problem
from wideopt.problems import get

__all__ = ["SUITE"]

_FUNCTIONS = ("ackley", "levy", "michalewicz")
_DIMS = (10, 20, 50, 100)


def _make(name: str, is_smoke: bool) -> Task:
    return from_problem(
        get(name),
        n_evals=8 if is_smoke else 200,
        n_init=5 if is_smoke else None,
        noise=NEURAL_BO_CODE,
    )


SUITE = register(
    Suite(
        name="neural-bo-synthetic",
        title="Ackley, Levy, Michalewicz in 10 to 100 dimensions, noisy (NeuralBO)",
        full=tuple(f"{f}-{d}" for f in _FUNCTIONS for d in _DIMS),
        smoke=tuple(f"{f}-10" for f in _FUNCTIONS),
        make=_make,
        methods=(
            *("neural-bo", "neural-bo[faithful=true]", "neural-greedy", "dngo"),
            *("gp-ucb", "gp-ei", "gp-ts", "forest-ei", "turbo", "random"),
        ),
        reference="neural-bo",
    )
)
