"""All methods by name: one line each, and how to create them. Imports no torch."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass, fields
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from wideopt.exceptions import InputError

__all__ = [
    "COMMON_OPTIONS",
    "create",
    "has_option",
    "nearest",
    "object_options",
    "summaries",
]

COMMON_OPTIONS = ("n_init", "device")  # understood by the optimizer, for every method

_KINDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a word",
}


@dataclass(frozen=True)
class _Entry:
    summary: str
    path: str  # "module:class" below wideopt.methods
    preset: tuple[tuple[str, Any], ...] = ()
    objects: tuple[str, ...] = ()  # options that may be Python objects, not JSON


def _gp(summary: str, acquisition: str) -> _Entry:
    return _Entry(summary, "gp:GPMethod", (("acquisition", acquisition),))


def _information(summary: str, acquisition: str, *absent: str) -> _Entry:
    preset = (("acquisition", acquisition), *((name, False) for name in absent))
    return _Entry(summary, "information:GPInformation", preset)


def _neural(summary: str, rule: str) -> _Entry:
    return _Entry(summary, "neural_ucb:NeuralBandit", (("rule", rule),))


def _confidence(summary: str, rule: str) -> _Entry:
    return _Entry(summary, "configopt:ConfidenceBounds", (("rule", rule),))


def _bandit(summary: str, rule: str, *absent: str) -> _Entry:
    preset = (("rule", rule), *((name, 0.0) for name in absent))
    return _Entry(summary, "bandits:Bandit", preset)


def _features(summary: str, model: str, rule: str) -> _Entry:
    preset: tuple[tuple[str, Any], ...] = (("model", model), ("rule", rule))
    if model == "linear":
        preset += (("length_scale", None),)
    return _Entry(summary, "feature_bandits:FeatureBandit", preset)


_CATALOG: dict[str, _Entry] = {
    "auto": _Entry(
        "chooses a method for the problem; the default", "auto:Auto", objects=("pde",)
    ),
    "neural-bo": _Entry("wide networks, Thompson sampling", "neural_bo:NeuralBO"),
    "neural-cbo": _Entry(
        "wide networks, expected improvement within constraint bounds",
        "neural_cbo:NeuralCBO",
    ),
    "pinn-bo": _Entry(
        "wide networks that obey a PDE, expected improvement",
        "pinn_bo:PinnBO",
        objects=("pde",),
    ),
    "go-ucb": _Entry(
        "optimism over the parameters of a model, yours or a network",
        "go_ucb:GoUCB",
        objects=("model", "constraint_models"),
    ),
    "neural-ucb": _neural("trained network, confidence bound", "ucb"),
    "neural-ts": _neural("trained network, Thompson sampling", "ts"),
    "neural-greedy": _Entry(
        "networks fitted to perturbed targets, greedy", "neural_greedy:NeuralGreedy"
    ),
    "dngo": _Entry("Bayesian last layer of a network, log EI", "dngo:DNGO"),
    "gp-ei": _gp("Gaussian process, log expected improvement", "ei"),
    "gp-pi": _gp("Gaussian process, log probability of improvement", "pi"),
    "gp-ucb": _gp("Gaussian process, confidence bound", "ucb"),
    "gp-ts": _gp("Gaussian process, Thompson sampling", "ts"),
    "gp-mes": _information("Gaussian process, max-value entropy search", "mes"),
    "gp-pes": _information(
        "Gaussian process, predictive entropy search", "pes", "bound"
    ),
    "gp-kg": _information("Gaussian process, knowledge gradient", "kg", "bound"),
    "turbo": _Entry(
        "Gaussian process, Thompson sampling in a trust region", "turbo:Turbo"
    ),
    "cei": _gp("Gaussian process, constrained expected improvement", "ei"),
    "configopt": _confidence(
        "Gaussian process, lowest bound within constraint bounds", "configopt"
    ),
    "ucb-c": _confidence(
        "Gaussian process, growing bounds of objective and constraints", "ucb-c"
    ),
    "admmbo": _Entry(
        "Gaussian process, objective and constraints in turn by ADMM", "admmbo:ADMMBO"
    ),
    "scbo": _Entry(
        "Gaussian process, constrained Thompson sampling in a trust region",
        "scbo:SCBO",
    ),
    "forest-ei": _Entry("random forest, log expected improvement", "forest:ForestEI"),
    "random": _Entry("scrambled Sobol sequence, no model", "random:Random"),
    "epsilon-greedy": _bandit(
        "bandit: the best arm so far, now and then a random one",
        "epsilon-greedy",
        "exploration",
    ),
    "ucb1": _bandit("bandit: upper confidence bound of each arm", "ucb1", "epsilon"),
    "thompson": _bandit(
        "bandit: Thompson sampling with Gaussian arms", "thompson", "epsilon"
    ),
    "lin-ucb": _features(
        "bandit: linear in the arm's features, confidence bound", "linear", "ucb"
    ),
    "lin-ts": _features(
        "bandit: linear in the arm's features, Thompson sampling", "linear", "ts"
    ),
    "kernel-ucb": _features(
        "bandit: kernel on the arm's features, confidence bound", "kernel", "ucb"
    ),
    "kernel-ts": _features(
        "bandit: kernel on the arm's features, Thompson sampling", "kernel", "ts"
    ),
}


def summaries() -> dict[str, str]:
    """Name → one line, for every method."""
    return {name: entry.summary for name, entry in _CATALOG.items()}


def object_options(name: str) -> tuple[str, ...]:
    """The options of a method that may be Python objects; none if it is unknown."""
    return _CATALOG[name].objects if name in _CATALOG else ()


def has_option(name: str, option: str) -> bool:
    """Whether a known method has an option of its own by that name."""
    if name not in _CATALOG:
        return False
    preset = dict(_CATALOG[name].preset)
    return option not in preset and option in [f.name for f in fields(_cls(name))]


def _cls(name: str) -> Any:
    module, _, cls_name = _CATALOG[name].path.partition(":")
    return getattr(importlib.import_module(f"wideopt.methods.{module}"), cls_name)


def nearest(word: str, known: list[str]) -> str:
    """The known words closest to a misspelled one, as the end of a message."""
    close = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"use {', '.join(known)}."


def create(name: str, options: dict[str, Any] | None = None) -> Any:
    """The method of a name with its options; an error names what is unknown."""
    if name not in _CATALOG:
        raise InputError(
            f"There is no method {name!r}; {nearest(str(name), list(_CATALOG))}"
        )
    entry = _CATALOG[name]
    cls = _cls(name)
    preset = dict(entry.preset)
    own = {k: v for k, v in (options or {}).items() if k not in COMMON_OPTIONS}
    legal = [f.name for f in fields(cls) if f.init and f.name not in preset]
    for option in own:
        if option not in legal:
            known = [*COMMON_OPTIONS, *legal]
            raise InputError(
                f"Method {name} has no option {option!r}; {nearest(option, known)}"
            )
    for option, value in own.items():
        _check_kind(name, option, value, get_type_hints(cls)[option])
    return cls(**preset, **own)


def _check_kind(name: str, option: str, value: object, hint: Any) -> None:
    """Raise unless a value is of the kind that the method's field says.

    Ranges are for the method to check; it can then rely on the kind.
    """
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if get_origin(hint) is Literal:
        words = get_args(hint)
        is_right, wanted = value in words, " or ".join(map(repr, words))
    elif all(kind in _KINDS or kind is type(None) for kind in kinds):
        is_right = any(_is_of(value, kind) for kind in kinds)
        wanted = " or ".join(_KINDS[kind] for kind in kinds if kind in _KINDS)
    else:
        return  # an object
    if not is_right:
        raise InputError(
            f"Option {option} of {name} must be {wanted}, but got {value!r}."
        )


def _is_of(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)
