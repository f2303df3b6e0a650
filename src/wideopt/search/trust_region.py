"""A trust region: a box around the best point, growing on success, shrinking if none.

Eriksson, Pearce, Gardner, Turner and Poloczek (2019), section 2 and supplement.

Notation: L base side length, λ length scales of the surrogate, x* the center. The box
has sides Lᵢ = λᵢ L / (∏ λⱼ)^(1/d), hence volume L^d, and is cut off at the unit cube.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.search.candidates import snapped
from wideopt.search.design import seed_from, sobol_points
from wideopt.space import Categorical, Integer, Space

__all__ = ["Region", "Rules", "box", "perturbed", "unbounded_categories", "with_steps"]

_N_PERTURBED = 20  # coordinates that a candidate changes on average, at most


@dataclass(frozen=True)
class Rules:
    """When a region changes its size, and between which limits.

    Attributes:
        length: side at the start.
        length_min: below it, the region has collapsed.
        length_max: the side grows no further.
        n_success: successes in a row that double the side.
        n_failure: failed evaluations in a row that halve it.
    """

    length: float = 0.8
    length_min: float = 0.5**7
    length_max: float = 1.6
    n_success: int = 3
    n_failure: int = 4


@dataclass(frozen=True)
class Region:
    """The side length and the counters of successes and failures in a row."""

    length: float
    n_success: int = 0
    n_failure: int = 0

    def after(self, n: int, rules: Rules, *, is_success: bool) -> Region:
        """The region after a batch of n evaluations, of which the best was a success.

        The paper counts batches, and tolerates ⌈d/q⌉ failed ones of size q; counting
        evaluations instead is the same for a fixed q and right for a varying one.
        """
        if is_success:
            region = replace(self, n_success=self.n_success + 1, n_failure=0)
        else:
            region = replace(self, n_success=0, n_failure=self.n_failure + n)
        if region.n_success >= rules.n_success:
            return Region(min(2.0 * self.length, rules.length_max))
        if region.n_failure >= rules.n_failure:
            return Region(self.length / 2.0)
        return region


def box(
    center: Float[Tensor, " d"], length: float, scales: Float[Tensor, " d"]
) -> Float[Tensor, "2 d"]:
    """Lower and upper corner."""
    weights = (scales.log() - scales.log().mean()).exp()
    half = 0.5 * length * weights
    return torch.stack([center - half, center + half]).clamp(0.0, 1.0)


def unbounded_categories(
    space: Space, bounds: Float[Tensor, "2 d"]
) -> Float[Tensor, "2 d"]:
    """The box, with all choices of every category in it."""
    wider = bounds.clone()
    for parameter, s in zip(space.parameters, space.slices, strict=True):
        if isinstance(parameter, Categorical):
            wider[0, s], wider[1, s] = 0.0, 1.0
    return wider


def with_steps(
    space: Space, center: Float[Tensor, " d"], bounds: Float[Tensor, "2 d"]
) -> Float[Tensor, "2 d"]:
    """The box, with the next integers on both sides of the center in it."""
    wider = bounds.clone()
    values = space.decode(center.detach().cpu().numpy())
    for parameter, s, value in zip(space.parameters, space.slices, values, strict=True):
        if isinstance(parameter, Integer):
            ends = max(value - 1, parameter.low), min(value + 1, parameter.high)
            low, high = (float(parameter.encode(end)[0]) for end in ends)
            wider[0, s] = wider[0, s].clamp_max(low)
            wider[1, s] = wider[1, s].clamp_min(high)
    return wider


def perturbed(
    space: Space,
    center: Float[Tensor, " d"],
    bounds: Float[Tensor, "2 d"],
    n: int,
    generator: torch.Generator,
) -> Float[Tensor, "n d"]:
    """Legal candidates: the center with some coordinates replaced by Sobol points.

    Each parameter moves with probability min(20/d, 1), and at least one of them does.
    The box bounds what has an order; a category that moves takes any choice, since no
    box around a corner of the cube would ever reach another corner.
    """
    lower, upper = unbounded_categories(space, bounds)
    points = sobol_points(center.shape[0], n, seed_from(generator)).to(center)
    points = lower + (upper - lower) * points
    mask = _mask(space, n, generator).to(center.device)
    return snapped(space, torch.where(mask, points, center))


def _mask(space: Space, n: int, generator: torch.Generator) -> Tensor:
    n_parameters = len(space.parameters)
    share = min(_N_PERTURBED / n_parameters, 1.0)
    mask = torch.rand(n, n_parameters, generator=generator) < share
    forced = torch.randint(n_parameters, (n,), generator=generator)
    is_still = ~mask.any(dim=1)
    mask[is_still, forced[is_still]] = True
    sizes = torch.tensor([p.n_dims for p in space.parameters])
    return mask.repeat_interleave(sizes, dim=1)
