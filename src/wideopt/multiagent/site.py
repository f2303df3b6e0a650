"""An agent at work: the data, models and evaluations that never leave it.

Paper: DMABO, Algorithm 1: lines 2 (local primal update), 4 and 5.

Models are of the values in the user's units, since prices compare agents; recipes
standardize them inside. A failed evaluation counts as bad as the worst one known.

A site with a journal writes each choice down before it says anything of it, and each
outcome before it goes on. Made again from its journal, it is where it was: it answers
a signal that it has answered before as it did then, and evaluates what was chosen but
not evaluated.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from botorch.models.model import Model
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wideopt.data import Trial, check_outcome
from wideopt.data.dataset import Dataset
from wideopt.exceptions import StorageError
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.journal import Journal, Record
from wideopt.multiagent.messages import (
    Message,
    Signal,
    message_of,
    plain,
    signal_of,
)
from wideopt.multiagent.worth import best_point, bounds_said, worth
from wideopt.numerics.threads import threads_for
from wideopt.search.candidates import distinct, scattered
from wideopt.search.design import generator_for
from wideopt.surrogates.base import quiet

__all__ = ["Site"]

_MAX_DEATHS = 3  # of the process in one evaluation, which then counts as failed


class Site:
    """A party in rounds. Only what `choose` returns is meant for others.

    Args:
        agent: whose site it is. Its first evaluations are made here.
        seed: of all random choices.
        path: of the agent's journal, which is made or gone on with; None for none.
    """

    def __init__(self, agent: Agent, seed: int, path: Path | None = None) -> None:
        self.agent, self.seed = agent, seed
        self.trials: list[Trial] = []
        self.answered: list[tuple[Signal, Message]] = []
        self._points: list[NDArray[np.float64]] = []
        self._chosen: list[NDArray[np.float64]] = []
        self._hyper: Any = None
        self._fitted_at = self._n_deaths = 0
        self._journal = None
        if path is not None:
            header = {"format": "wideopt agent journal", "seed": seed, **_marks(agent)}
            self._journal = Journal(path, header)
            for record in self._journal.records:
                self._replay(record)
        for point in self._design()[len(self.trials) :]:
            self._tell(point)

    @property
    def rounds(self) -> list[Trial]:
        """The trials of the rounds, without those before the first."""
        return self.trials[self.agent.n_init :]

    @property
    def observed(self) -> list[tuple[NDArray[np.float64], Trial]]:
        """Every trial with its point of the unit cube."""
        return list(zip(self._points, self.trials, strict=True))

    @property
    def ts(self) -> list[int]:
        """Which round each trial of the rounds belongs to, from 1."""
        return [signal.t for signal, _ in self.answered[: len(self.rounds)]]

    @property
    def is_current(self) -> bool:
        """Whether nobody else has gone on with the journal."""
        return self._journal is None or self._journal.is_current

    def choose(self, signal: Signal) -> Message:
        """Choose the next point in the light of a signal.

        A signal that was answered before gets the same answer.
        """
        if self.answered and signal.t <= self.answered[-1][0].t:
            return self._answer_again(signal)
        self.evaluate()
        with threads_for(len(self.trials)), quiet():
            point, g = self._choice(signal)
        message = Message(self.agent.Ax(self._config(point)), tuple(g.tolist()))
        self._write(
            "choice",
            {
                "signal": plain(signal),
                "point": point.tolist(),
                "message": plain(message),
                "hyper": self._hyper if self._fitted_at == len(self.trials) else None,
            },
        )
        self._chosen.append(point)
        self.answered.append((signal, message))
        return message

    def evaluate(self) -> None:
        """Evaluate the chosen point and keep the outcome, unless that is done."""
        if len(self._chosen) > len(self.rounds):
            self._tell(self._chosen[-1])

    def _answer_again(self, signal: Signal) -> Message:
        for known, message in reversed(self.answered):
            if known == signal:
                return message
        raise StorageError(
            f"The agent has answered another signal in round {signal.t} than {signal}: "
            "its journal is of another run. Name another folder, or resume with the "
            "coordinator's."
        )

    def _choice(
        self, signal: Signal
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The point, and what is said of the constraints there."""
        agent, data = self.agent, self._data()
        g = np.zeros(agent.n_constraints)
        if data.n_complete == 0:
            start = len(self.trials)
            return scattered(agent.space, 1, self.seed, start)[0].numpy(), g
        generator = generator_for(self.seed, len(self.trials))
        sent = self.answered[-1][1] if self.answered else None
        model = self._model(data)
        acqf = worth(agent, model, data, signal, sent)
        point = best_point(acqf, data, generator, agent)
        g[list(agent.indices)] = bounds_said(agent, model, point, signal).cpu().numpy()
        return point.cpu().numpy(), g

    def _model(self, data: Dataset) -> Model:
        """The model of all data; its scales are learned anew as the data grow."""
        recipe, at = self.agent.recipe, self._fitted_at
        Y = _imputed(data)
        if data.n < at + max(1, at // 4):
            return recipe.restore(data.X, Y, self._hyper)
        model = recipe.fit(data.X, Y, self._hyper)
        self._hyper, self._fitted_at = recipe.hyper(model), data.n
        return model

    def _data(self) -> Dataset:
        k = len(self.agent.indices)
        return Dataset.of(self.agent.space, self.observed, [], k, keeps_repeats=True)

    def _design(self) -> list[NDArray[np.float64]]:
        space, n = self.agent.space, self.agent.n_init or 1
        X = scattered(space, n, self.seed)
        X = distinct(space, X, X[:0], generator_for(self.seed, 0))
        return [x.numpy() for x in X]

    def _config(self, point: NDArray[np.float64]) -> Any:
        return self.agent.space.config(self.agent.space.decode(point))

    def _tell(self, point: NDArray[np.float64]) -> None:
        config = self._config(point)
        if self._n_deaths < _MAX_DEATHS:
            self._write("start", {}, is_synced=False)
            trial = _evaluated(self.agent, config)
        else:
            error = f"The process died {self._n_deaths} times in this evaluation."
            trial = Trial(config, state="failed", error=error)
        values = self.agent.space.decode(point)
        form = {"point": point.tolist(), **trial.to_json(values)}
        self._write("trial", form)
        self._keep(point, trial)

    def _keep(self, point: NDArray[np.float64], trial: Trial) -> None:
        self._points.append(point)
        self.trials.append(trial)
        self._n_deaths = 0

    def _write(self, kind: str, form: Record, *, is_synced: bool = True) -> None:
        if self._journal is not None:
            self._journal.add({"record": kind, **form}, is_synced=is_synced)

    def _replay(self, record: Record) -> None:
        if record["record"] == "start":
            self._n_deaths += 1
            return
        point = np.array(record["point"], dtype=np.float64)
        if record["record"] == "trial":
            self._keep(point, Trial.from_json(record, self._config(point)))
            return
        if record["hyper"] is not None:
            self._hyper, self._fitted_at = record["hyper"], len(self.trials)
        self._chosen.append(point)
        signal, message = signal_of(record["signal"]), message_of(record["message"])
        self.answered.append((signal, message))


def _marks(agent: Agent) -> Record:
    """What a journal must have in common with the agent that goes on with it."""
    return {
        "space": repr(agent.space),
        "A": None if agent.A is None else agent.matrix.tolist(),
        "n_constraints": agent.n_constraints,
        "constraints": list(agent.indices),
        "n_init": agent.n_init,
        "surrogate": repr(agent.recipe),
        "beta": repr(agent.beta),
        "C": agent.C,
        "search": [agent.n_candidates, agent.n_climbs],
    }


def _evaluated(agent: Agent, config: Any) -> Trial:
    """The trial of a config; an error or a value that is not finite is a failure."""
    start = time.perf_counter()
    try:
        value = agent.fun(config.copy())
    except (Exception, SystemExit) as raised:
        error = f"{type(raised).__name__}: {raised}".strip(": ")
        seconds = time.perf_counter() - start
        return Trial(config, state="failed", seconds=seconds, error=error)
    seconds = time.perf_counter() - start
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    outcome = value if is_pair else (value, None)
    y, c = check_outcome(outcome[0], outcome[1], len(agent.indices))
    if not all(math.isfinite(v) for v in (y, *(c or ()))):
        error = f"The outcome {value!r} is not finite."
        return Trial(config, state="failed", seconds=seconds, error=error)
    return Trial(config, y, c, seconds=seconds)


def _imputed(data: Dataset) -> Float[Tensor, "n outputs"]:
    """Y with the worst known values in place of missing ones."""
    worst = data.Y.nan_to_num(nan=-torch.inf).max(dim=0).values
    return torch.where(data.Y.isnan(), worst, data.Y)
