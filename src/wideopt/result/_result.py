"""`Result`: printed, it is a summary a person can read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wideopt.data import Trial, best_trial
from wideopt.methods.parameters import Parameters
from wideopt.space import Config

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Result"]


@dataclass(frozen=True, repr=False)
class Result:
    """The best feasible observation; the least infeasible one if none is feasible.

    Attributes:
        x: its config, or None before any evaluation succeeded.
        fun: its objective.
        constraints: its constraints (<= 0 is feasible), or None without constraints.
        feasible: whether it satisfies them all.
        history: every finished trial, in the order told: `x, y, c, state, seconds`.
        n_evals: number of finished trials.
        method: name of the method.
        message: what else is worth knowing, in a sentence.
        study: the Optuna study that holds the run, if there is one.
        parameters: estimates of the parameters of your own model, with their standard
            errors, where the method has one (`go-ucb`); else None.
    """

    x: Config | None
    fun: float | None
    constraints: list[float] | None
    feasible: bool
    history: list[Trial]
    n_evals: int
    method: str
    message: str
    study: Any = field(default=None, compare=False)
    is_maximized: bool = False
    parameters: Parameters | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        history: list[Trial],
        method: str,
        message: str = "",
        parameters: Parameters | None = None,
    ) -> Result:
        """The result of a minimization with this history."""
        best = best_trial(history)
        constraints = None if best is None or best.c is None else list(best.c)
        return cls(
            x=None if best is None else best.x.copy(),
            fun=None if best is None else best.y,
            constraints=constraints,
            feasible=best is not None and best.is_feasible,
            history=history,
            n_evals=len(history),
            method=method,
            message=message,
            parameters=parameters,
        )

    @property
    def n_failed(self) -> int:
        """Number of evaluations that failed."""
        return sum(trial.state == "failed" for trial in self.history)

    @property
    def n_feasible(self) -> int:
        """Number of evaluations that are feasible."""
        return sum(trial.is_feasible for trial in self.history)

    def __repr__(self) -> str:
        rows = [("best objective", self._fun_text())]
        if self.constraints is not None:
            rows.append(("constraints", self._constraints_text()))
        rows.append(("x", _config_text(self.x)))
        rows.append(("evaluations", self._counts_text()))
        rows.append(("method", self.method))
        if self.parameters is not None:
            rows.append(("parameters", repr(self.parameters)))
        if self.message:
            rows.append(("message", self.message))
        return "\n".join(f"{name:>16}: {text}" for name, text in rows)

    def _fun_text(self) -> str:
        if self.fun is None:
            return "none, no evaluation has succeeded"
        return f"{self.fun:.10g}" + ("" if self.feasible else " (not feasible)")

    def _constraints_text(self) -> str:
        values = self.constraints or []
        word = "all satisfied" if self.feasible else "VIOLATED"
        shown = ", ".join(f"{value:.4g}" for value in values[:8])
        return f"{shown}{', ...' if len(values) > 8 else ''} ({word})"

    def _counts_text(self) -> str:
        parts = []
        if self.constraints is not None:
            parts.append(f"{self.n_feasible} feasible")
        if self.n_failed:
            parts.append(f"{self.n_failed} failed")
        return f"{self.n_evals}" + (f" ({', '.join(parts)})" if parts else "")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot every evaluation and the best value so far.

        Needs matplotlib: `pip install "wideopt[report]"`.
        """
        from wideopt.result._plot import plot_progress

        return plot_progress(self.history, ax, is_maximized=self.is_maximized)


def _config_text(x: Config | None) -> str:
    if x is None:
        return "none"
    if isinstance(x, dict):
        return ", ".join(f"{name}={_value_text(v)}" for name, v in x.items())
    shown = ", ".join(_value_text(value) for value in x[:12])
    return f"[{shown}{', ...' if len(x) > 12 else ''}]"


def _value_text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else repr(value)
