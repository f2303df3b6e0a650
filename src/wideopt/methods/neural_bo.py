"""Neural-BO: Thompson sampling on the posterior of a wide network.

Phan-Trong, Tran-The and Gupta (2023), Algorithms 1 and 2. By default the posterior is
that of the tangent surrogate, tuned by evidence; a draw is one joint function
(Matheron's rule), minimized by gradient rather than over a grid. `faithful` is the
algorithm as printed, with the settings of section 7 (see `FaithfulNeuralBO`). In both,
an ask after one tell extends the factor.

Notation: f̃ = m + ν (draw - m), m the posterior mean; the next point minimizes f̃, with
constraints where the drawn constraints hold. By default ν is drawn anew, too, between
0.1 and 1 on a logarithmic scale: now the mean counts, now what is unknown. Where the
surrogate has found ripples beside a trend (`numerics.grain`), half of the draws are of
the trend alone: a draw of all has its minimum in the ripple that is known best. Of the
paper (Theorem 1), with B a bound on the norm of f in the space of the kernel, R the
deviation of the noise, λ the ridge, 1 - α the confidence, and γ_t = ½ log det(I + K/λ):

    theory:    ν_t = √2 B + R/√λ √(2 log(1/α))
    adaptive:  ν_t = √2 B + R/√λ √(2 γ_t + 2 log(1/α))

Theorem 1 rests on Lemma 3.3, which needs points chosen independently of the noise. They
are not, which is what γ_t pays for (Abbasi-Yadkori, Pál and Szepesvári 2011, Thm. 1).
Section 4 prints √2 log(1/α); the theorem and the lemma have the root over both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import (
    ModelCache,
    State,
    check_counts,
    check_positive,
    fitted,
    one_by_one,
    scaled_when_fitted,
    trend_or_all,
)
from wideopt.methods.blind import filling, is_blind, lost
from wideopt.methods.condense import condensed
from wideopt.methods.faithful import check_mode
from wideopt.methods.faithful_neural_bo import FaithfulNeuralBO
from wideopt.search.design import seed_from
from wideopt.search.maximize import Search, maximize
from wideopt.surrogates.tangent import Tangent

__all__ = ["NeuralBO", "theoretical_nu"]

_RULES = ("sampled", "theory", "adaptive")
_LOW = 0.1  # of a sampled ν; with 1 alone, runs in ten dimensions stay at the boundary
_PAPER_ONLY = ("lam", "lr", "epochs", "batch_size")


@dataclass(frozen=True)
class NeuralBO:
    """Thompson sampling with wide networks.

    Attributes:
        nu: exploration ν, the factor of the posterior's deviation: a number, "sampled"
            anew for every draw between 0.1 and 1, or computed by "theory" or
            "adaptive"; by default sampled, and 1 if faithful.
        B: bound on the objective's norm, for a computed ν; outputs are standardized.
        R: deviation of the noise, for a computed ν; by default √λ.
        alpha: probability that the bound behind a computed ν fails.
        activation: "auto", "erf", "relu", "sin", "bowl", "tanh" or "silu"; "auto"
            averages by evidence, and is relu if faithful.
        depth: hidden layers, if the activation is given.
        width: hidden units; None is infinite, and 500 if faithful.
        n_candidates: points scored, before the gradient search unless faithful; by
            default 1024, and 10,000 if faithful.
        n_restarts: gradient climbs, 4 by default; there are none if faithful.
        bend_spread: how far each axis may be bent, as if a parameter had been given on
            a logarithmic scale, where evidence asks for it; 0 leaves all straight.
        has_grain: whether the surrogate may have a grain, ripples beside a trend, where
            evidence asks for it; half of the draws are then of the trend alone.
        has_curves: whether a sum of functions of one parameter each is among the
            networks that "auto" averages by evidence.
        is_warped: whether evidence chooses the scale of outputs: that of the objective
            logarithmic or not (`data.warp`), tails compressed or not (`data.tails`). If
            faithful, no scale is, and what lies far out is always compressed.
        faithful: whether to follow the paper to the letter. These are for that only:
        lam: ridge λ, 0.01 by default.
        lr: learning rate η of the paper's parametrization, 0.001 by default.
        epochs: of training at every ask, 50 by default.
        batch_size: rows of a step of SGD, 50 by default.
    """

    nu: float | str | None = None
    B: float = 1.0
    R: float | None = None
    alpha: float = 0.1
    activation: str = "auto"
    depth: int = 1
    width: int | None = None
    n_candidates: int | None = None
    n_restarts: int | None = None
    bend_spread: float = 1.0
    has_grain: bool = True
    has_curves: bool = True
    is_warped: bool = True
    faithful: bool = False
    lam: float | None = None
    lr: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    cache: ModelCache = field(
        default_factory=ModelCache, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._check_nu()
        given = [
            name
            for name in ("n_candidates", "n_restarts", "width")
            if getattr(self, name) is not None
        ]
        check_counts(self, "depth", *given)
        check_mode(self, _PAPER_ONLY)
        if self.faithful:
            self._paper()
        else:
            self._surrogate()

    def _check_nu(self) -> None:
        nu = self.nu
        is_number = isinstance(nu, int | float) and nu > 0
        if nu is not None and not is_number and nu not in _RULES:
            raise InputError(
                "Option nu must be positive, 'sampled', 'theory' or 'adaptive', but "
                f"got {nu!r}."
            )
        check_positive(self, "B", "R")
        if not 0 < self.alpha < 1:
            raise InputError(
                f"Option alpha must lie between 0 and 1, but got {self.alpha}."
            )

    def _paper(self) -> FaithfulNeuralBO:
        activation = "relu" if self.activation == "auto" else self.activation
        names = ("width", "n_candidates", *_PAPER_ONLY)
        given = {n: v for n in names if (v := getattr(self, n)) is not None}
        return FaithfulNeuralBO(activation, self.depth, **given)

    def _surrogate(self) -> Tangent:
        width = math.inf if self.width is None else self.width
        return Tangent(
            activation=self.activation,
            depth=self.depth,
            width=width,
            bend_spread=self.bend_spread,
            has_grain=self.has_grain,
            has_curves=self.has_curves,
        )

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit, then minimize n draws; they differ by themselves."""
        if self.faithful:
            paper = self._paper()
            model, state = paper.fitted(data, state, generator, self.cache)
            nu, state = self._exploration(model, state)
            return paper.chosen(
                model, data, n, nu or _sampled(generator), generator
            ), state
        data, state = condensed(data, state)
        surrogate = self._surrogate()
        if self.is_warped:
            data, state = scaled_when_fitted(data, state)
        model, state = fitted(surrogate, data, state, self.cache)
        nu, state = self._exploration(model, state)
        n_candidates = self.n_candidates or 1024
        n_local = n_candidates // 2
        search = Search(n_candidates - n_local, n_local, self.n_restarts or 4)

        is_lost = is_blind(model, data)

        def choose(data: Dataset) -> Tensor:
            if is_lost:
                return filling(data, generator)
            factor = _sampled(generator) if nu is None else nu
            shown = trend_or_all(model, generator)
            draw = PenalizedDraw.of(shown, seed_from(generator), factor)
            return maximize(draw, data, generator, search)

        return one_by_one(data, n, choose), lost(state, is_lost=is_lost)

    def _exploration(self, model: Model, state: State) -> tuple[float | None, State]:
        """ν (None is sampled), and the state with it if it was computed.

        That of the objective is for all.
        """
        if self.nu is None and self.faithful:
            return 1.0, state
        if self.nu in (None, "sampled"):
            return None, state
        if not isinstance(self.nu, str):
            return self.nu, state
        first: Any = model.models[0] if isinstance(model, ModelList) else model
        noise, gain = float(first.noise[0]), float(first.information_gain[0])
        noise_ratio = 1.0 if self.R is None else self.R / math.sqrt(noise)
        gain = gain if self.nu == "adaptive" else 0.0
        nu = theoretical_nu(self.B, noise_ratio, self.alpha, gain)
        return nu, {**state, "nu": nu}


def _sampled(generator: torch.Generator) -> float:
    u = torch.rand(1, generator=generator, dtype=torch.float64)
    return float(_LOW ** (1.0 - u))


def theoretical_nu(
    B: float, noise_ratio: float, alpha: float, gain: float = 0.0
) -> float:
    """ν_t = √2 B + R/√λ √(2 γ + 2 log(1/α)), with R/√λ the noise ratio."""
    return math.sqrt(2.0) * B + noise_ratio * math.sqrt(2.0 * (gain - math.log(alpha)))
