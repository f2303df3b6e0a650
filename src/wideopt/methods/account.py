"""What a method has made of the data so far, in sentences: `auto` with `verbose`."""

from __future__ import annotations

from typing import Any

from wideopt.data.dataset import Dataset
from wideopt.methods.base import State
from wideopt.surrogates.tangent import Tangent

__all__ = ["account"]

_BENT = 0.05  # a smaller bend is none


def account(name: str, why: str, data: Dataset, state: State) -> str:
    """Which method, why, and what its surrogate is like."""
    parts = [f"Method {name}: {why}."]
    if runs := state.get("hyper", {}).get("runs"):
        n_rows = len(state["rows"]) if "rows" in state else data.n
        seen = f"{n_rows} of {data.n}" if n_rows < data.n else f"{data.n}"
        parts.append(f"Surrogate of {seen} observations: {_networks(runs)}.")
        parts += _axes(runs, data)
    if state.get("warp") is not None:
        parts.append("The objective is on a logarithmic scale.")
    return " ".join(parts)


def _networks(runs: list[dict[str, Any]]) -> str:
    architectures = Tangent(has_curves=True).architectures()
    said = []
    for member in runs[0]["members"]:
        a = architectures[member["index"]]
        share = member["weights"][0]
        kind = f"{a.activation} networks of depth {a.depth}"
        if a.is_additive:
            kind = "sums of functions of one parameter each"
        said.append(f"{kind} ({share:.0%})")
    return " and ".join(said)


def _axes(runs: list[dict[str, Any]], data: Dataset) -> list[str]:
    """The parameters whose axis is bent for any output."""
    bends = [
        row
        for run in runs
        for member in run["members"]
        for row in member["hyper"].get("bend", [])
    ]
    is_bent = [any(abs(row[i]) > _BENT for row in bends) for i in range(data.n_dims)]
    names = _names(data)
    bent = sorted({names[i] for i, bends in enumerate(is_bent) if bends})
    return [f"Bent axes: {', '.join(bent)}."] if bent else []


def _names(data: Dataset) -> list[str]:
    """The parameter of each dimension of the unit cube."""
    space = data.space
    if space.candidates is not None:
        return [f"column {i}" for i in range(data.n_dims)]
    return [
        name
        for name, parameter in zip(space.names, space.parameters, strict=True)
        for _ in range(parameter.n_dims)
    ]
