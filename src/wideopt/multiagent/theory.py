"""The constants of Theorem 1 of DMABO.

Notation: C_0, C_j bounds on the sums of objectives and of constraints over all agents,
B = max ‖A x - b‖, ξ the slack of Assumption 5, ρ the radius of Lemma 1, T rounds,
V(λ, μ) = ½‖λ‖² + ½‖μ‖².

    H_1 = ½ (4 C_0/(η ξ) + (4‖C‖² + 2B²)/ξ)²
    H_2 = (1 + √m)²/ρ² ((2 C_0/η)² + (2‖C‖² + B²)²);   0 without affine constraints
    ε_2 = √(2 (H_1 + H_2 + 2 C_0/η + 2‖C‖² + B²)) / T
    ε_1 = ε_2 + 8 Σ_i ‖β_i‖ √(T ‖γ_i‖) / T

The appendix prints ε_1 with the second term under the root; the theorem and eq. 31 have
it outside. Lemma 8 prints λ_1 <= √(H_1/N); the theorem has m in place of N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wideopt.exceptions import InputError
from wideopt.multiagent.messages import Vector

__all__ = ["TheoreticalBeta", "Theory"]


@dataclass(frozen=True)
class Theory:
    """What the theorem assumes, and what follows.

    Attributes:
        n_rounds: T.
        C_0: bound on the sum of the objectives.
        C: bound on the sum of each constraint.
        xi: ξ, by which some mixture of points fulfills all constraints.
        B: largest ‖A x - b‖; 0 without affine constraints.
        rho: ρ; needed with affine constraints only.
    """

    n_rounds: int
    C_0: float
    C: Vector
    xi: float
    B: float = 0.0
    rho: float | None = None

    def __post_init__(self) -> None:
        for name in ("n_rounds", "C_0", "xi"):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"{name} must be positive, but got {getattr(self, name)}."
                )
        if self.B > 0 and not (self.rho or 0.0) > 0:
            raise InputError(
                f"Affine constraints (B={self.B}) need a positive rho, but got "
                f"{self.rho}."
            )

    @property
    def eta(self) -> float:
        """η = 1/√T."""
        return 1.0 / math.sqrt(self.n_rounds)

    @property
    def H_1(self) -> float:
        """Bound on ½‖λ‖²."""
        return 0.5 * ((4.0 * self.C_0 / self.eta + 2.0 * self._step) / self.xi) ** 2

    @property
    def H_2(self) -> float:
        """Bound on ½‖μ‖²."""
        if self.rho is None:
            return 0.0
        scale = (1.0 + math.sqrt(len(self.C))) / self.rho
        return scale**2 * ((2.0 * self.C_0 / self.eta) ** 2 + self._step**2)

    @property
    def lam_1(self) -> Vector:
        """√(H_1/m) for each constraint."""
        m = len(self.C)
        return (math.sqrt(self.H_1 / m),) * m if m else ()

    @property
    def eps_2(self) -> float:
        """The drift of the smaller regret."""
        V = self.H_1 + self.H_2 + 2.0 * self.C_0 / self.eta + self._step
        return math.sqrt(2.0 * V) / self.n_rounds

    def eps_1(self, betas: Sequence[Vector], gains: Sequence[Vector]) -> float:
        """The drift that makes the cumulative violation vanish.

        Args:
            betas: for each agent β of its constraints after T rounds.
            gains: for each agent the largest information gain γ of its constraints.
        """
        learning = sum(
            math.hypot(*beta) * math.sqrt(self.n_rounds * math.hypot(*gain))
            for beta, gain in zip(betas, gains, strict=True)
        )
        return self.eps_2 + 8.0 * learning / self.n_rounds

    def covers(self, eps: float) -> bool:
        """Whether T is large enough for the theorem to hold with this drift."""
        return eps <= min(self.xi / 2.0, *self.C, math.inf)

    @property
    def _step(self) -> float:
        """2‖C‖² + B²: how far V can rise in a round by the steps alone."""
        return 2.0 * sum(c * c for c in self.C) + self.B**2


@dataclass(frozen=True)
class TheoreticalBeta:
    """β of Lemma 2, which grows with the information gain γ of the data at hand.

        β = C + σ √(2 (γ + 1 + ln(N (m + 1)/δ)))

    The lemma has the largest γ of any data; that of the data at hand is known and never
    larger.

    Attributes:
        C: bound on the norms of the agent's functions.
        noise: σ, deviation of the noise.
        n_agents: N.
        n_constraints: m.
        delta: δ, probability that any of the bounds fails.
    """

    C: float
    noise: float
    n_agents: int
    n_constraints: int
    delta: float = 0.1

    def __post_init__(self) -> None:
        if not (self.C > 0 and self.noise >= 0 and 0 < self.delta < 1):
            raise InputError(
                "beta by theory needs C > 0, noise >= 0 and 0 < delta < 1, but got "
                f"{self.C}, {self.noise} and {self.delta}."
            )

    def __call__(self, gain: float) -> float:
        """β at an information gain."""
        log_n = math.log(self.n_agents * (self.n_constraints + 1) / self.delta)
        return self.C + self.noise * math.sqrt(2.0 * (gain + 1.0 + log_n))
