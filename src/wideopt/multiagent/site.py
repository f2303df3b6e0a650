"""An agent at work: the data, models and evaluations that never leave it.

Paper: DMABO, Algorithm 1: lines 2 (local primal update), 4 and 5. Points may repeat,
as they must: a sequence that oscillates between two points is how the algorithm keeps
a constraint on average (appendix B).

Models are of the values in the user's units, since prices compare agents; recipes
standardize them inside. A failed evaluation counts as bad as the worst one known.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import (
    LogExpectedImprovement,
    LogProbabilityOfFeasibility,
)
from botorch.models.model import Model, ModelList
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wideopt.acquisition.coupled import (
    NegativeLagrangian,
    PenalizedImprovement,
    clipped_bounds,
)
from wideopt.acquisition.improvement import SumOfLogs
from wideopt.data import Trial, check_outcome
from wideopt.data.dataset import Dataset
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.messages import Message, Prices, Residual, Signal, Totals
from wideopt.search.candidates import candidates, distinct, scattered, snapped
from wideopt.search.design import generator_for
from wideopt.search.maximize import Search, climb, score
from wideopt.search.mixed import improve_mixed
from wideopt.surrogates.base import outputs_of, quiet

__all__ = ["Site"]


class Site:
    """A party in rounds. Only what `choose` returns is meant for others.

    Args:
        agent: whose site it is. Its first evaluations are made here.
        seed: of all random choices.
    """

    def __init__(self, agent: Agent, seed: int) -> None:
        self.agent, self.seed = agent, seed
        self.trials: list[Trial] = []
        self._points: list[NDArray[np.float64]] = []
        self._sent: Message | None = None
        self._hyper: Any = None
        self._fitted_at = 0
        for point in self._design():
            self._tell(point)
        self._chosen = self._points[-1]

    @property
    def rounds(self) -> list[Trial]:
        """The trials of the rounds, without those before the first."""
        return self.trials[self.agent.n_init :]

    def choose(self, signal: Signal) -> Message:
        """Choose the next point in the light of a signal."""
        agent, data = self.agent, self._data()
        generator = generator_for(self.seed, len(self.trials))
        g = np.zeros(agent.n_constraints)
        if data.n_complete == 0:
            start = len(self.trials)
            point = scattered(agent.space, 1, self.seed, start)[0]
        else:
            model = self._model(data)
            with quiet():
                acqf = self._value(model, data, signal)
                point = _best(acqf, data, generator, agent)
                g[list(agent.indices)] = self._said(model, point, signal)
        self._chosen = point.cpu().numpy()
        config = agent.space.config(agent.space.decode(self._chosen))
        self._sent = Message(agent.Ax(config), tuple(g.tolist()))
        return self._sent

    def evaluate(self) -> None:
        """Evaluate the chosen point and keep the outcome."""
        self._tell(self._chosen)

    def _said(
        self, model: Model, point: Float[Tensor, " d"], signal: Signal
    ) -> NDArray[np.float64]:
        """Bounds of the agent's constraints; means where the signal is no price."""
        beta = self.agent.beta if isinstance(signal, Prices) else 0.0
        with torch.no_grad():
            low = clipped_bounds(model, point[None, :], beta, self._C)
        return low[0, 1:].cpu().numpy()

    @property
    def _C(self) -> float:
        return math.inf if self.agent.C is None else self.agent.C

    def _value(
        self, model: Model, data: Dataset, signal: Signal
    ) -> AcquisitionFunction:
        if isinstance(signal, Prices):
            return self._lagrangian(model, signal)
        if isinstance(signal, Totals):
            return self._constrained_improvement(model, data, signal)
        return self._penalized_improvement(model, data, signal)

    def _lagrangian(self, model: Model, prices: Prices) -> AcquisitionFunction:
        lam = [prices.lam[j] for j in self.agent.indices]
        return NegativeLagrangian(
            model,
            self.agent.beta,
            self._C,
            weights=prices.eta * torch.tensor(lam, dtype=torch.float64),
            affine=self.agent.affine,
            slope=prices.eta * torch.tensor(prices.mu, dtype=torch.float64),
        )

    def _constrained_improvement(
        self, model: Model, data: Dataset, totals: Totals
    ) -> AcquisitionFunction:
        """EI times P(g_i(x) + others <= 0), the others as they were in the last round.

        The incumbent is the best point of this agent that is feasible together with
        them; without any, the probability alone.
        """
        mine = self._sent.g if self._sent else (0.0,) * len(totals.g)
        rooms = [mine[j] - totals.g[j] for j in self.agent.indices]
        objective, *constraints = outputs_of(model)
        fits = data.Y[:, 1:] <= torch.tensor(rooms, dtype=torch.float64)
        is_feasible = ~data.is_failed & fits.all(dim=1)
        terms: list[AcquisitionFunction] = []
        if bool(is_feasible.any()):
            best = _least_mean(objective, data.X[is_feasible])
            terms.append(LogExpectedImprovement(objective, best, maximize=False))
        if constraints:
            limits: Any = {k: (None, room) for k, room in enumerate(rooms)}
            terms.append(LogProbabilityOfFeasibility(ModelList(*constraints), limits))
        return SumOfLogs(terms)

    def _penalized_improvement(
        self, model: Model, data: Dataset, residual: Residual
    ) -> AcquisitionFunction:
        objective = outputs_of(model)[0]
        best = _least_mean(objective, data.X[~data.is_failed])
        affine = self.agent.affine
        if affine is None:
            return LogExpectedImprovement(objective, best, maximize=False)
        if self._sent is None:  # the share of its best point is where it starts from
            row = int(data.Y[:, 0].nan_to_num(nan=torch.inf).argmin())
            last = affine(data.X[row])
        else:
            last = torch.tensor(self._sent.Ax, dtype=torch.float64)
        pull = torch.tensor([residual.r, residual.u], dtype=torch.float64).sum(dim=0)
        return PenalizedImprovement(
            objective, best, affine, last - pull, residual.penalty
        )

    def _model(self, data: Dataset) -> Model:
        """The model of all data; its scales are learned anew as the data grow."""
        recipe, at = self.agent.recipe, self._fitted_at
        Y = _imputed(data)
        with quiet():
            if data.n < at + max(1, at // 8):
                return recipe.restore(data.X, Y, self._hyper)
            model = recipe.fit(data.X, Y)
        self._hyper, self._fitted_at = recipe.hyper(model), data.n
        return model

    def _data(self) -> Dataset:
        observed = list(zip(self._points, self.trials, strict=True))
        k = len(self.agent.indices)
        return Dataset.of(self.agent.space, observed, [], k, keeps_repeats=True)

    def _design(self) -> list[NDArray[np.float64]]:
        space, n = self.agent.space, self.agent.n_init or 1
        X = scattered(space, n, self.seed)
        X = distinct(space, X, X[:0], generator_for(self.seed, 0))
        return [x.numpy() for x in X]

    def _tell(self, point: NDArray[np.float64]) -> None:
        config = self.agent.space.config(self.agent.space.decode(point))
        self._points.append(point)
        self.trials.append(_evaluated(self.agent, config))


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


def _least_mean(objective: Model, X: Float[Tensor, "n d"]) -> float:
    with torch.no_grad():
        posterior: Any = objective.posterior(X)
        return float(posterior.mean.min())


def _best(
    acqf: AcquisitionFunction, data: Dataset, generator: torch.Generator, agent: Agent
) -> Float[Tensor, " d"]:
    """The legal point of highest value, known or not."""
    n_local = agent.n_candidates // 4
    X = candidates(data, agent.n_candidates - n_local, n_local, generator)
    X = torch.cat([X, data.X])
    values = score(acqf, X)
    starts = X[values.argsort(descending=True, stable=True)[: agent.n_restarts]]
    if len(starts) > 0:
        search = Search(n_restarts=agent.n_restarts)
        climbed = climb(acqf, data, starts, search, generator)
        if not data.space.is_continuous:
            climbed = improve_mixed(acqf, data, snapped(data.space, climbed))
        climbed = snapped(data.space, climbed)
        X = torch.cat([climbed, X])
        values = torch.cat([score(acqf, climbed), values])
    return X[int(values.argmax())]
