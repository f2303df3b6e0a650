"""The marginal likelihood of a stationary GP, its gradient, and where it is maximal.

Rasmussen & Williams 2006, eq. 5.8-5.9, as plain arrays: for a few hundred points lazy
tensors, and the derivative of a Cholesky factor, take ten times as long.

Notation: A = K + s² I, K the correlations of n points (`stationary`), s² the noise,
r = y - m, α = A⁻¹ r, ℓ length scales; p the log density of log-normal priors of s², ℓ.

    θ = (s², m, ℓ_1, ..., ℓ_d)
    loss = (½ r'α + ½ log det A + n/2 log 2π - p) / n
    G = ½ (A⁻¹ - α α'),  W = G ∘ h:   ∂s²: tr G,   ∂m: -α'1,
    ∂ℓ_j: -Σ_ab W_ab (x_aj - x_bj)² / ℓ_j³ = -2 (Σ_a x_aj² Σ_b W_ab - x_j' W x_j) / ℓ_j³
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from wideopt.numerics.stationary import Correlation, correlation_and_slope

__all__ = ["LogNormal", "StationaryEvidence"]

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


@dataclass(frozen=True)
class LogNormal:
    """A prior: log θ is normal with that mean and deviation."""

    loc: float
    scale: float

    def log_density(self, x: Array) -> tuple[Array, Array]:
        """Return log p(x) and its derivative."""
        z = (np.log(x) - self.loc) / self.scale
        constant = math.log(self.scale) + 0.5 * math.log(2.0 * math.pi)
        return -0.5 * z * z - np.log(x) - constant, -(z / self.scale + 1.0) / x


@dataclass(frozen=True)
class StationaryEvidence:
    """The loss of one output.

    Attributes:
        X: points, (n, d).
        y: outputs, standardized.
        kernel: the correlation.
        noise: prior of the noise.
        length: prior of each length scale.
    """

    X: Array
    y: Array
    kernel: Correlation
    noise: LogNormal
    length: LogNormal

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return the loss and its gradient; an infinite one where A is not definite."""
        noise, mean, length = theta[0], theta[1], theta[2:]
        n = len(self.y)
        Z = self.X / length
        K, h = correlation_and_slope(cdist(Z, Z), self.kernel)
        L, info = dpotrf(K + noise * np.eye(n), lower=1, clean=1)
        if info != 0:
            return math.inf, np.zeros_like(theta)
        half, _ = dpotri(L, lower=1)
        inverse = np.tril(half) + np.tril(half, -1).T
        residual = self.y - mean
        alpha = inverse @ residual
        G = 0.5 * (inverse - np.outer(alpha, alpha))
        value = 0.5 * (residual @ alpha + n * math.log(2.0 * math.pi))
        value += np.log(L.diagonal()).sum()
        W = G * h
        squares = self.X.T**2 @ W.sum(axis=1) - (self.X * (W @ self.X)).sum(axis=0)
        gradient = np.concatenate(
            [[G.trace(), -alpha.sum()], -2.0 * squares / length**3]
        )
        p_noise, by_noise = self.noise.log_density(theta[:1])
        p_length, by_length = self.length.log_density(length)
        gradient[0] -= by_noise[0]
        gradient[2:] -= by_length
        return float(value - p_noise.sum() - p_length.sum()) / n, gradient / n

    def fitted(self, start: Array, lower: Array, max_iter: int) -> Array:
        """Return θ of least loss, by L-BFGS from a start; the start if that fails."""
        found = minimize(
            self,
            start,
            jac=True,
            bounds=[(low, None) for low in lower],
            method="L-BFGS-B",
            options={"maxiter": max_iter},
        )
        is_good = np.isfinite(found.x).all() and np.isfinite(found.fun)
        return np.asarray(found.x) if is_good else start
