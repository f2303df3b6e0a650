"""Neural-BO: Thompson sampling on the posterior of a wide network.

Phan-Trong, Tran-The and Gupta (2023), Algorithm 1. Here the posterior is that of the
tangent surrogate, tuned by evidence; a draw is one joint function (Matheron's rule),
minimized by gradient rather than over a grid; and an ask after one tell extends the
factor.

Notation: f̃ = m + ν (draw - m), m the posterior mean; the next point minimizes f̃, with
constraints where the drawn constraints hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError
from wideopt.methods.base import ModelCache, State, check_counts, fitted, one_by_one
from wideopt.search.design import seed_from
from wideopt.search.maximize import Search, maximize
from wideopt.surrogates.tangent import Tangent

__all__ = ["NeuralBO"]


@dataclass(frozen=True)
class NeuralBO:
    """Thompson sampling with wide networks.

    Attributes:
        nu: exploration ν, the factor of the posterior's deviation.
        activation: "auto", "erf", "relu", "sin", "tanh" or "silu".
        depth: hidden layers, if the activation is given.
        width: hidden units; None is infinite.
        n_candidates: points scored before the gradient search.
        n_restarts: gradient climbs.
    """

    nu: float = 1.0
    activation: str = "auto"
    depth: int = 1
    width: int | None = None
    n_candidates: int = 1024
    n_restarts: int = 4
    cache: ModelCache = field(
        default_factory=ModelCache, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not (isinstance(self.nu, int | float) and self.nu > 0):
            raise InputError(f"Option nu must be positive, but got {self.nu!r}.")
        check_counts(self, "n_candidates", "n_restarts", "depth")
        self._surrogate()

    def _surrogate(self) -> Tangent:
        width = math.inf if self.width is None else self.width
        return Tangent(activation=self.activation, depth=self.depth, width=width)

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit, then minimize n draws; they differ by themselves."""
        model, state = fitted(self._surrogate(), data, state, self.cache)
        n_local = self.n_candidates // 2
        search = Search(self.n_candidates - n_local, n_local, self.n_restarts)

        def choose(data: Dataset) -> Tensor:
            draw = PenalizedDraw.of(model, seed_from(generator), self.nu)
            return maximize(draw, data, generator, search)

        return one_by_one(data, n, choose), state
