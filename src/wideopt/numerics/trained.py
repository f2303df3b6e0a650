"""A posterior whose mean is the trained network, and whose covariance is the tangent's.

Papers: NeuralBO Alg. 1 (f̃ ~ N(h(.; θ_t), ν²σ²)), Neural-CBO sec. 3.

Notation: h_t = o·h(.; θ_t) trained on the data with ridge λ‖θ - θ_0‖², so that the mean
of the linearized network is its limit for large width.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.conditioning import Posterior, Projection
from wideopt.numerics.dual import DualPosterior
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.kernel import Draw
from wideopt.numerics.network import Weights
from wideopt.numerics.primal import PrimalPosterior
from wideopt.numerics.training import Network, Training, train

__all__ = ["Start", "TrainedPosterior"]

Start = Literal["linearized", "theta_0"]


@dataclass(frozen=True)
class TrainedPosterior(Posterior):
    """Covariance of `base`, mean of a network trained on the same data.

    `extended` and `with_targets` train on, from the weights at hand (warm start), with
    the ridge still towards θ_0.
    """

    base: DualPosterior | PrimalPosterior
    network: Network
    theta_0: Weights
    recipe: Training
    seed: int

    @classmethod
    def of(
        cls,
        base: DualPosterior | PrimalPosterior,
        network: Network,
        recipe: Training,
        *,
        start: Start = "linearized",
        seed: int = 0,
    ) -> TrainedPosterior:
        """Train the network, whose weights are θ_0.

        "linearized" starts at θ_0 + Gᵀα, the closed-form solution of the linearized
        network: training then only has to bend it, where from θ_0 the smooth directions
        of an ill-conditioned kernel take forever. The papers start at "theta_0".
        """
        theta_0 = network.weights
        if start == "linearized":
            network = replace(network, weights=_linearized(base, network))
        start_at = cls(base, network, theta_0, recipe, seed)
        return start_at.trained_on(base)

    def trained_on(self, base: DualPosterior | PrimalPosterior) -> TrainedPosterior:
        """Return the posterior of other data, trained on from the weights at hand."""
        # A function of seed and data size: replayed, it draws the same batches.
        generator = torch.Generator().manual_seed(self.seed + base.n)
        fit = train(
            self.network,
            base.X,
            base.Y,
            self.recipe,
            anchor=self.theta_0,
            ridge=base.noise if self.recipe.is_anchored else 0.0 * base.noise,
            generator=generator,
        )
        return replace(
            self, base=base, network=replace(self.network, weights=fit.weights)
        )

    @property
    def noise(self) -> Float[Tensor, "..."]:  # type: ignore[override]
        """Variance of the observation noise."""
        return self.base.noise

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""
        return self.base.batch

    @property
    def rank(self) -> int:
        """Number of columns of the matrix that `project` makes."""
        return self.base.rank

    @property
    def X(self) -> Float[Tensor, "... n d"]:
        """Points of the data."""
        return self.base.X

    @property
    def Y(self) -> Float[Tensor, "... n"]:
        """Targets of the data."""
        return self.base.Y

    @property
    def information_gain(self) -> Float[Tensor, "..."]:
        """½ log det(I + K/λ)."""
        return self.base.information_gain

    def project(self, A: Float[Tensor, "... q d"]) -> Projection:
        """Return the base's view with the network's mean."""
        return replace(self.base.project(A), mean=self.network(A))

    def cross(self, a: Projection, b: Projection) -> Float[Tensor, "... q k"]:
        """Return the covariance between two sets of points."""
        return self.base.cross(a, b)

    def variance(self, a: Projection) -> Float[Tensor, "... q"]:
        """Return the variance at every point."""
        return self.base.variance(a)

    def extended(
        self, X: Float[Tensor, "... q d"], Y: Float[Tensor, "... k"]
    ) -> TrainedPosterior:
        """Return the posterior with q more observations, trained on from here.

        Y holds the q new targets, or all n + q if the old ones changed as well.
        """
        return self.trained_on(self.base.extended(X, Y))

    def with_targets(self, Y: Float[Tensor, "... n"]) -> TrainedPosterior:
        """Return the posterior for other targets, trained on from here."""
        return self.trained_on(self.base.with_targets(Y))

    def selected(self, outputs: list[int]) -> TrainedPosterior:
        """Return the posterior of some outputs of a batch (o,)."""
        network = Network(
            self.network.architecture,
            self.network.scales.selected(outputs),
            tuple(W[outputs] if W.ndim > 2 else W for W in self.network.weights),
        )
        return replace(self, base=self.base.selected(outputs), network=network)

    def draw(
        self, generator: torch.Generator, n_draws: int = 1, nu: float = 1.0
    ) -> TrainedDraw:
        """Draw h_t plus ν times a joint draw of the covariance's zero-mean process."""
        centered = self.base.with_targets(torch.zeros_like(self.base.Y))
        return TrainedDraw(self.network, centered.draw(generator, n_draws, nu))


@dataclass(frozen=True)
class TrainedDraw(Draw):
    """Functions h_t + g."""

    network: Network
    deviation: Draw

    def __call__(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "s ... n"]:
        """Return the values of all functions at X."""
        return self.network(X) + self.deviation(X)


def _linearized(base: DualPosterior | PrimalPosterior, network: Network) -> Weights:
    """Return θ_0 + Gᵀα in the weights of the whole (unfolded) network.

    An output for which that is worse than θ_0 is too far from the linear regime and
    keeps θ_0.
    """
    if isinstance(base, DualPosterior):
        alpha = base.alpha
    else:
        residual = base.Y - base.kernel.jvp_from(base.side, base.w)
        alpha = residual / base.noise.unsqueeze(-1)
    kernel = TangentKernel(network.architecture, network.weights, network.scales)
    shift = kernel.vjp_from(kernel.represent(base.X), alpha)
    moved = replace(network, weights=kernel.shifted(shift))
    error = (moved(base.X) - base.Y).square().sum(-1)
    is_better = error < (network(base.X) - base.Y).square().sum(-1)
    return tuple(
        torch.where(is_better[..., None, None], new, old)
        for new, old in zip(moved.weights, network.weights, strict=True)
    )
