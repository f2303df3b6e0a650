"""`minimize`: agents and coordinator together, for those who may see everything."""

from __future__ import annotations

import math
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wideopt.exceptions import InputError
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.coordinator import (
    Coordinator,
    ExchangeAdmm,
    SumOfConstraints,
)
from wideopt.multiagent.journal import Journal
from wideopt.multiagent.lines import Inline, Pooled, Transport
from wideopt.multiagent.messages import Rule, Vector
from wideopt.multiagent.metrics import Truth
from wideopt.multiagent.result import MultiAgentResult
from wideopt.multiagent.rounds import Round, run_rounds
from wideopt.multiagent.theory import Theory
from wideopt.multiagent.wire import Spec

__all__ = ["minimize"]

_METHODS = ("dmabo", "dcei", "penalty-admm")


def minimize(
    agents: Sequence[Agent],
    b: Sequence[float] | None = None,
    *,
    n_rounds: int | None = 50,
    eps: float | Literal["eps_2"] = 0.0,
    eta: float | Literal["doubling"] | None = None,
    method: str = "dmabo",
    penalty: float = 5.0,
    theory: Theory | None = None,
    truth: Truth | None = None,
    tolerance: float = 0.01,
    executor: Executor | Transport | None = None,
    storage: str | Path | None = None,
    callbacks: Sequence[Callable[[Round], Any]] = (),
    timeout: float | None = None,
    on_slow: Literal["wait", "reuse"] = "wait",
    slow_after: float = 60.0,
    seed: int | None = None,
) -> MultiAgentResult:
    """Minimize Σ f_i(x_i) subject to Σ g_i(x_i) <= 0 and Σ A_i x_i = b.

    Prices compare objectives with constraints in your units: bring both to a magnitude
    of about 1, or set eta.

    Args:
        agents: at least one; all with the same number of constraints.
        b: right-hand side of the affine constraints; zero by default.
        n_rounds: rounds T; each agent evaluates once in each. None if unknown: the run
            ends by `callbacks` or `timeout`, and eta doubles its horizon as it goes.
        eps: drift ε of the prices, for less violation; "eps_2" is that of `theory`.
        eta: scale η of the prices, by default 1/√T; "doubling" is for when you may stop
            or go on at any round.
        method: "dmabo"; "dcei", which knows no affine constraints; or "penalty-admm",
            which knows no black-box constraints.
        penalty: of "penalty-admm".
        theory: η and λ_1 of Theorem 1, from what it assumes.
        truth: optimum and noise-free functions, to judge the run by.
        tolerance: within which a round fulfills the affine constraints, as a share of
            the range of Σ A_i x_i.
        executor: where agents run: here by default; `Processes()`; Dask's workers, by
            `wideopt.integrations.dask.Workers`; or any `concurrent.futures.Executor`
            whose workers share a disk. The run is the same in all of them.
        storage: a folder of journals, that of each agent where it runs; the same call
            with the same folder goes on.
        callbacks: called with each `Round`; one that returns True ends the run.
        timeout: seconds after which no round is begun.
        on_slow: whether an agent that takes longer than `slow_after` seconds is waited
            for, or its last message used again ("reuse") until it is done.
        slow_after: seconds.
        seed: for the same run again.
    """
    if seed is not None and seed < 0:
        raise InputError(f"seed must be at least 0, but got {seed}.")
    if not tolerance >= 0:
        raise InputError(f"tolerance must be at least 0, but got {tolerance}.")
    if n_rounds is not None and n_rounds < 1:
        raise InputError(f"n_rounds must be at least 1, but got {n_rounds}.")
    if on_slow not in ("wait", "reuse"):
        raise InputError(f"on_slow is 'wait' or 'reuse', but got {on_slow!r}.")
    if truth is not None:
        truth.check(len(agents))
    m, right = _coupling(agents, b)
    if method == "dmabo":
        rule: Rule = _dmabo(m, right, n_rounds, eta, eps, theory)
    else:
        rule = _baseline(method, m, right, penalty)
    transport = _transport(executor)
    with _folder(storage, transport) as folder:
        seed = _settled_seed(seed, folder)
        specs = [_spec(i, agent, seed, folder) for i, agent in enumerate(agents)]
        with transport.lines(specs) as lines:
            signals = run_rounds(
                lines,
                rule,
                n_rounds,
                storage=folder,
                callbacks=callbacks,
                timeout=timeout,
                on_slow=on_slow,
                slow_after=slow_after,
            )
            histories = [line.history() for line in lines]
    return MultiAgentResult.of(
        histories, signals, right, method, tolerance, truth=truth
    )


def _dmabo(
    m: int,
    b: Vector,
    n_rounds: int | None,
    eta: float | str | None,
    eps: float | str,
    theory: Theory | None,
) -> Coordinator:
    if isinstance(eta, str) and eta != "doubling":
        raise InputError(f"eta is a number or 'doubling', but got {eta!r}.")
    if isinstance(eps, str) and (eps != "eps_2" or theory is None):
        raise InputError(
            f"eps is a number, or 'eps_2' where theory is given, but got {eps!r}."
        )
    if theory is not None and len(theory.C) != m:
        raise InputError(
            f"theory.C needs a bound for each of {m} constraints, but has {theory.C}."
        )
    if eta is None and n_rounds is not None:
        eta = 1.0 / math.sqrt(n_rounds) if theory is None else theory.eta
    drift = theory.eps_2 if theory is not None and isinstance(eps, str) else eps
    return Coordinator(
        m,
        b,
        None if isinstance(eta, str) else eta,
        float(drift),
        None if theory is None else theory.lam_1,
    )


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


def _transport(executor: object) -> Transport:
    if executor is None:
        return Inline()
    if isinstance(executor, Transport):
        return executor
    if isinstance(executor, Executor):
        return Pooled(executor)
    raise InputError(
        "executor is a concurrent.futures.Executor, wo.multiagent.Processes() or "
        f"wideopt.integrations.dask.Workers(client), but got {executor!r}."
    )


@contextmanager
def _folder(storage: str | Path | None, transport: Transport) -> Iterator[Path | None]:
    """The folder of the journals; one for this run only, where there must be one."""
    if storage is not None:
        yield Path(storage)
    elif isinstance(transport, Inline):
        yield None
    elif getattr(transport, "needs_storage", False):
        raise InputError(
            f"{type(transport).__name__} may be on other machines and need storage=, "
            "the absolute path of a folder there."
        )
    else:
        with tempfile.TemporaryDirectory(prefix="wideopt-") as name:
            yield Path(name)


def _settled_seed(seed: int | None, folder: Path | None) -> int:
    """The seed given, else that of the folder, else a new one."""
    if folder is None:
        return secrets.randbits(31) if seed is None else seed
    path = folder / "run.jsonl"
    if path.exists() and seed is None:
        seed = Journal.header_of(path, "wideopt run").get("seed")
    seed = secrets.randbits(31) if seed is None else seed
    Journal(path, {"format": "wideopt run", "seed": seed})
    return seed


def _spec(number: int, agent: Agent, seed: int, folder: Path | None) -> Spec:
    state = np.random.SeedSequence([seed, number]).generate_state(1)
    path = None if folder is None else str(folder.absolute() / f"agent-{number}.jsonl")
    return Spec(number, agent, int(state[0]) % 2**31, path)
