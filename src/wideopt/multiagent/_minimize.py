"""`minimize`: all agents and the coordinator in one process."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Literal

import numpy as np

from wideopt.exceptions import InputError
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.coordinator import (
    Coordinator,
    ExchangeAdmm,
    SumOfConstraints,
    run_rounds,
)
from wideopt.multiagent.messages import Rule, Vector
from wideopt.multiagent.result import MultiAgentResult
from wideopt.multiagent.site import Site

__all__ = ["minimize"]

_METHODS = ("dmabo", "dcei", "penalty-admm")


def minimize(
    agents: Sequence[Agent],
    b: Sequence[float] | None = None,
    *,
    n_rounds: int = 50,
    eps: float = 0.0,
    eta: float | Literal["doubling"] | None = None,
    method: str = "dmabo",
    penalty: float = 5.0,
    tolerance: float = 0.01,
    seed: int | None = None,
) -> MultiAgentResult:
    """Minimize Σ f_i(x_i) subject to Σ g_i(x_i) <= 0 and Σ A_i x_i = b.

    Prices compare objectives with constraints in your units: bring both to a magnitude
    of about 1, or set eta.

    Args:
        agents: at least one; all with the same number of constraints.
        b: right-hand side of the affine constraints; zero by default.
        n_rounds: rounds T; each agent evaluates once in each.
        eps: drift ε of the prices, for less violation (`Theory` has that of Theorem 1).
        eta: scale η of the prices, by default 1/√T; "doubling" is for when you may stop
            or go on at any round.
        method: "dmabo"; "dcei", which knows no affine constraints; or "penalty-admm",
            which knows no black-box constraints.
        penalty: of "penalty-admm".
        tolerance: within which a round fulfills the affine constraints, as a share of
            the range of Σ A_i x_i.
        seed: for the same run again.
    """
    if n_rounds < 1:
        raise InputError(f"n_rounds must be at least 1, but got {n_rounds}.")
    if seed is not None and seed < 0:
        raise InputError(f"seed must be at least 0, but got {seed}.")
    if not tolerance >= 0:
        raise InputError(f"tolerance must be at least 0, but got {tolerance}.")
    m, right = _coupling(agents, b)
    if method == "dmabo":
        rule: Rule = Coordinator(m, right, _scale(eta, n_rounds), eps)
    else:
        rule = _baseline(method, m, right, penalty)
    seed = secrets.randbits(31) if seed is None else seed
    sites = [Site(agent, _seed(seed, i)) for i, agent in enumerate(agents)]
    signals = run_rounds(sites, rule, n_rounds)
    return MultiAgentResult.of(sites, signals, right, method, tolerance)


def _scale(eta: float | str | None, n_rounds: int) -> float | None:
    if eta is None:
        return 1.0 / math.sqrt(n_rounds)
    if not isinstance(eta, str):
        return eta
    if eta != "doubling":
        raise InputError(f"eta is a number or 'doubling', but got {eta!r}.")
    return None


def _baseline(method: str, m: int, b: Vector, penalty: float) -> Rule:
    if method not in _METHODS:
        raise InputError(f"method is one of {', '.join(_METHODS)}, but got {method!r}.")
    if method == "dcei" and b:
        raise InputError(
            f"dcei knows no affine constraints, but there are {len(b)}: use dmabo."
        )
    if method == "penalty-admm" and m:
        raise InputError(
            f"penalty-admm knows no black-box constraints, but there are {m}: use "
            "dmabo."
        )
    return SumOfConstraints(m) if method == "dcei" else ExchangeAdmm(b, penalty)


def _coupling(agents: Sequence[Agent], b: Sequence[float] | None) -> tuple[int, Vector]:
    """The number of black-box constraints and the right-hand side, checked."""
    counts = {agent.n_constraints for agent in agents}
    if len(counts) != 1:
        raise InputError(
            "Agents are at least one, and have the same n_constraints, but theirs are "
            f"{[agent.n_constraints for agent in agents]}."
        )
    rows = {len(agent.matrix) for agent in agents if agent.A is not None}
    if len(rows) > 1:
        raise InputError(
            "Every A has a row for each affine constraint, but there are "
            f"{sorted(rows)} of them."
        )
    n_affine = rows.pop() if rows else 0
    right = (0.0,) * n_affine if b is None else tuple(float(v) for v in b)
    if len(right) != n_affine or not np.isfinite(right).all():
        raise InputError(
            f"b needs {n_affine} finite value(s), one for each row of A, but got "
            f"{list(right)}."
        )
    return counts.pop(), right


def _seed(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0]) % 2**31
