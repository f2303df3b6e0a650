"""A BoTorch model made of moments: the plumbing, written once for every surrogate.

A surrogate supplies mean and covariance of its standardized outputs; this module makes
of them a model that BoTorch's acquisitions take as it stands: batches, several outputs,
observation noise, posterior transforms, subsets, conditioning and fantasies.

Notation: X (*t, q, d); o outputs; mean (*t, o, q), covariance (*t, o, q, q).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import FantasizeMixin, Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from gpytorch.constraints import GreaterThan
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods import GaussianLikelihood
from jaxtyping import Float
from linear_operator import to_linear_operator
from linear_operator.operators import DiagLinearOperator
from torch import Tensor

__all__ = ["MomentModel", "Standardization", "independent"]

_TINY = 1e-20  # a variance of exactly zero would make log-acquisitions infinite


@dataclass(frozen=True)
class Standardization:
    """Shift and scale of each output: part of the model."""

    shift: Float[Tensor, " o"]
    scale: Float[Tensor, " o"]

    @classmethod
    def of(cls, Y: Float[Tensor, "n o"]) -> Standardization:
        """Mean 0 and deviation 1; a constant output is only shifted."""
        shift = Y.mean(dim=0)
        scale = (Y - shift).square().mean(dim=0).sqrt()
        is_constant = scale <= 1e-12 * Y.abs().amax(dim=0)
        return cls(shift, torch.where(is_constant, torch.ones_like(scale), scale))

    def apply(self, Y: Float[Tensor, "... n o"]) -> Float[Tensor, "... o n"]:
        """Outputs as the surrogate sees them."""
        return ((Y - self.shift) / self.scale).mT

    def subset(self, outputs: list[int]) -> Standardization:
        """The part for some outputs."""
        return Standardization(self.shift[outputs], self.scale[outputs])


class MomentModel(Model, FantasizeMixin):
    """A model whose posterior is Gaussian with given moments."""

    def __init__(self, standardization: Standardization, *, batch: torch.Size) -> None:
        super().__init__()
        self.standardization = standardization
        self._batch = batch
        self.eval()

    @abstractmethod
    def moments(
        self, X: Float[Tensor, "... q d"]
    ) -> tuple[Float[Tensor, "... o q"], Float[Tensor, "... o q q"]]:
        """Joint mean and covariance of the standardized outputs."""

    @abstractmethod
    def marginals(
        self, X: Float[Tensor, "... q d"]
    ) -> tuple[Float[Tensor, "... o q"], Float[Tensor, "... o q"]]:
        """Mean and variance of the standardized outputs, point by point."""

    @property
    @abstractmethod
    def noise(self) -> Float[Tensor, "... o"]:
        """Variance of the observation noise of each standardized output."""

    @property
    def likelihood(self) -> GaussianLikelihood:
        """The noise as BoTorch asks for it: Gaussian, of inferred size."""
        likelihood = GaussianLikelihood(noise_constraint=GreaterThan(0.0))
        likelihood.noise = self.noise.detach().mean().clamp_min(_TINY)
        return likelihood.to(self.standardization.shift)

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return self.standardization.shift.shape[0]

    @property
    def batch_shape(self) -> torch.Size:
        """Batch of the model: empty, or that of the fantasies it was given."""
        return self._batch

    def posterior(  # type: ignore[override]  # BoTorch's mixin has a narrower one
        self,
        X: Float[Tensor, "... q d"],
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """The joint posterior of the outputs at X, in the units of the data."""
        if output_indices is not None:
            return self.subset_output(output_indices).posterior(
                X, None, observation_noise, posterior_transform
            )
        X = self.transform_inputs(X)
        is_single = X.shape[-2] == 1
        mean, spread = self.marginals(X) if is_single else self.moments(X)
        scale = self.standardization.scale.unsqueeze(-1)
        mean = self.standardization.shift.unsqueeze(-1) + scale * mean
        noise = self._added_noise(observation_noise, mean)
        if is_single:
            variance = (spread * scale.square() + noise).clamp_min(_TINY)
            posterior = independent(mean, variance)
        else:
            C = spread * scale.square().unsqueeze(-1) + torch.diag_embed(noise)
            posterior = _joint(mean, C)
        if posterior_transform is not None:
            posterior = posterior_transform(posterior)
        return posterior

    def _added_noise(
        self, wanted: bool | Tensor, mean: Float[Tensor, "... o q"]
    ) -> Float[Tensor, "... o q"]:
        if isinstance(wanted, Tensor):
            return wanted.mT.expand(mean.shape)  # given per point and output
        if not wanted:
            return torch.zeros_like(mean)
        variance = self.noise * self.standardization.scale.square()
        return variance.unsqueeze(-1).expand(mean.shape)

    @abstractmethod
    def subset_output(self, idcs: list[int]) -> MomentModel:
        """The model of some of the outputs."""

    @abstractmethod
    def condition_on_observations(
        self, X: Tensor, Y: Tensor, **kwargs: Any
    ) -> MomentModel:
        """The model given more observations, for a whole batch of them at once."""


def independent(
    mean: Float[Tensor, "... o 1"], variance: Float[Tensor, "... o 1"]
) -> Posterior:
    """Posterior of one point: independent outputs, hence a diagonal covariance."""
    if mean.shape[-2] == 1:
        mean, variance = mean.squeeze(-2), variance.squeeze(-2)
        return GPyTorchPosterior(MultivariateNormal(mean, DiagLinearOperator(variance)))
    return GPyTorchPosterior(
        MultitaskMultivariateNormal(
            mean.mT, DiagLinearOperator(variance.squeeze(-1)), interleaved=True
        )
    )


def _joint(
    mean: Float[Tensor, "... o q"], covariance: Float[Tensor, "... o q q"]
) -> Posterior:
    C = 0.5 * (covariance + covariance.mT)
    if mean.shape[-2] == 1:
        return GPyTorchPosterior(
            MultivariateNormal(mean.squeeze(-2), to_linear_operator(C.squeeze(-3)))
        )
    return GPyTorchPosterior(
        MultitaskMultivariateNormal.from_batch_mvn(
            MultivariateNormal(mean, to_linear_operator(C)), task_dim=-1
        )
    )
