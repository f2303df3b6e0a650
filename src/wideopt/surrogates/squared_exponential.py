"""A Gaussian process with the squared exponential kernel, made for many quick fits.

All outputs are one batch, hyper-parameters are learned by evidence from where they were
last, and the factor grows with the data: for agents who fit a small model every round.
With `length_scale` and `noise` given it is the fixed GP of theory (DMABO, section 3.2):
zero mean, unit variance, in the units of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.evidence import fit_evidence, inflation
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.scales import Scales
from wideopt.numerics.squared_exponential import SquaredExponentialKernel
from wideopt.surrogates.moments import Standardization
from wideopt.surrogates.runs import joined, recipes_of, rows_of, runs_of
from wideopt.surrogates.tangent_model import TangentModel

__all__ = ["SquaredExponential"]

_PRIOR = Prior(input_scale=1.0)


@dataclass(frozen=True)
class SquaredExponential:
    """One GP for each output, all of them fitted at once.

    Attributes:
        length_scale: in the unit cube, if it is known; then `noise` must be given too.
        noise: variance of the noise, in the units of the data.
        output_scale: prior deviation, in the units of the data, if the rest is known.
    """

    length_scale: float | None = None
    noise: float | None = None
    output_scale: float = 1.0

    def __post_init__(self) -> None:
        if (self.length_scale is None) != (self.noise is None):
            raise InputError(
                "length_scale and noise are both given or both learned, but got "
                f"{self.length_scale} and {self.noise}."
            )
        for name in ("length_scale", "noise", "output_scale"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} must be positive, but got {value}.")

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n outputs"],
        warm: dict[str, Any] | None = None,
    ) -> Model:
        """GPs with hyper-parameters of maximal evidence, climbed from `warm`."""
        runs = runs_of(Y)
        known = (warm or {}).get("runs", [])
        is_known = [run["outputs"] for run in known] == [list(r) for r in runs]
        models = []
        for i, run in enumerate(runs):
            rows = rows_of(X, Y, run)
            start = Hyper.from_json(known[i]["hyper"]) if is_known else None
            models.append(self._build(*rows, self._learned(*rows, start)))
        return joined(models)

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], hyper: Any
    ) -> Model:
        """GPs with known hyper-parameters."""
        return joined(
            [
                self._build(*rows_of(X, Y, run["outputs"]), run["hyper"])
                for run in hyper["runs"]
            ]
        )

    def hyper(self, model: Model) -> dict[str, Any]:
        """Scales and noise of each output, exact through JSON."""
        return {
            "runs": [
                {"outputs": outputs, "hyper": recipe[0]}
                for outputs, recipe in recipes_of(model)
            ]
        }

    def _learned(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n o"], warm: Hyper | None
    ) -> dict[str, Any]:
        d, o = X.shape[1], Y.shape[1]
        if self.length_scale is not None and self.noise is not None:
            scales = [0.5 / self.length_scale] * d
            scales += [1.0, self.output_scale, self.noise]
            psi = torch.tensor(scales, dtype=torch.float64).log()
            return Hyper.from_vector(psi.expand(o, d + 3)).to_json()
        targets = Standardization.of(Y).apply(Y)
        kernel = SquaredExponentialKernel(Scales.ones(d))
        starts = [warm] if warm is not None else _PRIOR.starts(d, (o,))
        best = fit_evidence(kernel, X, targets, starts, _PRIOR)
        factor = inflation(kernel, X, targets, best.hyper)
        return best.hyper.inflated(factor).to_json()

    def _build(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n o"], hyper: dict[str, Any]
    ) -> TangentModel:
        known = Hyper.from_json(hyper)
        scaling = self._scaling(Y)
        kernel = SquaredExponentialKernel(known.scales)
        member = fit_posterior(kernel, X, scaling.apply(Y), known.noise)
        weights = torch.ones(1, Y.shape[1]).to(X)
        return TangentModel([member], weights, scaling, recipe=[hyper])

    def _scaling(self, Y: Float[Tensor, "n o"]) -> Standardization:
        if self.length_scale is None:
            return Standardization.of(Y)
        one = torch.ones(Y.shape[1]).to(Y)
        return Standardization(torch.zeros_like(one), one)
