"""Bandits whose arms have nothing in common: ε-greedy, UCB1, Thompson sampling.

Thesis (Phan-Trong) section 2.3.5.2, equations 2.12 to 2.14; UCB1: Auer, Cesa-Bianchi
and Fischer (2002); Thompson sampling with Gaussian arms: Agrawal and Goyal (2013).
Arms are pulled repeatedly, each pull is one observation. Notation in `arms`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.arms import Arms
from wideopt.methods.base import State, one_by_one

__all__ = ["Bandit", "ucb1_index"]

_PRIOR = 1.0  # variance of an arm's mean before its first pull, in spreads squared


@dataclass(frozen=True)
class Bandit:
    """Independent arms and one of three rules.

    Attributes:
        rule: "epsilon-greedy", "ucb1" or "thompson".
        epsilon: share of pulls of ε-greedy that go to a random arm.
        exploration: factor on the width of UCB1's confidence, or on Thompson's σ.
    """

    is_bandit: ClassVar[bool] = True

    rule: Literal["epsilon-greedy", "ucb1", "thompson"] = "ucb1"
    epsilon: float = 0.1
    exploration: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise InputError(f"Option epsilon is in [0, 1], but got {self.epsilon}.")
        if not self.exploration >= 0:
            raise InputError(
                f"Option exploration is at least 0, but got {self.exploration}."
            )

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The arms of highest index; nothing is remembered but the data."""

        def choose(data: Dataset) -> Tensor:
            arms = Arms.of(data)
            return arms.X[int(self._index(arms, generator).argmax())]

        return one_by_one(data, n, choose), state

    def _index(self, arms: Arms, generator: torch.Generator) -> Float[Tensor, " N"]:
        noise = _normal(arms, generator)
        if self.rule == "ucb1":
            index = ucb1_index(arms, self.exploration)
            # Arms never pulled come first, in random order.
            return torch.where(index.isinf(), 1e9 + noise, index)
        if self.rule == "thompson":
            mean, variance = gaussian_posterior(arms)
            return mean + self.exploration * variance.sqrt() * noise
        if float(torch.rand(1, generator=generator)) < self.epsilon:
            return noise
        return arms.mean.masked_fill(arms.n_pulls == 0, -torch.inf)


def ucb1_index(arms: Arms, exploration: float = 1.0) -> Float[Tensor, " N"]:
    """r̄ᵢ + √(2 ln t / nᵢ), rewards scaled to [0, 1]; ∞ where there was no pull."""
    scale = (arms.high - arms.low) or 1.0
    n = arms.n_pulls + arms.n_pending
    t = float(n.sum())
    width = (2.0 * math.log(t) / n).sqrt()
    return (arms.mean - arms.low) / scale + exploration * width


def gaussian_posterior(
    arms: Arms,
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
    """Mean and variance of each arm's mean reward, with prior N(0, 1) in spreads."""
    noise = max(arms.noise, 1e-6)
    precision = 1.0 / _PRIOR + arms.n_pulls / noise
    return arms.n_pulls * arms.mean / noise / precision, 1.0 / precision


def _normal(arms: Arms, generator: torch.Generator) -> Float[Tensor, " N"]:
    draw = torch.randn(arms.mean.shape, generator=generator, dtype=torch.float64)
    return draw.to(arms.mean)
