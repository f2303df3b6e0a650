"""Acquisitions of GPs at one point, with gradients, for climbs.

Notation: μ_i, σ_i moments of output i, 0 the objective; y⁺ the incumbent; β, √β as in
the acquisitions of the same names; u = (y⁺ - μ_0)/σ_0; h(u) = φ(u) + u Φ(u).

    EI: log h(u) + log σ_0;   PI: log Φ(u);   UCB: log softplus((y⁺ - μ_0 + √β σ_0)/τ)
    feasibility: Σ log Φ(-μ_i/σ_i);   bounds: μ_i - β σ_i
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from botorch.models.model import Model
from jaxtyping import Float
from numpy import ndarray
from scipy.special import erfcx, expit, log_ndtr

from wideopt.acquisition.at_point import log_h
from wideopt.acquisition.improvement import LogOptimisticImprovement
from wideopt.surrogates.gp import marginals_of
from wideopt.surrogates.gp_marginals import Marginals

__all__ = ["BoundsAtPoint", "FeasiblyAtPoint", "Value", "ei", "pi", "ucb"]

Value: TypeAlias = "Callable[[float, float], tuple[float, float, float]]"

_ROOT_2_PI = math.sqrt(2.0 / math.pi)


def ei(best: float) -> Value:
    """Return log EI of (μ, σ), and its derivatives by both."""

    def value(mean: float, sigma: float) -> tuple[float, float, float]:
        u = (best - mean) / sigma
        log, slope = log_h(u)
        return log + math.log(sigma), -slope / sigma, (1.0 - slope * u) / sigma

    return value


def pi(best: float) -> Value:
    """Return log PI, likewise."""

    def value(mean: float, sigma: float) -> tuple[float, float, float]:
        u = (best - mean) / sigma
        log, slope = _log_cdf(u)
        return log, -slope / sigma, -slope * u / sigma

    return value


def ucb(best: float, beta: float) -> Value:
    """Return the positive form of the confidence bound, likewise."""
    tau, root = LogOptimisticImprovement.tau, math.sqrt(beta)

    def value(mean: float, sigma: float) -> tuple[float, float, float]:
        u = (best - mean + root * sigma) / tau
        if u <= -30.0:
            return u, -1.0 / tau, root / tau
        softplus = float(np.logaddexp(0.0, u))
        slope = float(expit(u)) / softplus / tau
        return math.log(softplus), -slope, root * slope

    return value


def _log_cdf(u: float) -> tuple[float, float]:
    """Return log Φ(u) and its derivative φ/Φ, which is finite for any finite u."""
    return float(log_ndtr(u)), _ROOT_2_PI / float(erfcx(-u / math.sqrt(2.0)))


@dataclass(frozen=True)
class _Spread:
    """Mean and deviation of each output at a point, and their gradients."""

    mean: Float[ndarray, " o"]
    sigma: Float[ndarray, " o"]
    mean_slope: Float[ndarray, "o d"]
    sigma_slope: Float[ndarray, "o d"]

    @classmethod
    def of(cls, marginals: Marginals, x: Float[ndarray, " d"]) -> _Spread:
        mean, variance, mean_slope, slope = marginals.at(x)
        sigma = np.sqrt(np.maximum(variance, 1e-20))
        sigma_slope = slope / (2.0 * sigma[:, None])
        sigma_slope[variance <= 1e-20] = 0.0
        return cls(mean, sigma, mean_slope, sigma_slope)


@dataclass(frozen=True)
class FeasiblyAtPoint:
    """-(log value + log feasibility) at a point; either may be absent."""

    marginals: Marginals
    value: Value | None

    @classmethod
    def of(cls, model: Model, value: Value | None) -> FeasiblyAtPoint | None:
        """Of a model whose first output is the objective; None for other models."""
        marginals = marginals_of(model)
        return None if marginals is None else cls(marginals, value)

    def __call__(self, x: Float[ndarray, " d"]) -> tuple[float, Float[ndarray, " d"]]:
        """The value and its gradient."""
        s = _Spread.of(self.marginals, x)
        total, gradient = 0.0, np.zeros_like(x)
        if self.value is not None:
            total, by_mean, by_sigma = self.value(float(s.mean[0]), float(s.sigma[0]))
            gradient = by_mean * s.mean_slope[0] + by_sigma * s.sigma_slope[0]
        for i in range(1, len(s.mean)):
            u = -float(s.mean[i] / s.sigma[i])
            log, slope = _log_cdf(u)
            total += log
            moved = s.mean_slope[i] + u * s.sigma_slope[i]
            gradient = gradient - slope / s.sigma[i] * moved
        return -total, -gradient


@dataclass(frozen=True)
class BoundsAtPoint:
    """(LCB_0, -LCB_1, ..., -LCB_k) at a point: the first to be minimized."""

    marginals: Marginals
    beta: float

    @classmethod
    def of(cls, model: Model, beta: float) -> BoundsAtPoint | None:
        """Of a model whose first output is the objective; None for other models."""
        marginals = marginals_of(model)
        return None if marginals is None else cls(marginals, beta)

    def __call__(
        self, x: Float[ndarray, " d"]
    ) -> tuple[Float[ndarray, " k1"], Float[ndarray, "k1 d"]]:
        """Values and their Jacobian."""
        s = _Spread.of(self.marginals, x)
        values = self.beta * s.sigma - s.mean
        slopes = self.beta * s.sigma_slope - s.mean_slope
        values[0], slopes[0] = -values[0], -slopes[0]
        return values, slopes

    def restricted(self, constraints: list[int]) -> BoundsAtPoint:
        """The same with some of the constraints only."""
        kept = [0, *(i + 1 for i in constraints)]
        return replace(self, marginals=self.marginals.subset(kept))
