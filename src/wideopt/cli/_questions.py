"""The questions of `wideopt new`. A wrong answer is explained and asked for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from wideopt.exceptions import InputError

if TYPE_CHECKING:
    from wideopt.run.campaigns import Plan
    from wideopt.space import Parameter

__all__ = ["ask_plan"]

T = TypeVar("T")


def ask_plan() -> Plan:
    """The plan that the answers describe."""
    from wideopt.run.campaigns import Plan, new_seed
    from wideopt.space import Space

    parameters: dict[str, Parameter] = {}
    typer.echo("The parameters that you can set; an empty name ends the list.")
    while True:
        name = _asked("Name of a parameter", lambda t: _name(t, parameters), "")
        if name:
            parameters[name] = _asked_parameter(name)
        elif parameters:
            break
        else:
            typer.echo("At least one parameter is needed.")
    goal = _asked("minimize or maximize the result y", _goal, "minimize")
    constraints: list[str] = []
    typer.echo("Measured quantities that must be <= 0; an empty name ends the list.")
    while name := _asked(
        "Name of a constraint", lambda t: _name(t, [*parameters, *constraints]), ""
    ):
        constraints.append(name)
    return Plan(Space(parameters).to_json(), goal, constraints, seed=new_seed())


def _asked(question: str, convert: Callable[[str], T], default: str | None = None) -> T:
    while True:
        text = typer.prompt(question, default=default, show_default=bool(default))
        try:
            return convert(str(text).strip())
        except InputError as error:
            typer.echo(f"  {error}")


def _asked_parameter(name: str) -> Parameter:
    from wideopt.space import Categorical, Integer, Real

    kind = _asked(f"{name}: real, integer or category", _kind, "real")
    if kind == "category":
        return _asked(
            f"{name}: the choices, with commas",
            lambda text: Categorical([t.strip() for t in text.split(",") if t.strip()]),
        )
    make: Any = Real if kind == "real" else Integer
    while True:
        low = _asked(f"{name}: lowest value", _number)
        high = _asked(f"{name}: highest value", _number)
        is_log = low > 0 and _asked(f"{name}: on a log scale? yes or no", _yes, "no")
        try:
            parameter: Parameter = make(low, high, log=is_log)
        except InputError as error:
            typer.echo(f"  {error}")
        else:
            return parameter


def _name(text: str, taken: Any) -> str:
    from wideopt.run.campaigns import RESERVED

    if text in taken:
        raise InputError(f"{text!r} is taken already.")
    if text in RESERVED or "=" in text or "," in text:
        raise InputError(
            f"{text!r} cannot be a name: no '=' or ',', and none of "
            f"{', '.join(RESERVED)}."
        )
    return text


def _one_of(text: str, *words: str) -> str:
    found = [word for word in words if text and word.startswith(text.lower())]
    if len(found) != 1:
        raise InputError(f"Please answer {' or '.join(words)}, not {text!r}.")
    return found[0]


def _kind(text: str) -> str:
    return _one_of(text, "real", "integer", "category")


def _goal(text: str) -> str:
    return _one_of(text, "minimize", "maximize")


def _yes(text: str) -> bool:
    return _one_of(text, "yes", "no") == "yes"


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number.") from None
    return int(number) if number.is_integer() else number
