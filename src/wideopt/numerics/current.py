"""A trained network with the covariance of its features at the trained weights.

Papers: NeuralUCB, Zhou, Li and Gu (2020), Algorithm 1; NeuralTS, Zhang et al. (2021).

Notation: g(x) = ∂h/∂θ at θ_t, the weights after training, for the data as well as for
new points; U = λI + Σ_i g(x_i) g(x_i)ᵀ and σ² = λ gᵀU⁻¹g = k_xx - k_xᵀ(K + λI)⁻¹k_x
with k the tangent kernel at θ_t. The papers leave the g(x_i) of earlier rounds as they
were then; here all are those of now, which is what the dual form needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from wideopt.numerics.dual import DualPosterior
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.primal import PrimalPosterior
from wideopt.numerics.trained import TrainedPosterior

__all__ = ["CurrentPosterior"]


@dataclass(frozen=True)
class CurrentPosterior(TrainedPosterior):
    """Mean and covariance of the trained network; every training renews both."""

    def trained_on(self, base: DualPosterior | PrimalPosterior) -> CurrentPosterior:
        """Return the posterior of other data: trained, then with new features."""
        trained = super().trained_on(base)
        network = trained.network
        kernel = TangentKernel(network.architecture, network.weights, network.scales)
        renewed = fit_posterior(kernel, base.X, base.Y, base.noise)
        return CurrentPosterior(
            renewed, network, trained.theta_0, trained.recipe, trained.seed
        )
