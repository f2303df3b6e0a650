"""What the rounds came to: the best joint point, the prices, the paper's metrics.

A result is put together after the rounds, from what each agent kept for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wideopt.data import Trial
from wideopt.multiagent.history import History
from wideopt.multiagent.messages import Prices, Signal, Vector
from wideopt.multiagent.metrics import (
    Metrics,
    Truth,
    constraints_of,
    objectives_of,
    shares_of,
)
from wideopt.space import Config

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MultiAgentResult"]

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class MultiAgentResult:
    """The best feasible round; the least infeasible one if none is feasible.

    Attributes:
        x: the config of each agent in it; None if an agent failed in every round.
        fun: its sum of objectives.
        constraints: its sums of constraints (<= 0 is feasible).
        shift: its Σ A_i x_i - b.
        feasible: whether all constraints hold, the affine ones within the tolerance.
        round: which one it is, from 0.
        method: name of the method.
        histories: for each agent all its trials, those before the first round included.
        objectives: sum of the objectives in each round; NaN where an agent failed.
        sums: sums of the constraints in each round.
        shifts: Σ A_i x_i - b in each round.
        lam: λ before each round and after the last; empty unless DMABO.
        mu: μ likewise.
        eta: their scale η likewise.
        metrics: R, V, V⁺ and S after each round; of noise-free values, if the truth is
            known, else as measured.
    """

    x: list[Config] | None
    fun: float | None
    constraints: list[float]
    shift: list[float]
    feasible: bool
    round: int | None
    method: str
    histories: list[list[Trial]] = field(repr=False)
    objectives: Array = field(repr=False)
    sums: Array = field(repr=False)
    shifts: Array = field(repr=False)
    lam: Array = field(repr=False)
    mu: Array = field(repr=False)
    eta: Array = field(repr=False)
    metrics: Metrics = field(repr=False)

    @classmethod
    def of(
        cls,
        histories: Sequence[History],
        signals: Sequence[Signal],
        b: Vector,
        method: str,
        tolerance: float,
        *,
        truth: Truth | None = None,
    ) -> MultiAgentResult:
        """The result of finished rounds.

        Args:
            histories: of all agents.
            signals: of the coordinator.
            b: right-hand side of the affine constraints.
            method: name of the method.
            tolerance: of the affine constraints, as a share of the range of Σ A_i x_i.
            truth: what is known of the problem.
        """
        n = len(signals) - 1
        held = [history.held(n) for history in histories]
        agents = [history.agent for history in histories]
        objectives = objectives_of(held)
        sums = constraints_of(agents, held)
        shifts = shares_of(agents, held, len(b)) - np.array(b)
        reach = [agent.reach for agent in agents if agent.A is not None]
        slack = tolerance * np.sum([np.zeros(len(b)), *reach], axis=0)
        excess = np.maximum(sums, 0.0).sum(axis=1)
        excess += np.maximum(np.abs(shifts) - slack, 0.0).sum(axis=1)
        best = _best(objectives, excess)
        prices = [s for s in signals if isinstance(s, Prices)]
        return cls(
            x=None if best is None else [_x(of_agent[best]) for of_agent in held],
            fun=None if best is None else float(objectives[best]),
            constraints=[] if best is None else sums[best].tolist(),
            shift=[] if best is None else shifts[best].tolist(),
            feasible=best is not None and bool(excess[best] == 0.0),
            round=best,
            method=method,
            histories=[history.trials for history in histories],
            objectives=objectives,
            sums=sums,
            shifts=shifts,
            lam=np.array([p.lam for p in prices], dtype=np.float64),
            mu=np.array([p.mu for p in prices], dtype=np.float64),
            eta=np.array([p.eta for p in prices], dtype=np.float64),
            metrics=Metrics.of(agents, held, objectives, sums, shifts, truth),
        )

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.objectives)

    @property
    def R(self) -> Array | None:
        """R_t: cumulative regret; None unless the optimum is known."""
        return self.metrics.R

    @property
    def V(self) -> Array:
        """V_t: by how much the sums so far break the constraints."""
        return self.metrics.V

    @property
    def V_plus(self) -> Array:
        """V_t⁺: violations so far, which no later slack makes up for."""
        return self.metrics.V_plus

    @property
    def S(self) -> Array:
        """S_t: by how much the sums so far miss the affine constraints."""
        return self.metrics.S

    def __repr__(self) -> str:
        rows = [("best objective", self._fun_text())]
        if self.constraints:
            rows.append(("constraints", _text(self.constraints)))
        if self.shift:
            rows.append(("shift", _text(self.shift)))
        for i, config in enumerate(self.x or []):
            values = config.values() if isinstance(config, dict) else config
            rows.append((f"x of agent {i}", _text(values)))
        rows.append(("rounds", f"{self.n_rounds} with {len(self.histories)} agents"))
        rows.append(("method", self.method))
        return "\n".join(f"{name:>16}: {text}" for name, text in rows)

    def _fun_text(self) -> str:
        if self.fun is None:
            return "none, an agent failed in every round"
        return f"{self.fun:.10g}" + ("" if self.feasible else " (not feasible)")

    def plot(self) -> NDArray[Any]:
        """Plot objectives, average violations and prices over the rounds.

        Needs matplotlib: `pip install "wideopt[report]"`.
        """
        from wideopt.multiagent.figure import plot_rounds

        panels: list[Axes] = plot_rounds(self)
        return np.array(panels, dtype=object)


def _x(trial: Trial | None) -> Config:
    assert trial is not None  # the round has an objective
    return trial.x.copy()


def _best(objectives: Array, excess: Array) -> int | None:
    """The least excess, then the least objective, among rounds without a failure."""
    known = np.flatnonzero(np.isfinite(objectives) & np.isfinite(excess))
    if known.size == 0:
        return None
    return int(known[np.lexsort((objectives[known], excess[known]))[0]])


def _text(values: Any) -> str:
    shown = [_value_text(value) for value in values]
    return ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")


def _value_text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else repr(value)
