"""Gaussian processes of BoTorch, with dimension-scaled priors and inferred noise.

Model, priors, bounds and start are BoTorch's. So is the marginal likelihood that is
climbed, and the posterior of single points, but both are computed by plain arrays.

The prior of the length scales follows Hvarfner, Hellsten and Nardi (2024): its median
grows with √d, so that a GP stays useful in many dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.model import Model
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.models.transforms.outcome import Standardize
from botorch.models.utils.gpytorch_modules import (
    get_covar_module_with_dim_scaled_prior,
)
from botorch.posteriors.posterior import Posterior
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.stationary import Correlation
from wideopt.numerics.stationary_evidence import LogNormal, StationaryEvidence
from wideopt.surrogates.base import Hyper, outputs_of, quiet
from wideopt.surrogates.gp_marginals import Marginals
from wideopt.surrogates.moments import independent

__all__ = ["GaussianProcess", "StackedGPs", "marginals_of"]

_TINY = 1e-20  # a variance of exactly zero would make log-acquisitions infinite


class _QuickGP(SingleTaskGP):
    """A GP that answers a batch of N single points by one product, not N solves.

    BoTorch scores candidates as a batch (N, 1, d); GPyTorch then copies the training
    set N times.
    """

    kernel: Correlation = "matern"

    @cached_property
    def marginals(self) -> Marginals:
        """What its answers are computed from."""
        return Marginals.of(self, self.kernel)

    def train(self, mode: bool = True) -> Any:
        """Set the mode; what was computed for the old parameters is forgotten."""
        self.__dict__.pop("marginals", None)
        return super().train(mode)

    def posterior(  # type: ignore[override] # the bases differ among themselves
        self, X: Tensor, *args: Any, **kwargs: Any
    ) -> Posterior:
        """The posterior at X."""
        if self.batch_shape or not _is_plain(X, *args, **kwargs):
            return super().posterior(X, *args, **kwargs)
        return _answer(self.marginals, X)


class StackedGPs(ModelListGP):
    """GPs that answer for single points all at once, where they know the same ones."""

    def posterior(  # type: ignore[override]
        self, X: Tensor, *args: Any, **kwargs: Any
    ) -> Posterior:
        """The posterior at X."""
        if self.marginals is None or not _is_plain(X, *args, **kwargs):
            return super().posterior(X, *args, **kwargs)
        return _answer(self.marginals, X)

    @cached_property
    def marginals(self) -> Marginals | None:
        """What its answers are computed from; None if they must be one by one."""
        models: Any = self.models
        if any(model.batch_shape for model in models):
            return None
        return Marginals.stacked([model.marginals for model in models])

    def train(self, mode: bool = True) -> Any:
        """Set the mode; what was computed for the old parameters is forgotten."""
        self.__dict__.pop("marginals", None)
        return super().train(mode)

    def subset_output(self, idcs: list[int]) -> Model:
        """The GPs of some outputs, not copies of them."""
        models: Any = self.models
        return _join([models[i] for i in idcs])


def marginals_of(model: Model) -> Marginals | None:
    """What a model's answers are computed from; None if it is not one of ours."""
    if isinstance(model, StackedGPs):
        return model.marginals
    if isinstance(model, _QuickGP) and not model.batch_shape:
        return model.marginals
    return None


def _is_plain(X: Tensor, *args: Any, **kwargs: Any) -> bool:
    """Whether the posterior of single points is asked for, and nothing more."""
    return X.ndim > 2 and X.shape[-2] == 1 and not args and not any(kwargs.values())


def _answer(marginals: Marginals, X: Float[Tensor, "*b 1 d"]) -> Posterior:
    mean, variance = marginals(X.reshape(-1, X.shape[-1]))
    shape = (*X.shape[:-2], mean.shape[0], 1)
    return independent(
        mean.mT.reshape(shape), variance.clamp_min(_TINY).mT.reshape(shape)
    )


@dataclass(frozen=True)
class GaussianProcess:
    """One exact GP per output.

    Attributes:
        kernel: "matern" (Matérn-5/2) or "rbf".
        max_iter: steps of L-BFGS on the marginal likelihood.
    """

    kernel: Correlation = "matern"
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
            model = _QuickGP(
                X[known],
                y[known].unsqueeze(-1),
                covar_module=get_covar_module_with_dim_scaled_prior(
                    ard_num_dims=X.shape[-1], use_rbf_kernel=self.kernel == "rbf"
                ).to(X),
                outcome_transform=Standardize(m=1),
            )
        model.kernel = self.kernel
        return model

    def _learn(self, model: SingleTaskGP) -> None:
        gp: Any = model
        noise, kernel = gp.likelihood.noise_covar, gp.covar_module
        evidence = StationaryEvidence(
            gp.train_inputs[0].cpu().numpy(),
            gp.train_targets.cpu().numpy(),
            self.kernel,
            _prior(noise.noise_prior),
            _prior(kernel.lengthscale_prior),
        )
        parts = [noise.raw_noise, gp.mean_module.raw_constant, kernel.raw_lengthscale]
        start = torch.cat([p.detach().reshape(-1) for p in parts]).cpu().numpy()
        lower = np.full(
            len(start), float(kernel.raw_lengthscale_constraint.lower_bound)
        )
        lower[0], lower[1] = float(noise.raw_noise_constraint.lower_bound), -np.inf
        theta = torch.from_numpy(evidence.fitted(start, lower, self.max_iter))
        for part, values in zip(
            parts, theta.split([p.numel() for p in parts]), strict=True
        ):
            part.data = values.reshape(part.shape).to(part)
        model.eval()


def _prior(prior: Any) -> LogNormal:
    return LogNormal(float(prior.loc), float(prior.scale))


def _set_parameters(model: SingleTaskGP, values: Hyper) -> None:
    for name, parameter in model.named_parameters():
        value = torch.tensor(values[name], dtype=parameter.dtype)
        parameter.data = value.reshape(parameter.shape).to(parameter.device)


def _join(models: list[SingleTaskGP]) -> Model:
    return models[0] if len(models) == 1 else StackedGPs(*models)
