"""`Run`: a record as arrays, and the curves that reports are made of.

Notation, with t = 1, ..., n the evaluations and all values true, not observed:

    v_t = Σ_k [c_k(x_t)]⁺                     violation
    gap_t = min f(x_s) - f*, s <= t, v_s = 0  simple regret, of feasible points only
    headline_t = log10 min_{s <= t} ([f(x_s) - f*]⁺ + v_s)   (000, figure 2)
    R⁺_t = Σ_{s <= t} [f(x_s) - f*]⁺,  V_t = Σ_{s <= t} v_s  (000, figures 4 and 5)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.bench.record import Record, load

__all__ = ["Curve", "Run", "by_task", "group", "load_runs", "padded"]

Curve: TypeAlias = NDArray[np.float64]

_LEAST = 1e-16  # where log10 of a regret ends


@dataclass(frozen=True)
class Run:
    """What a report needs to know of a record."""

    task: str
    method: str
    seed: int
    status: str
    n_evals: int
    n_init: int
    optimum: float | None
    objective_range: float | None
    Y: Curve  # n
    C: Curve  # n x k
    suggest_cpu: Curve  # n: CPU seconds in ask and in tell
    suggest_wall: Curve  # n: likewise, by the clock on the wall
    memory_mb: float
    info: Record  # the record without its trajectory
    X: tuple[Any, ...] = ()  # n: the values of each config, in order

    @classmethod
    def of(cls, record: Record) -> Run:
        """The run of a record."""
        columns, task = record["trajectory"], record["task"]
        Y = _numbers(columns["y"])
        cpu, wall = (
            _numbers(columns[f"ask_{clock}"]) + _numbers(columns[f"tell_{clock}"])
            for clock in ("cpu", "wall")
        )
        return cls(
            task=task["name"],
            method=record["method"],
            seed=record["seed"],
            status=record["status"],
            n_evals=task["n_evals"],
            n_init=record["n_init"],
            optimum=task["optimum"],
            objective_range=task["objective_range"],
            Y=Y,
            C=_numbers(columns["c"]).reshape(len(Y), task["n_constraints"]),
            suggest_cpu=cpu,
            suggest_wall=wall,
            memory_mb=record["memory_mb"]["peak"] or np.nan,
            info={key: v for key, v in record.items() if key != "trajectory"},
            X=tuple(columns["x"]),
        )

    @property
    def has_constraints(self) -> bool:
        """Whether the task has constraints."""
        return bool(self.C.shape[1] > 0)

    @property
    def violation(self) -> Curve:
        """v_t; ∞ where a constraint has no value."""
        known = np.where(np.isnan(self.C), np.inf, self.C)
        return np.asarray(np.maximum(known, 0.0).sum(axis=1))

    @property
    def gap(self) -> Curve:
        """gap_t, or the best feasible value itself if f* is not known; ∞ at first."""
        Y = np.where((self.violation == 0) & np.isfinite(self.Y), self.Y, np.inf)
        return np.minimum.accumulate(Y) - (self.optimum or 0.0)

    @property
    def scaled_gap(self) -> Curve:
        """gap_t by the objective's range over the box."""
        return self.gap / (self.objective_range or 1.0)

    @property
    def positive_regret(self) -> Curve:
        """[f(x_t) - f*]⁺."""
        Y = np.where(np.isfinite(self.Y), self.Y, np.inf)
        return np.maximum(Y - (self.optimum or 0.0), 0.0)

    @property
    def headline(self) -> Curve:
        """headline_t."""
        least = np.minimum.accumulate(self.positive_regret + self.violation)
        return np.log10(np.maximum(least, _LEAST))

    @property
    def log_scaled_gap(self) -> Curve:
        """log10 of the scaled gap."""
        return np.log10(np.maximum(self.scaled_gap, _LEAST))

    @property
    def cumulative_regret(self) -> Curve:
        """R⁺_t."""
        return np.cumsum(self.positive_regret)

    @property
    def cumulative_violation(self) -> Curve:
        """V_t."""
        return np.cumsum(self.violation)

    @property
    def rank_key(self) -> tuple[int, float]:
        """Less is better: feasible runs by value, then infeasible ones by violation."""
        if len(self.Y) == 0:
            return 2, 0.0
        best = float(self.gap[-1])
        return (0, best) if best < np.inf else (1, float(self.violation.min()))


def _numbers(values: Sequence[Any]) -> Curve:
    """An array with NaN in place of null."""
    return np.array(values, dtype=float)


def load_runs(folder: Path) -> list[Run]:
    """Every run of a suite's folder, in order of task, method and seed."""
    paths = sorted(folder.glob("*/*/*.json"))
    records = (load(path) for path in paths if not path.name.startswith("."))
    runs = [Run.of(record) for record in records if record is not None]
    return sorted(runs, key=lambda run: (run.task, run.method, run.seed))


def group(runs: Iterable[Run], name: str) -> dict[str, list[Run]]:
    """The runs by an attribute, in the order met."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(getattr(run, name), []).append(run)
    return groups


def by_task(runs: Iterable[Run]) -> dict[str, dict[str, list[Run]]]:
    """The runs by task and method."""
    return {task: group(of, "method") for task, of in group(runs, "task").items()}


def padded(curves: Sequence[Curve], n: int) -> Curve:
    """Curves in rows of length n; a run that stopped early stays where it stopped."""
    rows = np.full((len(curves), n), np.inf)
    for row, curve in zip(rows, curves, strict=True):
        row[: len(curve)] = curve[:n]
        if 0 < len(curve) < n:
            row[len(curve) :] = curve[-1]
    return rows
