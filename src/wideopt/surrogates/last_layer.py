"""Bayesian linear regression on the last hidden layer of a trained network.

DNGO: Snoek et al. (2015), section 3. A network is trained on the data; its readout is
then replaced by a Bayesian one, so that a fit costs O(n) in the number of observations.
Where the paper samples prior scale and noise, here they have maximal evidence; and the
prior mean is constant.

Notation: φ(x) (p = width features) last hidden layer, readout w ~ N(0, o² I), noise λ.

    mean = φᵀ(ΦᵀΦ + λ/o² I)⁻¹Φᵀy,   variance = λ φᵀ(ΦᵀΦ + λ/o² I)⁻¹φ
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.linear_evidence import fit_linear_evidence
from wideopt.numerics.network import Architecture, Weights
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.scales import Scales
from wideopt.numerics.training import Network, Training, train
from wideopt.surrogates.moments import Standardization
from wideopt.surrogates.runs import joined, recipes_of, rows_of, runs_of
from wideopt.surrogates.tangent_model import TangentModel

__all__ = ["LastLayer"]

Json: TypeAlias = "dict[str, Any]"

_TRAINING = Training("lbfgs", epochs=50, ridge=0.1)
_INPUT_SCALE = math.sqrt(3.0)  # over √d: then a random point has norm 1 on average


@dataclass(frozen=True)
class LastLayer:
    """A recipe for networks with a Bayesian readout.

    Attributes:
        activation: "tanh", "erf", "sin", "silu" or "relu".
        depth: hidden layers.
        width: units of each, the last of which are the features.
        training: how the network is trained, from its initial weights.
        min_noise: least variance of the noise, in standardized units.
        seed: of the initial weights.
    """

    activation: str = "tanh"
    depth: int = 3
    width: int = 50
    training: Training = _TRAINING
    min_noise: float = 1e-6
    seed: int = 0

    def __post_init__(self) -> None:
        self.architecture  # noqa: B018 # raises if it is not one
        if not self.min_noise > 0:
            raise InputError(f"min_noise must be positive, but got {self.min_noise}.")

    @property
    def architecture(self) -> Architecture:
        """The network."""
        return Architecture(self.depth, self.width, self.activation, "gaussian")

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n outputs"],
        warm: Json | None = None,
    ) -> Model:
        """A model whose network was trained on these data from its initial weights."""
        del warm  # a function of the data alone can be computed again
        return joined([self._fit_run(*rows_of(X, Y, run)) for run in runs_of(Y)])

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], hyper: Json
    ) -> Model:
        """A model with known network, prior scale and noise."""
        return joined(
            [
                self._build(*rows_of(X, Y, run["outputs"]), run["member"])
                for run in hyper["runs"]
            ]
        )

    def hyper(self, model: Model) -> Json:
        """Weights of the networks, prior scales and noise, exact through JSON."""
        return {
            "runs": [
                {"outputs": outputs, "member": recipe[0]}
                for outputs, recipe in recipes_of(model)
            ]
        }

    def _fit_run(self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n o"]) -> Model:
        targets = Standardization.of(Y).apply(Y)
        d, scales = X.shape[1], self._scales(X.shape[1], Y.shape[1])
        generator = torch.Generator().manual_seed(self.seed)
        theta_0 = self.architecture.initial_weights(d, generator)
        network = Network(self.architecture, scales, theta_0)
        fit = train(network, X, targets, self.training, generator=generator)
        H = self._kernel(fit.weights, scales).features(X)
        variance, noise = fit_linear_evidence(H, targets, self.min_noise)
        member = {
            "weights": [W.tolist() for W in fit.weights],
            "output": variance.sqrt().tolist(),
            "noise": noise.tolist(),
        }
        return self._build(X, Y, member)

    def _build(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n o"], member: Json
    ) -> TangentModel:
        standardization = Standardization.of(Y)
        weights = tuple(
            torch.tensor(W, dtype=torch.float64).to(X) for W in member["weights"]
        )
        output = torch.tensor(member["output"], dtype=torch.float64).to(X)
        scales = replace(self._scales(X.shape[1], Y.shape[1]), output=output)
        posterior = fit_posterior(
            self._kernel(weights, scales),
            X,
            standardization.apply(Y),
            torch.tensor(member["noise"], dtype=torch.float64).to(X),
        )
        share = torch.ones(1, Y.shape[1], dtype=torch.float64).to(X)
        return TangentModel([posterior], share, standardization, recipe=[member])

    def _kernel(self, weights: Weights, scales: Scales) -> TangentKernel:
        """The kernel of the last hidden layer alone."""
        return TangentKernel(self.architecture, weights, scales, (self.depth,))

    def _scales(self, d: int, o: int) -> Scales:
        unit = Scales.ones(d, (o,))
        return replace(unit, input=unit.input * _INPUT_SCALE / math.sqrt(d))
