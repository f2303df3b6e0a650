"""Where GO-UCB's network is trusted: a region around the best point, and small steps.

The paper searches the whole space. Optimism over the parameters of a network that is
wrong leads to corners of it, so the network is trusted in a box around the best point
(see `search.trust_region`), within which a step changes no more parameters than it must
(see `search.sparing`).

Memory (JSON): the region's side and counters, and the number of rows already `seen`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.optimism import Belief, FirstStep
from wideopt.data.dataset import Dataset
from wideopt.methods.base import State
from wideopt.search.candidates import merits
from wideopt.search.sparing import sparing
from wideopt.search.trust_region import (
    Region,
    Rules,
    box,
    unbounded_categories,
    with_steps,
)

__all__ = ["region_now", "spared"]

_RULES = Rules(0.4, 0.01, 1.6, 3, 4)
_SAME = 1e-9  # a coordinate within this is the same


def region_now(
    data: Dataset, state: State, length: float | None
) -> tuple[State, Float[Tensor, "2 d"]]:
    """The state with the region as it is after all observations, and its box."""
    rules = replace(_RULES, length=length or _RULES.length)
    region, seen = Region(rules.length), data.n
    if "region" in state:
        region, seen = Region(*state["region"]), state["seen"]
    merit = merits(data)
    if seen < data.n:
        is_success = bool(merit[seen:].min() < merit[:seen].min())
        region = region.after(data.n - seen, rules, is_success=is_success)
    if region.length < rules.length_min:
        region = Region(rules.length)
    center = data.X[int(merit.argmin())]
    limits = box(center, region.length, torch.ones_like(center))
    limits = unbounded_categories(data.space, with_steps(data.space, center, limits))
    counts = [region.length, region.n_success, region.n_failure]
    return {**state, "region": counts, "seen": data.n}, limits


def spared(
    beliefs: Sequence[Belief],
    data: Dataset,
    point: Float[Tensor, " d"],
    share: float,
) -> Float[Tensor, " d"]:
    """The sparing step toward a point, or the point if that step is known already.

    With constraints it is the point: what a step promises is then mostly that less of
    them is violated, and a share of that is a point that is infeasible for sure.
    """
    if len(beliefs) > 1:
        return point
    center = data.X[int(merits(data).argmin())]
    step = sparing(FirstStep(beliefs), data.space, center, point, share)
    known = torch.cat([data.X, data.X_pending])
    is_known = bool(((known - step).abs() <= _SAME).all(dim=1).any())
    return point if is_known else step
