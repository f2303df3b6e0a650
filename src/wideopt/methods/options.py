"""Options in two parts: what JSON holds, and objects that stand beside it.

An object, such as a user's model, is written down by its kind only; whoever restores
the optimizer has to give it again.
"""

from __future__ import annotations

import json
from typing import Any

from wideopt.exceptions import InputError
from wideopt.methods.catalog import object_options

__all__ = ["check_present", "split_options"]

_OBJECT = "object"


def split_options(
    method: str, options: object
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options as JSON, with objects named by their kind, and the objects."""
    if options is None:
        return {}, {}
    if not isinstance(options, dict):
        raise InputError(f"options must be a dict, but got {options!r}.")
    allowed = object_options(method)
    objects = {k: v for k, v in options.items() if k in allowed and not _is_json(v)}
    plain = {k: _kind(v) if k in objects else v for k, v in options.items()}
    try:
        return dict(json.loads(json.dumps(plain, allow_nan=False))), objects
    except (TypeError, ValueError) as error:
        raise InputError(f"options must be plain JSON values: {error}.") from None


def check_present(options: dict[str, Any]) -> None:
    """Raise if an object of stored options was not given again."""
    for name, value in options.items():
        if isinstance(value, dict) and set(value) == {_OBJECT}:
            again = f"options={{{name!r}: ...}}" if name != "pde" else "pde=..."
            raise InputError(
                f"This state was made with the option {name} = {value[_OBJECT]}, which "
                "JSON cannot hold; give it again, as in Optimizer.from_state_dict(d, "
                f"{again})."
            )


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _kind(value: object) -> dict[str, str]:
    if isinstance(value, list | tuple):
        return {_OBJECT: f"[{', '.join(_kind(item)[_OBJECT] for item in value)}]"}
    if value is None:
        return {_OBJECT: "None"}
    kind = value if hasattr(value, "__qualname__") else type(value)
    return {_OBJECT: str(kind.__qualname__)}
