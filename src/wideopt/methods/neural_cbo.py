"""Neural-CBO: expected improvement where wide networks hold the constraints possible.

Phan-Trong, Tran and Gupta (2025), Algorithm 1: objective and constraints have a network
each, and the next point maximizes EI where LCB_i(x) = u_i(x) - β σ_i(x) <= 0 for all i.
By default the networks are tangent surrogates tuned by evidence, all in one batch; EI
is a logarithm; the search goes on by gradient under the bounds. `faithful` is the
algorithm as printed (see `FaithfulNeuralCBO`).

With a constant β > 0 every point on the edge of the region is more likely infeasible
than not, and where the optimum lies on that edge, as it mostly does, hardly a feasible
point is ever evaluated. So β is drawn anew for every point, N(0, 2²) by default: now
beyond the edge, now within it. And three points in ten minimize a joint posterior draw
among the points that it holds feasible (Thompson sampling, as in `scbo`): where several
local optima promise alike, improvement within bounds alone may stay in the wrong one.
Further:

- no point is within the bounds: β grows to the least value that leaves one;
- no feasible point is known: the probability of feasibility is maximized;
- most of the last points lie next to the best one, amid noise: every other point comes
  from an even look at the space (`outlook`);
- β must exceed `confidence` before that: the message says that no point looks feasible
  (once there are 20 observations and two more a dimension: a model of fewer may be
  wrong about its own certainty).

Notation: u_i, σ_i mean and deviation of constraint i, γ information gain; the least β
at which a point is within its bounds is max_i u_i/σ_i. Lemma 3.5:

    β = B + R √(γ + 2 + 2 log(1/δ))
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from botorch.acquisition.analytic import (
    LogExpectedImprovement,
    LogProbabilityOfFeasibility,
)
from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.at_point import ImprovementAtPoint
from wideopt.acquisition.bounds import constraint_bounds
from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import (
    ModelCache,
    State,
    check_counts,
    check_positive,
    fitted,
    hallucinated,
    incumbent,
    one_by_one,
    scaled_when_fitted,
    trend_or_all,
)
from wideopt.methods.blind import filling, is_blind, lost
from wideopt.methods.condense import condensed
from wideopt.methods.faithful import check_mode
from wideopt.methods.faithful_neural_cbo import FaithfulNeuralCBO
from wideopt.methods.feasibility import explained, least_need, outside
from wideopt.methods.outlook import is_staying, outlook
from wideopt.search.design import seed_from
from wideopt.search.maximize import Search, maximize
from wideopt.search.within import maximize_within
from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.tangent import Tangent

__all__ = ["NeuralCBO", "theoretical_beta"]

_SPREAD = 2.0  # deviation of a drawn β; with 1, runs were caught in local optima more
_DRAW_SHARE = 0.3  # of points by Thompson sampling; without any, some runs stay local
_OUTLOOK_SHARE = 0.5  # of points, where a search stays in one place amid noise
_MARGIN = 0.1  # added to the least β that leaves a point, so that it leaves a region
_N_JUDGED = 20  # observations, plus two a dimension, before the message
_PAPER_ONLY = ("lr", "width")


@dataclass(frozen=True)
class NeuralCBO:
    """Expected improvement within the lower bounds of the constraints.

    Attributes:
        beta: confidence factor β of the bounds: a number, "sampled" from N(0, 2²) for
            every point, or "theory" for Lemma 3.5; by default sampled, and 0.5 if
            faithful.
        B: bound on the norm of each constraint, for "theory"; outputs are standardized.
        R: deviation of the noise, for "theory"; by default that of the model.
        delta: probability that the bounds behind "theory" fail.
        confidence: β beyond which a problem is called infeasible.
        draw_share: of points that minimize a joint draw instead, once a feasible one is
            known; by default 0.3 where β is sampled, else 0.
        activation: "auto", "erf", "relu", "sin", "bowl"; "auto" averages by evidence,
            and is relu if faithful.
        depth: hidden layers, if the activation is given; 2 if faithful.
        n_candidates: points scored; by default 1024, and 10,000 if faithful.
        n_restarts: searches by gradient, 2 by default; there are none if faithful.
        bend_spread: how far each axis may be bent, as if a parameter had been given on
            a logarithmic scale, where evidence asks for it; 0 leaves all straight.
        has_grain: whether surrogates may have a grain, ripples beside a trend, where
            evidence asks for it; half of the points are then of the trend alone.
        is_warped: whether evidence chooses the scale of outputs: that of the objective
            logarithmic or not (`data.warp`), tails compressed or not (`data.tails`). If
            faithful, no scale is, and what lies far out is always compressed.
        faithful: whether to follow the paper to the letter. These are for that only:
        lr: learning rate α, 0.001 by default.
        width: hidden units m, 200 by default; the paper has the number of evaluations.
    """

    beta: float | str | None = None
    B: float = 1.0
    R: float | None = None
    delta: float = 0.1
    confidence: float = 4.0
    draw_share: float | None = None
    activation: str = "auto"
    depth: int | None = None
    n_candidates: int | None = None
    n_restarts: int | None = None
    bend_spread: float = 1.0
    has_grain: bool = False
    is_warped: bool = True
    faithful: bool = False
    lr: float | None = None
    width: int | None = None
    cache: ModelCache = field(
        default_factory=ModelCache, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._check_numbers()
        counts = ("n_candidates", "n_restarts", "depth", "width")
        check_counts(self, *(n for n in counts if getattr(self, n) is not None))
        check_mode(self, _PAPER_ONLY)
        if self.faithful:
            self._paper()
        else:
            self._surrogate()

    def _check_numbers(self) -> None:
        beta = self.beta
        is_number = isinstance(beta, int | float) and math.isfinite(beta)
        if beta is not None and not is_number and beta not in ("sampled", "theory"):
            raise InputError(
                f"Option beta is a number, 'sampled' or 'theory', but got {beta!r}."
            )
        check_positive(self, "B", "R", "confidence")
        if self.draw_share is not None and not 0 <= self.draw_share <= 1:
            raise InputError(
                "Option draw_share must lie between 0 and 1, but got "
                f"{self.draw_share}."
            )
        if not 0 < self.delta < 1:
            raise InputError(
                f"Option delta must lie between 0 and 1, but got {self.delta}."
            )

    def _paper(self) -> FaithfulNeuralCBO:
        activation = "relu" if self.activation == "auto" else self.activation
        names = ("depth", "n_candidates", *_PAPER_ONLY)
        given = {n: v for n in names if (v := getattr(self, n)) is not None}
        return FaithfulNeuralCBO(activation, **given)

    def _surrogate(self) -> Tangent:
        return Tangent(
            activation=self.activation,
            depth=self.depth or 1,
            bend_spread=self.bend_spread,
            has_grain=self.has_grain,
        )

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit, then choose n points, each aware of the others."""
        if self.faithful:
            paper = self._paper()
            model, state = paper.fitted(data, state, generator, self.cache)
            beta = 0.5 if self.beta is None else self._beta(model, generator)
            points, is_outside = paper.chosen(model, data, n, beta, generator)
            return points, outside(state, beta, is_outside=is_outside)
        data, state = condensed(data, state)
        surrogate = self._surrogate()
        if self.is_warped:
            data, state = scaled_when_fitted(data, state)
        base, state = fitted(surrogate, data, state, self.cache)
        needs: list[float] = []
        is_lost = is_blind(base, data)
        looks = self._share > 0 and is_staying(base, data)

        def choose(data: Dataset) -> Tensor:
            nonlocal state
            if is_lost:
                return filling(data, generator)
            if looks and float(torch.rand(1, generator=generator)) < _OUTLOOK_SHARE:
                needs.append(-math.inf)
                point, state = self._far(data, state, generator)
                return point
            model = hallucinated(surrogate, data, base, state)
            shown = trend_or_all(model, generator)
            point, need = self.chosen(shown, data, generator)
            needs.append(need)
            return point

        points = one_by_one(data, n, choose)
        if is_lost:
            return points, lost(state, is_lost=True)
        is_early = data.n < _N_JUDGED + 2 * data.n_dims
        need = -math.inf if is_early else needs[0]
        return points, explained(state, need, self.confidence)

    def chosen(
        self, model: Model, data: Dataset, generator: torch.Generator
    ) -> tuple[Float[Tensor, " d"], float]:
        """The next point, and the least β that leaves any (-∞ if that is known)."""
        search = self._search
        bounds = constraint_bounds(model, self._beta(model, generator))
        objective = outputs_of(model)[0]
        best = incumbent(objective, data)
        improvement = LogExpectedImprovement(objective, best_f=best, maximize=False)
        if not bounds.models:
            return maximize(improvement, data, generator, search), -math.inf
        if not bool(data.is_feasible.any()):
            said = self.confidence
            need = least_need(bounds, data, generator, search, said=said)
            chances = LogProbabilityOfFeasibility(model, _at_most_zero(model))
            return maximize(chances, data, generator, search), need
        if float(torch.rand(1, generator=generator)) < self._share:
            draw = PenalizedDraw.of(model, seed_from(generator))
            return maximize(draw, data, generator, search), -math.inf
        if bounds.beta < 0:  # else what is known to be feasible is within the bounds
            enough = bounds.beta - _MARGIN
            need = least_need(bounds, data, generator, search, enough)
            bounds = replace(bounds, beta=max(bounds.beta, need + _MARGIN))
        at_point = ImprovementAtPoint.of(model, best, bounds.beta)
        found = maximize_within(improvement, bounds, data, generator, search, at_point)
        return found.point, -math.inf

    def _far(
        self, data: Dataset, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, " d"], State]:
        """A point by a draw from the outlook, and the state with what it remembers."""
        model, known = outlook(data, state.get("outlook", {}), self.bend_spread)
        draw = PenalizedDraw.of(model, seed_from(generator))
        point = maximize(draw, data, generator, self._search)
        return point, {**state, "outlook": known}

    @property
    def _search(self) -> Search:
        n_candidates = self.n_candidates or 1024
        n_local = n_candidates // 2
        return Search(n_candidates - n_local, n_local, self.n_restarts or 2, 50)

    @property
    def _share(self) -> float:
        if self.draw_share is not None:
            return self.draw_share
        return _DRAW_SHARE if self.beta in (None, "sampled") else 0.0

    def _beta(self, model: Model, generator: torch.Generator) -> float:
        if self.beta is None or self.beta == "sampled":
            z = torch.randn(1, generator=generator, dtype=torch.float64)
            return _SPREAD * float(z)
        if self.beta != "theory":
            return float(self.beta)
        parts: Any = list(model.models) if isinstance(model, ModelList) else [model]
        gain = max(float(part.information_gain.max()) for part in parts)
        noise = max(float(part.noise.max()) for part in parts)
        R = math.sqrt(noise) if self.R is None else self.R
        return theoretical_beta(self.B, R, self.delta, gain)


def theoretical_beta(B: float, R: float, delta: float, gain: float) -> float:
    """β = B + R √(γ + 2 + 2 log(1/δ)), Lemma 3.5."""
    return B + R * math.sqrt(gain + 2.0 - 2.0 * math.log(delta))


def _at_most_zero(model: Model) -> dict[int, tuple[float | None, float | None]]:
    return dict.fromkeys(range(1, model.num_outputs), (None, 0.0))
