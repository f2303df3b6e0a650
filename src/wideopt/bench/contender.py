"""Contenders: methods of wideopt, peers and code of yours behind one ask/tell.

A contender is written `NAME` or `NAME[option=value,...]`, where NAME is a method of
wideopt (`neural-bo[faithful=true]`), a peer (`peer:optuna-tpe`) or a factory of yours
(`python:package.module:factory`), which is called as a peer is.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from wideopt.bench.task import Task
from wideopt.exceptions import InputError
from wideopt.methods import nearest, summaries
from wideopt.methods.catalog import has_option

__all__ = [
    "PEERS",
    "AskTell",
    "Contender",
    "Observation",
    "initial_design",
    "parse",
    "parse_all",
]


class Observation(NamedTuple):
    """A config and what a method saw there."""

    x: Any
    y: float
    c: list[float]


@runtime_checkable
class AskTell(Protocol):
    """What the runner asks of a contender; every ask is followed by its tell.

    Where a task has batches, several asks are followed by their tells, in the same
    order. A contender with a way of its own has `ask_many(n)`, which gives n configs or
    fewer.
    """

    def ask(self) -> Any:
        """The next config."""
        ...

    def tell(self, x: Any, y: float, c: list[float]) -> None:
        """Its outcome; c is empty without constraints."""
        ...


@dataclass(frozen=True)
class _Peer:
    summary: str
    path: str  # "module:class" below wideopt.bench.peers
    package: str  # the distribution whose version a record states


PEERS = {
    "botorch-logei": _Peer(
        "BoTorch: SingleTaskGP, log expected improvement",
        "botorch_logei:LogEI",
        "botorch",
    ),
    "botorch-qlognei": _Peer(
        "BoTorch: SingleTaskGP, log noisy expected improvement",
        "botorch_logei:LogNEI",
        "botorch",
    ),
    "cma": _Peer("CMA-ES, augmented Lagrangian", "cma_es:CMA", "cma"),
    "hebo": _Peer("HEBO, or its GeneralBO with constraints", "hebo_bo:Hebo", "HEBO"),
    "optuna-gp": _Peer("Optuna's GPSampler", "optuna_samplers:GP", "optuna"),
    "optuna-tpe": _Peer("Optuna's TPESampler", "optuna_samplers:TPE", "optuna"),
    "smac": _Peer("SMAC3, black-box facade (GP)", "smac_bo:Smac", "smac"),
}


@dataclass(frozen=True)
class Contender:
    """A named algorithm with its options."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name.startswith("python:"):
            return
        known = [*summaries(), *(f"peer:{name}" for name in PEERS)]
        if self.name not in known:
            raise InputError(
                f"There is no method {self.name!r}; {nearest(self.name, known)}"
            )

    @property
    def label(self) -> str:
        """The text that `parse` reads, options sorted."""
        if not self.options:
            return self.name
        items = (f"{k}={json.dumps(v)}" for k, v in sorted(self.options.items()))
        return f"{self.name}[{','.join(items)}]"

    @property
    def slug(self) -> str:
        """The label as the name of a folder."""
        return re.sub(r"[^\w.=-]+", "+", self.label).strip("+")

    @property
    def is_external(self) -> bool:
        """Whether it is told the initial design instead of making it."""
        return self.name.startswith(("peer:", "python:"))

    @property
    def package(self) -> str | None:
        """The distribution it comes from, if it is a peer."""
        kind, _, name = self.name.partition(":")
        return PEERS[name].package if kind == "peer" else None

    def start(self, task: Task, seed: int, initial: list[Observation]) -> AskTell:
        """The contender, ready to be asked; `initial` is what an external one knows."""
        kind, _, rest = self.name.partition(":")
        if kind == "peer":
            path = f"wideopt.bench.peers.{PEERS[rest].path}"
        elif kind == "python":
            path = rest
        else:
            return _Own(self, task, seed)
        module, _, attribute = path.partition(":")
        factory = getattr(importlib.import_module(module), attribute)
        contender: AskTell = factory(task, seed, initial, **self.options)
        return contender


class _Own:
    """A method of wideopt; its first n_init points are the design of the seed."""

    def __init__(self, contender: Contender, task: Task, seed: int) -> None:
        from wideopt.optimizer import Optimizer

        n_init = len(initial_design(task, seed))
        is_physical = task.pde is not None and has_option(contender.name, "pde")
        self._has_constraints = task.n_constraints > 0
        self._optimizer = Optimizer(
            task.space,
            method=contender.name,
            n_constraints=task.n_constraints,
            n_evals=task.n_evals,
            pde=task.pde() if task.pde is not None and is_physical else None,
            seed=seed,
            options={"n_init": n_init, **contender.options},
        )

    def ask(self) -> Any:
        return self._optimizer.ask()

    def ask_many(self, n: int) -> list[Any]:
        return list(self._optimizer.ask(n))

    def tell(self, x: Any, y: float, c: list[float]) -> None:
        self._optimizer.tell(x, y, c or None)

    @property
    def message(self) -> str:
        """What the method says of constraints; it takes a pass over the history."""
        return self._optimizer.best.message if self._has_constraints else ""


def initial_design(task: Task, seed: int) -> list[Any]:
    """The first points of every contender: the design of `Optimizer` for the seed."""
    from wideopt.optimizer import Optimizer

    options = {} if task.n_init is None else {"n_init": task.n_init}
    optimizer = Optimizer(task.space, method="random", seed=seed, options=options)
    return list(optimizer.ask(min(optimizer.n_init, task.n_evals)))


def parse(text: str) -> Contender:
    """The contender of a text such as "gp-ei[n_restarts=2]"."""
    match = re.fullmatch(r"\s*([^\[\]]+?)\s*(?:\[(.*)\])?\s*", text)
    if match is None:
        raise InputError(f"A method is NAME or NAME[option=value,...], not {text!r}.")
    name, inside = match.groups()
    options: dict[str, Any] = {}
    for item in filter(None, (inside or "").split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"In {text!r}, {item!r} is not of the form option=value.")
        try:
            options[key.strip()] = json.loads(value)
        except ValueError:
            options[key.strip()] = value.strip()  # a word without quotes
    return Contender(name, options)


def parse_all(texts: Iterable[str]) -> list[Contender]:
    """The contenders of texts that may hold several each, separated by commas."""
    found: dict[str, Contender] = {}
    for text in texts:
        for part in re.split(r",(?![^\[]*\])", text):  # commas outside of brackets
            if part.strip():
                contender = parse(part)
                found[contender.label] = contender
    return list(found.values())
