"""SCBO: constrained Thompson sampling in a trust region.

Eriksson and Poloczek (2021). One cube with side L follows the best point: the best
feasible one or, while there is none, the one of least total violation. A GP for each
output is fitted to transformed values, one function is drawn from each, and of the
candidates in the cube the next point is

    argmin f̃(x)  among those with all c̃_i(x) <= 0, or, if there are none,
    argmin Σ_i max(c̃_i(x), 0).

Notation: f̃, c̃_i posterior draws of objective and constraints. The transforms look
closely at what decides: the *Gaussian copula* of the objective replaces values by
normal scores of their ranks, Φ⁻¹(rank / (n + 1)), which no outlier can spoil; the
*bilog* of a constraint, sgn(c) log(1 + |c| / s), magnifies the surroundings of zero.
The paper has s = 1, which depends on the unit of the constraint; here s is the median
of |c|, as everywhere in this library. Restarts and counters are those of `region_life`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.methods.base import State, fitted
from wideopt.methods.region_life import (
    Life,
    center_of,
    check_options,
    draw_points,
    live,
)
from wideopt.search.trust_region import box, perturbed
from wideopt.surrogates.gp import GaussianProcess

__all__ = ["SCBO", "bilog", "copula", "ranked"]

_INFEASIBLE = 1e6  # above any drawn objective, whose spread is 1


@dataclass(frozen=True)
class SCBO:
    """One trust region, with constraints.

    Attributes:
        length: side of the cube at the start, in the unit cube.
        length_min: the region restarts when its side falls below.
        length_max: the side grows no further.
        n_success: successes in a row that double the side; by default d/10, at least 3.
        n_failure: evaluations without success that halve it; by default d, at least 4.
        n_candidates: points scored; by default 100 d, at most 2000.
        n_design: points of the design after a restart; by default 2 d, in 5 … 20.
    """

    length: float = 0.8
    length_min: float = 0.5**7
    length_max: float = 1.6
    n_success: int | None = None
    n_failure: int | None = None
    n_candidates: int | None = None
    n_design: int | None = None

    def __post_init__(self) -> None:
        check_options(self)

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Count successes and failures, then sample the region; or begin a new one."""
        n_success = self.n_success or max(3, math.ceil(data.n_dims / 10))
        life = Life.of(self, data, n_success)

        def sample(own: Dataset, state: State) -> tuple[Tensor, State]:
            model, state = fitted(GaussianProcess("matern"), _transformed(own), state)
            center = center_of(model, own)
            bounds = box(center, state["length"], torch.ones_like(center))
            X = perturbed(data.space, center, bounds, life.n_candidates, generator)
            points = draw_points(model, data, X, n, generator, ranked)
            return points, {**state, "center": center.tolist()}

        return live(life, data, n, state, generator, sample)


def ranked(draw: PenalizedDraw, X: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
    """Values that order candidates: feasible ones by objective, others by violation."""
    with torch.no_grad():
        drawn = draw.draw(X)
        violation = drawn[:, 1:].relu().sum(dim=1)
    return torch.where(violation > 0, -_INFEASIBLE - violation, -drawn[:, 0])


def _transformed(data: Dataset) -> Dataset:
    """The data with transformed outputs; what is feasible or missing stays so."""
    objective, *constraints = data.Y.unbind(dim=1)
    columns = [copula(objective), *(bilog(c) for c in constraints)]
    return replace(data, Y=torch.stack(columns, dim=1))


def copula(y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Normal scores of the ranks; equal values share the mean of theirs."""
    ordered = y[~y.isnan()].sort().values
    below = torch.searchsorted(ordered, y.contiguous())
    up_to = torch.searchsorted(ordered, y.contiguous(), right=True)
    rank = (below + up_to + 1).to(y) / 2
    scores: Tensor = torch.special.ndtri(rank / (ordered.numel() + 1))
    return scores.masked_fill(y.isnan(), torch.nan)


def bilog(c: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """sgn(c) log(1 + |c| / s), s the median of the known |c| > 0; signs are exact."""
    size = c.abs()
    positive = size[size > 0]
    if positive.numel() == 0:
        return c
    z = (size / positive.median()).clamp(1e-300, 1e300)
    return c.sign() * z.log1p()
