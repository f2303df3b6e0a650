"""What every posterior offers, and conditioning of any posterior on more points.

Notation:
    A (*t, *b, q, d)   points; b is the batch of outputs, whose dimensions may be
                       singleton or missing in A; t are any dimensions before it
    mean (*t, *b, q), covariance (*t, *b, q, q)
    Conditioning on (X', Y'), with C the covariance of the posterior at hand:
    mean' = mean + C(A, X') S⁻¹ (Y' - mean(X')),  C' = C - C(A, X') S⁻¹ C(X', A),
    S = C(X', X') + λI
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.factor import Factor
from wideopt.numerics.kernel import folded_rows

__all__ = ["ConditionedPosterior", "Posterior", "Projection"]

_CHUNK = 2**20  # float64 values in one working matrix of `marginals` (8 MB)


@dataclass(frozen=True)
class Projection:
    """A posterior's view of some points: mean, and what covariances are made of."""

    mean: Float[Tensor, "... q"]
    V: Float[Tensor, "... q r"]
    side: Any


class Posterior(ABC):
    """Mean and covariance of a batch of functions given data."""

    noise: Float[Tensor, "..."]

    @property
    @abstractmethod
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """Number of columns of the matrix that `project` makes."""

    @abstractmethod
    def project(self, A: Float[Tensor, "... q d"]) -> Projection:
        """Return the view of A from which mean and covariances follow."""

    @abstractmethod
    def cross(self, a: Projection, b: Projection) -> Float[Tensor, "... q k"]:
        """Return the covariance between two sets of points."""

    @abstractmethod
    def variance(self, a: Projection) -> Float[Tensor, "... q"]:
        """Return the variance at every point (the diagonal of `cross`)."""

    def moments(
        self, A: Float[Tensor, "... q d"]
    ) -> tuple[Float[Tensor, "... q"], Float[Tensor, "... q q"]]:
        """Return mean and joint covariance of the q points."""
        a = self.project(A)
        cov = self.cross(a, a)
        return a.mean, cov.expand(*a.mean.shape, cov.shape[-1])

    def marginals(
        self, A: Float[Tensor, "... q d"]
    ) -> tuple[Float[Tensor, "... q"], Float[Tensor, "... q"]]:
        """Return mean and variance of every point, chunk by chunk; variance >= 0."""
        rows, unfold = folded_rows(A, len(self.batch))
        n_chunk = max(64, _CHUNK // (self.rank * max(1, self.batch.numel())))
        chunks = [self._marginal(part) for part in rows.split(n_chunk, dim=-2)]
        mean, variance = (
            unfold(torch.cat(parts, dim=-1).unsqueeze(-1)).squeeze(-1)
            for parts in zip(*chunks, strict=True)
        )
        return mean, variance

    def mean(self, A: Float[Tensor, "... q d"]) -> Float[Tensor, "... q"]:
        """Return the mean of every point."""
        return self.marginals(A)[0]

    def _marginal(self, A: Float[Tensor, "... q d"]) -> tuple[Tensor, Tensor]:
        a = self.project(A)
        return a.mean, self.variance(a).clamp_min(0.0).expand(a.mean.shape)

    def smooth(self) -> Posterior:
        """Return the posterior of the trend, where there is a grain beside it."""
        return self

    def independent_draw(
        self, A: Float[Tensor, "... q d"], generator: torch.Generator
    ) -> Float[Tensor, "... q"]:
        """Draw every point on its own, as the papers' Thompson sampling does.

        It ignores correlations: the maximum over many candidates overshoots what any
        one function of the posterior reaches. `draw` gives functions.
        """
        mean, variance = self.marginals(A)
        z = torch.randn(mean.shape, generator=generator, dtype=mean.dtype)
        return mean + variance.sqrt() * z.to(mean)

    def conditioned(
        self, X: Float[Tensor, "... k d"], Y: Float[Tensor, "... k"]
    ) -> ConditionedPosterior:
        """Condition on k more points, differentiably and for any batch of them.

        Meant for fantasies: nothing of the size of the data is copied. To add
        observations for good, use `extended`.
        """
        new = self.project(X)
        factor = Factor.of(self.cross(new, new), self.noise)
        return ConditionedPosterior(
            self, new, factor, factor.solve(Y - new.mean), self.noise
        )


@dataclass(frozen=True)
class ConditionedPosterior(Posterior):
    """A posterior given k more points; made by `Posterior.conditioned`."""

    base: Posterior
    new: Projection
    factor: Factor
    alpha: Float[Tensor, "... k"]
    noise: Float[Tensor, "..."]

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch, including that of the points conditioned on."""
        return self.alpha.shape[:-1]

    @property
    def rank(self) -> int:
        """Number of columns of the largest matrix made per point."""
        return self.base.rank

    def project(self, A: Float[Tensor, "... q d"]) -> Projection:
        """Return mean and whitened covariance with the new points."""
        a = self.base.project(A)
        C = self.base.cross(a, self.new)
        mean = a.mean + (C @ self.alpha.unsqueeze(-1)).squeeze(-1)
        return Projection(mean, self.factor.half_solve(C), a)

    def cross(self, a: Projection, b: Projection) -> Float[Tensor, "... q k"]:
        """Return the covariance between two sets of points."""
        return self.base.cross(a.side, b.side) - a.V @ b.V.mT

    def variance(self, a: Projection) -> Float[Tensor, "... q"]:
        """Return the variance at every point."""
        return self.base.variance(a.side) - a.V.square().sum(-1)
