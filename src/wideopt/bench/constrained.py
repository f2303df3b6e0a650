"""Constrained problems in a report: feasibility, regrets, violation and cost.

000, figures 2, 4, 5, 6 and table 3; table 2 is among the tests of every report. The
paper's headline (figure 2) adds a violation to a regret, each in its own units. Where
the objective is in millions, as on the gas problem, a violation is as good as free
there, so every table and figure of it stands beside the feasible regret by the range of
f, and that one is what to judge by.

Notation: that of `run_data`; T₁ = min {t : v_t = 0} the first feasible evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from wideopt.bench.figures import save_grid
from wideopt.bench.run_data import Curve, Run, by_task, group
from wideopt.bench.stats import quartiles
from wideopt.bench.tables import markdown
from wideopt.methods.configopt import INFEASIBLE
from wideopt.methods.feasibility import NO_POINT

__all__ = [
    "constrained_section",
    "feasibility_section",
    "first_feasible",
    "n_declared_infeasible",
]

Cell: TypeAlias = Callable[[Sequence[Run]], str]

_DECLARED = (NO_POINT, INFEASIBLE)  # how messages begin that call it infeasible

_ABOUT = """\
Judge by the feasible regret, and by its share of the range of f. The range is that of
4,096 fixed Sobol points of the box, the known optimum included. Every value is the true
one, without noise; the initial evaluations count. `-` is a run, or a median of runs,
without a feasible point."""

_ABOUT_FIRST = """\
Seeds with a feasible point, and the median number of evaluations to the first one; a
seed without one counts as ∞."""

_ABOUT_COST = """\
CPU seconds of one suggestion (ask and tell) after the initial design, mean over a run;
in brackets those of a whole run, the initial design included, and then its wall-clock
time, for which other work on the machine counts too. Mean ± sd over seeds."""

_ABOUT_FIGURES = """\
Medians over seeds, with interquartile ranges as bands. Where most seeds have no
feasible point yet, there is no line."""

_FIGURES = (
    ("scaled_gap", "feasible regret / range of f", True, "000, figure 6"),
    ("headline", "log10 min([f - f*]⁺ + Σ[c]⁺)", False, "000, figure 2"),
    ("cumulative_regret", "cumulative regret R⁺", False, "000, figure 4"),
    ("cumulative_violation", "cumulative violation V", False, "000, figure 5"),
)


def first_feasible(run: Run) -> float:
    """T₁; ∞ if no evaluation is feasible."""
    is_feasible = np.isfinite(run.gap)
    return float(np.argmax(is_feasible) + 1) if is_feasible.any() else np.inf


def n_declared_infeasible(runs: Sequence[Run]) -> int:
    """In how many runs the method ever said that no point looks feasible."""
    return sum(
        any(text.startswith(_DECLARED) for _, text in run.info.get("messages") or ())
        for run in runs
    )


def constrained_section(runs: Sequence[Run], folder: Path) -> str:
    """Tables and figures of the runs with constraints."""
    runs = [run for run in runs if run.has_constraints]
    tables: list[tuple[str, str, Cell]] = [
        ("Feasible points", _ABOUT_FIRST, _feasibility),
        (
            "Best feasible regret",
            "Median share of the range of f, and in brackets the regret itself.",
            _feasible_regret,
        ),
        (
            "Best positive regret plus violation (000, figure 2)",
            "Median of log10 min([f - f*]⁺ + Σ[c]⁺). A point that is infeasible by "
            "little, in the constraints' own units, is good here.",
            lambda of: _median(of, "headline"),
        ),
        (
            "Cumulative positive regret and violation (000, figures 4 and 5)",
            "Median R⁺, then median V.",
            lambda of: (
                f"{_median(of, 'cumulative_regret')}; "
                f"{_median(of, 'cumulative_violation')}"
            ),
        ),
        ("Time (000, table 3)", _ABOUT_COST, _cost),
    ]
    parts = ["## Constrained problems", _ABOUT]
    for title, about, cell in tables:
        parts += [f"### {title}", about, _table(runs, cell)]
    return "\n\n".join([*parts, *_declarations(runs), *_figures(runs, folder)])


def feasibility_section(runs: Sequence[Run]) -> str:
    """Feasible seeds and best feasible values, where the optimum is not known."""
    return "\n\n".join(
        [
            "## Feasible points",
            _ABOUT_FIRST + " Below, the median of the best feasible values.",
            _table(runs, _feasibility),
            _table(runs, lambda of: _median(of, "gap")),
        ]
    )


def _table(runs: Sequence[Run], cell: Cell) -> str:
    methods = list(group(runs, "method"))
    rows = [
        [task, *(cell(of[method]) if method in of else "-" for method in methods)]
        for task, of in by_task(runs).items()
    ]
    return markdown(["task", *methods], rows)


def _feasibility(runs: Sequence[Run]) -> str:
    first = [first_feasible(run) for run in runs]
    n_feasible = sum(np.isfinite(first))
    return f"{n_feasible}/{len(runs)}, {_number(_middle(first))}"


def _feasible_regret(runs: Sequence[Run]) -> str:
    return f"{_median(runs, 'scaled_gap')} ({_median(runs, 'gap')})"


def _median(runs: Sequence[Run], name: str) -> str:
    curves: list[Curve] = [getattr(run, name) for run in runs]
    ends = [float(curve[-1]) if len(curve) else np.inf for curve in curves]
    return _number(_middle(ends))


def _middle(values: Sequence[float]) -> float:
    return float(quartiles(np.array(values, dtype=float))[1])


def _number(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "-"


def _cost(runs: Sequence[Run]) -> str:
    searched = [run.suggest_cpu[run.n_init :] for run in runs]
    each = [float(seconds.mean()) for seconds in searched if len(seconds)]
    total = [float(run.suggest_cpu.sum()) for run in runs]
    wall = [float(run.suggest_wall.sum()) for run in runs]
    return f"{_mean_sd(each)} ({_mean_sd(total)}; {_mean_sd(wall)})" if each else "-"


def _mean_sd(values: Sequence[float]) -> str:
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.3g} ± {sd:.2g}"


def _declarations(runs: Sequence[Run]) -> list[str]:
    """Which methods called a problem infeasible although it has a feasible point.

    It has one if its optimum is known, or if some run found one.
    """
    lines = []
    for task, of in by_task(runs).items():
        every = [run for some in of.values() for run in some]
        has_point = every[0].optimum is not None or any(
            np.isfinite(first_feasible(run)) for run in every
        )
        counts = {method: n_declared_infeasible(some) for method, some in of.items()}
        lines += [
            f"- {task}, {method}: {n} of {len(of[method])} runs"
            for method, n in counts.items()
            if n and has_point
        ]
    found = "\n".join(lines) if lines else "None."
    return ["### Feasible problems that a method called infeasible", found]


def _figures(runs: Sequence[Run], folder: Path) -> list[str]:
    tasks: Mapping[str, list[Run]] = group(runs, "task")
    parts = ["### Figures", _ABOUT_FIGURES]
    for name, label, is_log, source in _FIGURES:
        path = folder / f"constrained-{name.replace('_', '-')}.png"
        save_grid(tasks, path, name=name, label=label, is_log=is_log)
        parts.append(f"![{label} ({source})]({folder.name}/{path.name})")
    return parts
