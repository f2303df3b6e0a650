"""NeuralUCB and NeuralTS: a trained network and its features at the current weights.

NeuralUCB: Zhou, Li and Gu (2020), Algorithm 1; NeuralTS: Zhang, Zhou, Li and Gu (2021),
Algorithm 1. Bandits by origin: on a finite space the arms are the configs, and with
`repeats` they are pulled again; elsewhere the bound or the draw is searched by
gradient. At every ask the network is trained from θ_0, so that what it suggests is a
function of the data alone.

Notation: h(x) the trained network, g(x) = ∂h/∂θ at its weights θ_t, U = λI + Σ g gᵀ,

    σ²(x) = λ g(x)ᵀ U⁻¹ g(x)
    ucb:  x = argmin h(x) - α σ(x), where the same bounds of all constraints are <= 0
    ts:   x = argmin f̃(x), f̃ ~ N(h, α²σ²), where the drawn constraints are <= 0

As in the papers, h(.; θ_0) = 0 by an antisymmetric start. Their 1/√m in front of g is
part of the network here (see `numerics.network`). A draw of the papers is one number
per arm; here it is a function, whose values have that distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.bounds import LowerBounds, NegativeBound, constraint_bounds
from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import State, check_counts, check_positive, one_by_one
from wideopt.numerics.training import Training
from wideopt.search.design import seed_from
from wideopt.search.maximize import Search, maximize, score
from wideopt.search.within import maximize_within
from wideopt.surrogates.base import outputs_of, quiet
from wideopt.surrogates.tangent import Tangent

__all__ = ["NeuralBandit"]

_INPUT_SCALE = 3.0  # over √d: then a random point has norm √3 on average
_MAX_ITER = 30  # steps of a climb


@dataclass(frozen=True)
class NeuralBandit:
    """A network per output, and a confidence bound or a draw.

    Attributes:
        rule: "ucb" or "ts".
        exploration: α, the factor on the deviation.
        lam: ridge λ, the variance of the noise in standardized units.
        activation: "silu", "tanh", "erf", "sin" or "relu".
        depth: hidden layers.
        width: units of each, an even number.
        n_steps: steps of L-BFGS at every ask, at most.
        n_candidates: points scored before the gradient search.
        n_restarts: gradient climbs.
        repeats: whether a config may be suggested again; for finite spaces only.
    """

    rule: Literal["ucb", "ts"] = "ucb"
    exploration: float = 1.0
    lam: float = 0.01
    activation: str = "silu"
    depth: int = 1
    width: int = 128
    n_steps: int = 50
    n_candidates: int = 1024
    n_restarts: int = 4
    repeats: bool = False

    def __post_init__(self) -> None:
        if self.rule not in ("ucb", "ts"):
            raise InputError(f"rule is 'ucb' or 'ts', but got {self.rule!r}.")
        check_positive(self, "exploration", "lam")
        check_counts(self, "depth", "width", "n_steps", "n_candidates", "n_restarts")
        self._surrogate(seed=0, d=1)

    @property
    def is_bandit(self) -> bool:
        """Whether every pull of an arm counts."""
        return self.repeats

    def _surrogate(self, seed: int, d: int) -> Tangent:
        return Tangent(
            activation=self.activation,
            depth=self.depth,
            width=self.width,
            mean="trained",
            features="current",
            training=Training("lbfgs", epochs=self.n_steps),
            start="theta_0",
            noise=self.lam,
            is_tuned=False,
            input_scale=_INPUT_SCALE / math.sqrt(d),
            seed=seed,
        )

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Train, then choose n points, each aware of the others."""
        state = state if "theta_0" in state else {"theta_0": seed_from(generator)}
        model = self._surrogate(state["theta_0"], data.n_dims).fit(data.X, data.Z)

        def choose(data: Dataset) -> Tensor:
            if self.rule == "ts":  # draws differ by themselves
                seed = seed_from(generator)
                draw = PenalizedDraw.of(model, seed, self.exploration)
                return self._best(draw, LowerBounds([], 0.0), data, generator)
            aware = _hallucinated(model, data)
            bound = NegativeBound(outputs_of(aware)[0], self.exploration)
            constraints = constraint_bounds(aware, self.exploration)
            return self._best(bound, constraints, data, generator)

        return one_by_one(data, n, choose), state

    def _best(
        self,
        acqf: AcquisitionFunction,
        bounds: LowerBounds,
        data: Dataset,
        generator: torch.Generator,
    ) -> Float[Tensor, " d"]:
        if self.repeats:
            return _best_arm(acqf, bounds, data)
        n_local = self.n_candidates // 2
        search = Search(
            self.n_candidates - n_local, n_local, self.n_restarts, _MAX_ITER
        )
        if bounds.models:
            return maximize_within(acqf, bounds, data, generator, search).point
        return maximize(acqf, data, generator, search)


def _hallucinated(model: Model, data: Dataset) -> Model:
    """The model, had every pending point come out at its mean: only σ changes."""
    X = data.X_pending
    if X.shape[0] == 0:
        return model
    with torch.no_grad(), quiet():
        parts: list[Any] = outputs_of(model)
        aware = [p.condition_on_observations(X, p.posterior(X).mean) for p in parts]
    return aware[0] if len(aware) == 1 else ModelList(*aware)


def _best_arm(
    acqf: AcquisitionFunction, bounds: LowerBounds, data: Dataset
) -> Float[Tensor, " d"]:
    """The config of least excess over the bounds and then of highest value."""
    arms = torch.from_numpy(data.space.every_point()).to(data.X)
    with torch.no_grad(), quiet():
        excess = torch.cat([bounds.excess(chunk) for chunk in arms.split(512)])
        values = score(acqf, arms)
    return arms[int(values.masked_fill(excess > excess.min(), -torch.inf).argmax())]
