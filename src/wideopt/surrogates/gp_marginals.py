"""Means and variances of GPs at single points, without GPyTorch's machinery.

A climb asks for one point at a time, hundreds of times an ask; GPyTorch's lazy tensors
then take ten times as long as the numbers themselves. These are the same numbers, of
one GP or of several with data at the same points.

Notation: o outputs, y standardized, s² noise, m mean, k correlations (`stationary`),
k_x those of a point with the data, L L' = K + s² I.

    mean(x) = m + k_x' (K + s² I)⁻¹ (y - m);   variance(x) = 1 - ‖L⁻¹ k_x‖²
    ∇k_x = h(r) (x - x') / ℓ², h of `stationary`, so that nothing is divided by r
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from botorch.models.gp_regression import SingleTaskGP
from jaxtyping import Float
from linear_operator.utils.cholesky import psd_safe_cholesky
from numpy import ndarray
from torch import Tensor

from wideopt.numerics.point import Moments
from wideopt.numerics.stationary import (
    Correlation,
    correlation,
    correlation_and_slope,
)

__all__ = ["Marginals"]


@dataclass(frozen=True)
class Marginals:
    """Fitted GPs, ready to be asked about many points.

    Attributes:
        kernel: its name.
        length: length scales.
        Z: data in units of these.
        mean: m.
        noise: s².
        weights: (K + s² I)⁻¹ (y - m).
        L_inverse: L⁻¹; a product with it is several times as fast as a solve.
        shift: of the outputs, undone.
        scale: of the outputs, undone.
    """

    kernel: Correlation
    length: Float[Tensor, "o 1 d"]
    Z: Float[Tensor, "o n d"]
    mean: Float[Tensor, "o 1"]
    noise: Float[Tensor, "o 1"]
    weights: Float[Tensor, "o n 1"]
    L_inverse: Float[Tensor, "o n n"]
    shift: Float[Tensor, "o 1"]
    scale: Float[Tensor, "o 1"]

    @classmethod
    def of(cls, model: SingleTaskGP, kernel: Correlation) -> Marginals:
        """Of a GP of ours: one output, standardized, with a kernel of unit variance."""
        gp: Any = model
        with torch.no_grad():
            length = gp.covar_module.lengthscale.reshape(1, 1, -1).clone()
            Z = gp.train_inputs[0] / length
            K = correlation(Z, Z, kernel)
            L = psd_safe_cholesky(K + gp.likelihood.noise * torch.eye(Z.shape[1]).to(K))
            mean = gp.mean_module.constant.reshape(1, 1).clone()
            residual = (gp.train_targets - mean).unsqueeze(-1)
            return cls(
                kernel,
                length,
                Z,
                mean,
                gp.likelihood.noise.reshape(1, 1).clone(),
                torch.cholesky_solve(residual, L),
                torch.linalg.solve_triangular(
                    L, torch.eye(Z.shape[1]).to(L), upper=False
                ),
                gp.outcome_transform.means.reshape(1, 1).clone(),
                gp.outcome_transform.stdvs.reshape(1, 1).clone(),
            )

    @classmethod
    def stacked(cls, parts: Sequence[Marginals]) -> Marginals | None:
        """All of them at once; None if they have different numbers of data."""
        if len({part.Z.shape for part in parts}) > 1:
            return None
        joined: dict[str, Any]
        joined = {c: torch.cat([getattr(p, c) for p in parts]) for c in _TENSORS}
        return replace(parts[0], **joined)

    def __call__(
        self, X: Float[Tensor, "q d"]
    ) -> tuple[Float[Tensor, "o q"], Float[Tensor, "o q"]]:
        """Mean and variance at each point, in the units of the data, with gradients."""
        K = correlation(X / self.length, self.Z, self.kernel)
        mean = self.mean + (K @ self.weights).squeeze(-1)
        variance = 1.0 - (K @ self.L_inverse.mT).square().sum(dim=-1)
        return self.shift + self.scale * mean, self.scale.square() * variance

    def subset(self, outputs: Sequence[int]) -> Marginals:
        """Those of some outputs."""
        chosen: dict[str, Any] = {c: getattr(self, c)[list(outputs)] for c in _TENSORS}
        return replace(self, **chosen)

    def at(self, x: Float[ndarray, " d"]) -> Moments:
        """The same at one point, with gradients, in NumPy: no bookkeeping at all."""
        a = self._arrays
        U = (x / a["length"]) - a["Z"]  # (o, n, d)
        r = np.sqrt(np.einsum("ond,ond->on", U, U))
        k, h = correlation_and_slope(r, self.kernel)
        v = np.matmul(a["L_inverse"], k[:, :, None])
        w = np.matmul(a["L_inverse"].swapaxes(1, 2), v)[:, :, 0]  # (K + s² I)⁻¹ k_x
        alpha, scale = a["weights"][:, :, 0], a["scale"]
        mean = a["mean"] + (k * alpha).sum(axis=1, keepdims=True)
        variance = 1.0 - (k * w).sum(axis=1, keepdims=True)
        slopes = U / a["length"]
        return Moments(
            (a["shift"] + scale * mean)[:, 0],
            (scale**2 * variance)[:, 0],
            scale * np.einsum("on,ond->od", h * alpha, slopes),
            -2.0 * scale**2 * np.einsum("on,ond->od", h * w, slopes),
        )

    @cached_property
    def _arrays(self) -> dict[str, Any]:
        return {c: getattr(self, c).cpu().numpy() for c in _TENSORS}


_TENSORS = tuple(f.name for f in fields(Marginals) if f.name != "kernel")
