"""Arms of a bandit: the configs of a finite space, and what their pulls have shown.

Rewards are what is maximized: minus the objective, in spreads of the data (`data.Z`),
so that settings mean the same on every problem. A pull that failed or broke a
constraint is worth less than the worst feasible one, by its violation.

Notation: N arms, n_i pulls of arm i, r̄_i their mean reward, q_i pulls under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.space import Space

__all__ = ["Arms", "check_finite"]

_MAX_ARMS = 100_000


def check_finite(space: Space) -> None:
    """Raise unless the space is a set of arms that can be listed."""
    if space.n_configs > _MAX_ARMS:
        raise InputError(
            "A bandit method pulls the arms of a finite space: Space.from_candidates("
            "rows), Categorical or Integer parameters, with at most "
            f"{_MAX_ARMS} configs in all, but this space has {space.n_configs:g}."
        )


@dataclass(frozen=True)
class Arms:
    """What is known of each arm; build it with `Arms.of`.

    Attributes:
        X: the arms as points of the unit cube.
        n_pulls: nᵢ.
        mean: r̄ᵢ, and 0 where there is none.
        n_pending: qᵢ.
        noise: variance of one reward, pooled over arms; 1 if no arm was pulled twice.
        low: the lowest reward seen.
        high: the highest reward seen.
    """

    X: Float[Tensor, "N d"]
    n_pulls: Float[Tensor, " N"]
    mean: Float[Tensor, " N"]
    n_pending: Float[Tensor, " N"]
    noise: float
    low: float
    high: float

    @classmethod
    def of(cls, data: Dataset) -> Arms:
        """Count and average the pulls of every arm."""
        check_finite(data.space)
        X = torch.from_numpy(data.space.every_point()).to(data.X)
        reward, zeros = rewards(data), X.new_zeros(X.shape[0])
        pulled, pending = (_numbers(data.space, p) for p in (data.X, data.X_pending))
        n_pulls = zeros.index_add(0, pulled, torch.ones_like(reward))
        mean = zeros.index_add(0, pulled, reward) / n_pulls.clamp_min(1.0)
        n_pending = zeros.index_add(0, pending, zeros.new_ones(pending.shape[0]))
        squares = (reward - mean[pulled]).square().sum()
        dof = int((n_pulls - 1.0).clamp_min(0.0).sum())
        noise = float(squares) / dof if dof > 0 else 1.0
        low, high = float(reward.min()), float(reward.max())
        return cls(X, n_pulls, mean, n_pending, noise, low, high)


def rewards(data: Dataset) -> Float[Tensor, " n"]:
    """Minus the objective in spreads; less than any of those where it is infeasible."""
    Z = data.Z
    violation = Z[:, 1:].nan_to_num(nan=1.0).clamp_min(0.0).sum(dim=1)
    reward = -Z[:, 0]
    is_good = data.is_feasible if Z.shape[1] > 1 else ~data.is_failed
    worst = reward[is_good].min() if bool(is_good.any()) else reward.new_zeros(())
    return torch.where(is_good, reward, worst - 1.0 - violation)


def _numbers(space: Space, X: Float[Tensor, "n d"]) -> Int[Tensor, " n"]:
    """The number of each point's arm."""
    known = _numbering(space)
    points = X.detach().cpu().numpy()
    found = [known[point.tobytes()] for point in points]
    return torch.tensor(found, dtype=torch.long, device=X.device)


@lru_cache(maxsize=4)
def _numbering(space: Space) -> dict[bytes, int]:
    return {point.tobytes(): i for i, point in enumerate(space.every_point())}
