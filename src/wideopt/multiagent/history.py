"""The trials of one agent and the rounds they belong to, for those who may see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideopt.data import Trial
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.site import Site

__all__ = ["History"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class History:
    """What an agent did.

    Attributes:
        agent: who.
        trials: all evaluations, those before the first round included.
        ts: the round of each later one, from 1.
    """

    agent: Agent
    trials: list[Trial]
    ts: list[int]

    @classmethod
    def of(cls, site: Site) -> History:
        """That of a site at hand."""
        return cls(site.agent, list(site.trials), site.ts)

    @classmethod
    def from_json(cls, form: dict[str, Any], agent: Agent) -> History:
        """That of a site elsewhere."""
        space = agent.space
        trials = [
            Trial.from_json(f, space.config(space.decode(np.array(f["point"]))))
            for f in form["trials"]
        ]
        return cls(agent, trials, form["ts"])

    def held(self, n_rounds: int) -> list[Trial | None]:
        """The trial in force in each round: an agent that is late stays where it was.

        None before its first one.
        """
        n_init = len(self.trials) - len(self.ts)
        by_round = dict(zip(self.ts, self.trials[n_init:], strict=True))
        held: list[Trial | None] = []
        for t in range(1, n_rounds + 1):
            held.append(by_round.get(t, held[-1] if held else None))
        return held
