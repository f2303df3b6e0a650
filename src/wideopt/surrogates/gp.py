"""Gaussian processes by BoTorch, with dimension-scaled priors and inferred noise.

The prior of the length scales follows Hvarfner, Hellsten and Nardi (2024): its median
grows with √d, so that a GP stays useful in many dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.model import Model
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.models.transforms.outcome import Standardize
from botorch.models.utils.gpytorch_modules import (
    get_covar_module_with_dim_scaled_prior,
)
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.mlls import ExactMarginalLogLikelihood
from jaxtyping import Float
from linear_operator.operators import DiagLinearOperator
from linear_operator.utils.errors import NanError, NotPSDError
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.surrogates.base import Hyper, outputs_of, quiet

__all__ = ["GaussianProcess"]


class _MarginalGP(SingleTaskGP):
    """A GP that answers a batch of N single points by one solve, not N.

    BoTorch scores candidates as a batch (N, 1, d); GPyTorch then copies the training
    set N times. The marginals of the joint posterior at (N, d) are the same numbers.
    """

    def posterior(  # type: ignore[override] # the bases differ among themselves
        self, X: Tensor, *args: Any, **kwargs: Any
    ) -> Posterior:
        """The posterior at X."""
        if X.ndim < 3 or X.shape[-2] != 1 or args or any(kwargs.values()):
            return super().posterior(X, *args, **kwargs)
        joint = super().posterior(X.reshape(-1, X.shape[-1]))
        shape = X.shape[:-1]
        mean, variance = joint.mean.reshape(shape), joint.variance.reshape(shape)
        return GPyTorchPosterior(
            MultivariateNormal(mean, DiagLinearOperator(variance.clamp_min(1e-20)))
        )


@dataclass(frozen=True)
class GaussianProcess:
    """One exact GP per output.

    Attributes:
        kernel: "matern" (Matérn-5/2) or "rbf".
        max_iter: steps of L-BFGS on the marginal likelihood.
    """

    kernel: Literal["matern", "rbf"] = "matern"
    max_iter: int = 200

    def __post_init__(self) -> None:
        if self.kernel not in ("matern", "rbf"):
            raise InputError(
                f"A GP kernel is 'matern' or 'rbf', but got {self.kernel!r}."
            )

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n outputs"],
        warm: Hyper | None = None,
    ) -> Model:
        """GPs with hyper-parameters of maximal posterior density, from scratch."""
        del warm  # BoTorch's own start is as good, and never stuck
        models = [self._blank(X, y) for y in Y.unbind(dim=1)]
        for model in models:
            self._learn(model)
        return _join(models)

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], hyper: Hyper
    ) -> Model:
        """GPs with known hyper-parameters."""
        models = [self._blank(X, y) for y in Y.unbind(dim=1)]
        for model, known in zip(models, hyper["outputs"], strict=True):
            _set_parameters(model, known)
            model.eval()
        return _join(models)

    def hyper(self, model: Model) -> Hyper:
        """Raw parameters of each output's GP."""
        return {
            "outputs": [
                {name: p.tolist() for name, p in output.named_parameters()}
                for output in outputs_of(model)
            ]
        }

    def _blank(self, X: Tensor, y: Tensor) -> SingleTaskGP:
        known = ~y.isnan()
        with quiet():
            return _MarginalGP(
                X[known],
                y[known].unsqueeze(-1),
                covar_module=get_covar_module_with_dim_scaled_prior(
                    ard_num_dims=X.shape[-1], use_rbf_kernel=self.kernel == "rbf"
                ).to(X),
                outcome_transform=Standardize(m=1),
            )

    def _learn(self, model: SingleTaskGP) -> None:
        start = {name: p.tolist() for name, p in model.named_parameters()}
        mll = ExactMarginalLogLikelihood(model.likelihood, model)
        try:
            with quiet():
                fit_gpytorch_mll(
                    mll,
                    optimizer_kwargs={"options": {"maxiter": self.max_iter}},
                    max_attempts=1,
                )
        except (ModelFittingError, NotPSDError, NanError, RuntimeError, ValueError):
            _set_parameters(model, start)  # the prior's own values are a fair model
        model.eval()


def _set_parameters(model: SingleTaskGP, values: Hyper) -> None:
    for name, parameter in model.named_parameters():
        value = torch.tensor(values[name], dtype=parameter.dtype)
        parameter.data = value.reshape(parameter.shape).to(parameter.device)


def _join(models: list[SingleTaskGP]) -> Model:
    return models[0] if len(models) == 1 else ModelListGP(*models)
