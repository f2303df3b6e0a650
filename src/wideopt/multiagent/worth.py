"""What a point is worth to an agent at a signal, and the search for the best one.

Paper: DMABO, eq. 12 and 13; the baselines of its section 5. Points may repeat, as they
must: a sequence that oscillates between two points is how the algorithm keeps a
constraint on average (appendix B).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import (
    LogExpectedImprovement,
    LogProbabilityOfFeasibility,
)
from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.coupled import (
    Beta,
    NegativeLagrangian,
    PenalizedImprovement,
    clipped_bounds,
)
from wideopt.acquisition.improvement import SumOfLogs
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.messages import Message, Prices, Residual, Signal, Totals
from wideopt.multiagent.theory import TheoreticalBeta
from wideopt.search.candidates import candidates, snapped
from wideopt.search.maximize import Search, climb, score
from wideopt.search.mixed import improve_mixed
from wideopt.surrogates.base import outputs_of

__all__ = ["best_point", "bounds_said", "worth"]

_N_ZOOM = 64  # points scored around the best one, at each of
_ZOOMS = (0.05, 0.01, 0.002)  # these half-widths


def worth(
    agent: Agent, model: Model, data: Dataset, signal: Signal, sent: Message | None
) -> AcquisitionFunction:
    """What the agent maximizes; `sent` is its message of the last round, if any."""
    if isinstance(signal, Prices):
        return _lagrangian(agent, model, signal)
    if isinstance(signal, Totals):
        return _constrained_improvement(agent, model, data, signal, sent)
    return _penalized_improvement(agent, model, data, signal, sent)


def bounds_said(
    agent: Agent, model: Model, point: Float[Tensor, " d"], signal: Signal
) -> Float[Tensor, " k"]:
    """Bounds of the agent's constraints; means where the signal is no price."""
    beta = _beta(agent, model) if isinstance(signal, Prices) else 0.0
    with torch.no_grad():
        return clipped_bounds(model, point[None, :], beta, _C(agent))[0, 1:]


def best_point(
    acqf: AcquisitionFunction, data: Dataset, generator: torch.Generator, agent: Agent
) -> Float[Tensor, " d"]:
    """The legal point of highest value, known or not."""
    n_local = agent.n_candidates // 4
    X = candidates(data, agent.n_candidates - n_local, n_local, generator)
    X = torch.cat([X, data.X])
    values = score(acqf, X)
    if agent.n_climbs == 0:
        return _zoomed(acqf, data, X[int(values.argmax())], generator)
    starts = X[values.argsort(descending=True, stable=True)[: agent.n_climbs]]
    search = Search(n_restarts=agent.n_climbs)
    climbed = climb(acqf, data, starts, search, generator)
    if not data.space.is_continuous:
        climbed = improve_mixed(acqf, data, snapped(data.space, climbed))
    climbed = snapped(data.space, climbed)
    X = torch.cat([climbed, X])
    values = torch.cat([score(acqf, climbed), values])
    return X[int(values.argmax())]


def _zoomed(
    acqf: AcquisitionFunction,
    data: Dataset,
    best: Float[Tensor, " d"],
    generator: torch.Generator,
) -> Float[Tensor, " d"]:
    """The best of ever smaller boxes around the best point, itself included."""
    if data.space.n_configs < math.inf:
        return best  # candidates are legal points already
    for width in _ZOOMS:
        u = torch.rand(_N_ZOOM, len(best), generator=generator, dtype=torch.float64)
        X = snapped(data.space, best + width * (2.0 * u.to(best) - 1.0))
        X = torch.cat([best[None, :], X])
        best = X[int(score(acqf, X).argmax())]
    return best


def _C(agent: Agent) -> float:
    return math.inf if agent.C is None else agent.C


def _beta(agent: Agent, model: Model) -> Beta:
    if not isinstance(agent.beta, TheoreticalBeta):
        return agent.beta
    gain = getattr(model, "information_gain", None)
    if not isinstance(gain, Tensor):
        raise InputError(
            f"The surrogate {agent.recipe!r} does not tell its information gain, which "
            "beta by theory needs: use 'gp' or 'tangent', or a number."
        )
    return torch.tensor([agent.beta(g) for g in gain.tolist()], dtype=torch.float64)


def _lagrangian(agent: Agent, model: Model, prices: Prices) -> AcquisitionFunction:
    lam = [prices.lam[j] for j in agent.indices]
    return NegativeLagrangian(
        model,
        _beta(agent, model),
        _C(agent),
        weights=prices.eta * torch.tensor(lam, dtype=torch.float64),
        affine=agent.affine,
        slope=prices.eta * torch.tensor(prices.mu, dtype=torch.float64),
    )


def _constrained_improvement(
    agent: Agent, model: Model, data: Dataset, totals: Totals, sent: Message | None
) -> AcquisitionFunction:
    """EI times P(g_i(x) + others <= 0), the others as they were in the last round.

    The incumbent is the best point of this agent that is feasible together with them;
    without any, the probability alone.
    """
    mine = sent.g if sent else (0.0,) * len(totals.g)
    rooms = [mine[j] - totals.g[j] for j in agent.indices]
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
    agent: Agent, model: Model, data: Dataset, residual: Residual, sent: Message | None
) -> AcquisitionFunction:
    objective = outputs_of(model)[0]
    best = _least_mean(objective, data.X[~data.is_failed])
    affine = agent.affine
    if affine is None:
        return LogExpectedImprovement(objective, best, maximize=False)
    if sent is None:  # the share of its best point is where it starts from
        row = int(data.Y[:, 0].nan_to_num(nan=torch.inf).argmin())
        last = affine(data.X[row])
    else:
        last = torch.tensor(sent.Ax, dtype=torch.float64)
    pull = torch.tensor([residual.r, residual.u], dtype=torch.float64).sum(dim=0)
    return PenalizedImprovement(objective, best, affine, last - pull, residual.penalty)


def _least_mean(objective: Model, X: Float[Tensor, "n d"]) -> float:
    with torch.no_grad():
        posterior: Any = objective.posterior(X)
        return float(posterior.mean.min())
