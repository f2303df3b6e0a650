"""The experiments of PINN-BO (003, sec. 5.4), with the equations corrected.

Steady heat with three unknown sets of boundary values, the beam, the damped oscillator
of the tutorial, and five functions with equations, whose noise has a variance of 1% of
the range, as printed. The thesis does not say its budgets. Tasks that end in `-wrong`
give the method an equation that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wideopt.bench.applications.heat import Field, heat
from wideopt.bench.reached import reached_section
from wideopt.bench.suite import Suite, register
from wideopt.bench.task import PAPERS, Scales, Task, from_problem
from wideopt.space import Real, Space

__all__ = ["SUITE", "field_task"]

_HEAT = ("heat-1", "heat-2", "heat-3")
_FIELDS = ("beam", "damped-oscillator")
_FUNCTIONS = {
    "drop-wave": 40,
    "styblinski-tang-10": 60,
    "rastrigin-20": 60,
    "michalewicz-30": 80,
    "cosine-mixture-50": 120,
}
_WRONG = ("heat-1-wrong", "beam-wrong")


def _make(name: str, is_smoke: bool) -> Task:
    base = name.removesuffix("-wrong")
    if base in _HEAT:
        task = field_task(base, heat(int(base[-1])))
    else:
        from wideopt.problems.physics import names, with_pde  # brings torch

        problem, _ = with_pde(base)
        is_noisy = base in _FUNCTIONS
        task = from_problem(
            problem,
            n_evals=_FUNCTIONS.get(base, 30),
            noise=PAPERS if is_noisy else None,
            name=base,
        )
        kind = problem.name.removesuffix(f"-{problem.dim}")
        task = replace(task, pde=lambda: with_pde(base)[1], pde_title=names()[kind])
    if base != name:
        task = replace(task, name=name, pde=_WRONG_PDES[base], pde_title="wrong")
    return replace(task, n_evals=8, n_init=5) if is_smoke else task


def field_task(name: str, field: Field) -> Task:
    """The hottest point of a field, of which Laplace's equation is known."""
    _, hottest = field.hottest()

    def outputs(x: Any) -> tuple[float, Sequence[float]]:
        return -float(field(np.asarray(x, dtype=np.float64))), ()

    return Task(
        name=name,
        space=Space([Real(field.low, field.high)] * 2),
        n_evals=40,
        outputs=outputs,
        optimum=-hottest,
        scales=Scales((float(field.T.std()),), (hottest - float(field.T.min()),)),
        pde=_laplace,
        pde_title="Δf = 0",
    )


def _laplace() -> Any:
    from wideopt.pde import PDE, laplacian

    return PDE(laplacian)


def _helmholtz() -> Any:
    """Δf + 4f = 0: waves, where the truth has none."""
    from wideopt.pde import PDE, laplacian

    return PDE(lambda u, x: laplacian(u, x) + 4.0 * u(x))


def _spring() -> Any:
    """An oscillation, f'' + 100 f = 0, of another frequency than the beam's."""
    from wideopt.pde import PDE, partial

    return PDE(lambda u, x: partial(u, x, 0, 2) + 100.0 * u(x))


_WRONG_PDES: dict[str, Callable[[], Any]] = {"heat-1": _helmholtz, "beam": _spring}

SUITE = register(
    Suite(
        name="pinn-bo",
        title="Heat, beam, oscillator and functions that obey a PDE (PINN-BO)",
        full=(*_HEAT, *_FIELDS, *_FUNCTIONS, *_WRONG),
        smoke=("damped-oscillator", "drop-wave", "beam-wrong"),
        make=_make,
        methods=("pinn-bo", "gp-ei", "gp-ucb", "neural-greedy", "neural-bo"),
        reference="pinn-bo",
        section=reached_section,
    )
)
