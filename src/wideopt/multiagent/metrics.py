"""The paper's metrics, of values as measured or of the noise-free truth.

Paper: DMABO, eq. 4 and section 4.2. Notation: f, g sums over agents of the objectives
and constraints of a round, s = Σ A_i x_i - b.

    R_t = Σ (f - f*),  V_t = ‖[Σ g]⁺‖,  V_t⁺ = ‖Σ [g]⁺‖,  S_t = ‖Σ s‖

Rounds in which an evaluation failed are left out of R, V and V⁺.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideopt.data import Trial, check_outcome
from wideopt.exceptions import InputError
from wideopt.multiagent.agent import Agent

__all__ = ["Metrics", "Truth", "constraints_of", "objectives_of", "shares_of"]

Array = NDArray[np.float64]
Held = Sequence[Trial | None]


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known of a problem, to judge a run by; the run itself never sees it.

    Attributes:
        optimum: f*, the least sum of objectives of a feasible point; None if unknown.
        functions: for each agent its function without noise; None if measured values
            are to be used.
    """

    optimum: float | None = None
    functions: Sequence[Callable[[Any], Any]] | None = None

    def check(self, n_agents: int) -> None:
        """An error if there is not a function for each agent."""
        if self.functions is not None and len(self.functions) != n_agents:
            raise InputError(
                f"truth has {len(self.functions)} function(s) for {n_agents} agents; "
                "it needs one for each."
            )


@dataclass(frozen=True, eq=False)
class Metrics:
    """The metrics after each round.

    Attributes:
        R: cumulative regret; None unless the optimum is known.
        V: by how much the sums so far break the constraints.
        V_plus: violations so far, which no later slack makes up for.
        S: by how much the sums so far miss the affine constraints.
    """

    R: Array | None
    V: Array
    V_plus: Array
    S: Array

    @classmethod
    def of(
        cls,
        agents: Sequence[Agent],
        held: Sequence[Held],
        objectives: Array,
        sums: Array,
        shifts: Array,
        truth: Truth | None,
    ) -> Metrics:
        """The metrics of rounds, by the truth as far as it is known."""
        optimum = None
        if truth is not None:
            optimum = truth.optimum
            if truth.functions is not None:
                held = [
                    [_true(agent, fun, trial) for trial in trials]
                    for agent, fun, trials in zip(
                        agents, truth.functions, held, strict=True
                    )
                ]
                objectives, sums = objectives_of(held), constraints_of(agents, held)
        total = np.nancumsum(sums, axis=0)
        strong = np.nancumsum(np.maximum(sums, 0.0), axis=0)
        return cls(
            R=None if optimum is None else np.nancumsum(objectives - optimum),
            V=np.linalg.norm(np.maximum(total, 0.0), axis=1),
            V_plus=np.linalg.norm(strong, axis=1),
            S=np.linalg.norm(np.nancumsum(shifts, axis=0), axis=1),
        )


def objectives_of(held: Sequence[Held]) -> Array:
    """The sum of objectives in each round; NaN where an agent has none."""
    rows = [[np.nan if t is None or t.y is None else t.y for t in h] for h in held]
    return np.asarray(np.sum(np.array(rows, dtype=np.float64), axis=0))


def constraints_of(agents: Sequence[Agent], held: Sequence[Held]) -> Array:
    """(rounds, m): the sums of constraints; NaN where an agent failed."""
    total = np.zeros((len(held[0]), agents[0].n_constraints))
    for agent, trials in zip(agents, held, strict=True):
        for t, trial in enumerate(trials):
            c = None if trial is None else trial.c
            if agent.indices:
                total[t, list(agent.indices)] += np.nan if c is None else np.array(c)
    return total


def shares_of(agents: Sequence[Agent], held: Sequence[Held], n_affine: int) -> Array:
    """(rounds, l): Σ A_i x_i."""
    total = np.zeros((len(held[0]), n_affine))
    for agent, trials in zip(agents, held, strict=True):
        for t, trial in enumerate(trials):
            if agent.A is not None:
                total[t] += np.nan if trial is None else np.array(agent.Ax(trial.x))
    return total


def _true(agent: Agent, fun: Callable[[Any], Any], trial: Trial | None) -> Trial | None:
    """The trial with its noise-free outcome."""
    if trial is None or trial.state != "complete":
        return trial
    value = fun(trial.x.copy())
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    outcome = value if is_pair else (value, None)
    y, c = check_outcome(outcome[0], outcome[1], len(agent.indices))
    return Trial(trial.x, y, c)
