"""The coordinator: from what agents send to what they are told next.

Papers: DMABO, eq. 14. DCEI and the penalty heuristic are the baselines of its section
5; the latter coordinates by the exchange form of ADMM (Boyd et al. 2011, section 7.3).

Notation: λ, μ prices, η their scale, ε the pessimistic drift, b the right-hand side of
Σ A_i x_i = b, N the number of agents with a part in it.

    λ ← [λ + Σ_i g_lcb_i(x_i) + ε]⁺,    μ ← μ + Σ_i A_i x_i - b

The dual variables of the problem are η λ and η μ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import InputError
from wideopt.multiagent.messages import (
    Message,
    Prices,
    Residual,
    Signal,
    Totals,
    Vector,
)

__all__ = ["Coordinator", "ExchangeAdmm", "SumOfConstraints"]


@dataclass(frozen=True)
class Coordinator:
    """The dual update of DMABO.

    Attributes:
        n_constraints: number m of black-box constraints.
        b: right-hand side of the affine constraints; empty without any.
        eta: scale η; None if the number of rounds is unknown. Then rounds
            2ᵏ, ..., 2ᵏ⁺¹ - 1 have η = 2^(-k/2), and the dual variables η λ and η μ are
            kept from one such stretch to the next.
        eps: drift ε > 0 for less violation at the cost of the objective.
        lam_1: λ of the first round; zero by default.
    """

    n_constraints: int = 0
    b: Vector = ()
    eta: float | None = None
    eps: float = 0.0
    lam_1: Vector | None = None

    def __post_init__(self) -> None:
        if self.eta is not None and not 0 < self.eta < math.inf:
            raise InputError(f"eta must be positive, but got {self.eta}.")
        if not 0 <= self.eps < math.inf:
            raise InputError(f"eps must be at least 0, but got {self.eps}.")
        if self.lam_1 is not None and len(self.lam_1) != self.n_constraints:
            raise InputError(
                f"lam_1 needs one price for each of {self.n_constraints} constraints, "
                f"but got {self.lam_1}."
            )

    def first(self) -> Prices:
        """The prices of round 1."""
        lam = self.lam_1 or (0.0,) * self.n_constraints
        return Prices(lam, (0.0,) * len(self.b), self._eta(1))

    def update(self, signal: Signal, messages: Sequence[Message]) -> Prices:
        """The prices of the next round (eq. 14)."""
        assert isinstance(signal, Prices)
        t = signal.t + 1
        eta = self._eta(t)
        kept = signal.eta / eta  # 1 unless a longer stretch of rounds begins
        g = _total([m.g for m in messages], self.n_constraints)
        lam = np.maximum(np.array(signal.lam) + g + self.eps, 0.0)
        mu = np.array(signal.mu) + _residual(messages, self.b)
        return Prices(_vector(kept * lam), _vector(kept * mu), eta, t)

    def _eta(self, t: int) -> float:
        if self.eta is not None:
            return self.eta
        return math.sqrt(0.5 ** (t.bit_length() - 1))


@dataclass(frozen=True)
class SumOfConstraints:
    """DCEI: every agent hears what all said together in the last round."""

    n_constraints: int

    def first(self) -> Totals:
        """Nobody has said anything."""
        return Totals((0.0,) * self.n_constraints)

    def update(self, signal: Signal, messages: Sequence[Message]) -> Totals:
        """The sums of this round."""
        g = _vector(_total([m.g for m in messages], self.n_constraints))
        return Totals(g, signal.t + 1)


@dataclass(frozen=True)
class ExchangeAdmm:
    """The penalty heuristic: agents are pulled toward shares that add up to b.

    The share of agent i is A_i x_i - r̄ - u of its last round, with the mean residual
    r̄ = (Σ A_i x_i - b) / N and its running sum u.
    """

    b: Vector
    penalty: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.penalty < math.inf:
            raise InputError(f"penalty must be positive, but got {self.penalty}.")

    def first(self) -> Residual:
        """No residual yet."""
        zero = (0.0,) * len(self.b)
        return Residual(zero, zero, self.penalty)

    def update(self, signal: Signal, messages: Sequence[Message]) -> Residual:
        """The residual of this round."""
        assert isinstance(signal, Residual)
        n = sum(len(m.Ax) > 0 for m in messages)
        r = _residual(messages, self.b) / max(n, 1)
        u = _vector(np.array(signal.u) + r)
        return replace(signal, r=_vector(r), u=u, t=signal.t + 1)


def _total(vectors: Sequence[Vector], n: int) -> NDArray[np.float64]:
    """The sum; an empty vector counts as zero."""
    rows = np.array([v for v in vectors if v], dtype=np.float64)
    return np.asarray(rows.reshape(-1, n).sum(axis=0)) if n else np.zeros(0)


def _residual(messages: Sequence[Message], b: Vector) -> NDArray[np.float64]:
    return np.asarray(_total([m.Ax for m in messages], len(b)) - np.array(b))


def _vector(values: NDArray[np.float64]) -> Vector:
    return tuple(values.tolist())
