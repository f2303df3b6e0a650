"""Expected improvement and lower bounds at one point, with gradients, for a climb.

Notation: m_i, v_i moments of member i of a mixture, w_i its weight; μ, σ those
of an output; h(u) = φ(u) + u Φ(u), with h' = Φ; y⁺ the incumbent (minimization).

    log EI = log h(u) + log σ,  u = (y⁺ - μ)/σ;   LCB = μ - β σ
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from botorch.models.model import Model
from jaxtyping import Float
from numpy import ndarray
from scipy.special import erfcx, ndtr
from torch import Tensor

from wideopt.numerics.point import Moments, PointPosterior
from wideopt.surrogates.tangent_model import TangentModel

__all__ = ["ImprovementAtPoint", "log_h"]

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

_FAR = -25.0  # below this u the series of h is exact to 1e-9
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class ImprovementAtPoint:
    """(-log EI, -LCB_1, ..., -LCB_k) of a mixture of tangent posteriors, at a point.

    What sequential quadratic programming asks for: all is to be minimized, and kept
    from falling below zero, respectively.
    """

    members: tuple[PointPosterior, ...]
    outputs: tuple[Array | None, ...]  # of each member; None stands for all
    weights: tuple[Array, ...]  # for these
    shift: Float[ndarray, " o"]
    scale: Float[ndarray, " o"]
    best: float
    beta: float

    @classmethod
    def of(cls, model: Model, best: float, beta: float) -> ImprovementAtPoint | None:
        """Of a model whose first output is the objective; None for other models."""
        if not isinstance(model, TangentModel):
            return None
        views = [PointPosterior.of(share.member) for share in model.active]
        members = tuple(view for view in views if view is not None)
        if len(members) < len(views):
            return None
        s = model.standardization
        return cls(
            members,
            tuple(
                None if share.outputs is None else _array(share.outputs)
                for share in model.active
            ),
            tuple(_array(share.weights) for share in model.active),
            _array(s.shift),
            _array(s.scale),
            best,
            beta,
        )

    def __call__(
        self, x: Float[ndarray, " d"]
    ) -> tuple[Float[ndarray, " k1"], Float[ndarray, "k1 d"]]:
        """Values and their Jacobian."""
        mean, sigma, mean_slope, sigma_slope = self._moments(x)
        values = self.beta * sigma - mean
        slopes = self.beta * sigma_slope - mean_slope
        u = (self.best - mean[0]) / sigma[0]
        log, log_slope = log_h(float(u))
        values[0] = -log - math.log(sigma[0])
        du = -(mean_slope[0] + u * sigma_slope[0]) / sigma[0]
        slopes[0] = -log_slope * du - sigma_slope[0] / sigma[0]
        return values, slopes

    def restricted(self, constraints: list[int]) -> ImprovementAtPoint:
        """The same with some of the constraints only."""
        kept = [0, *(i + 1 for i in constraints)]
        members, outputs, weights = [], [], []
        for member, own, w in zip(
            self.members, self.outputs, self.weights, strict=True
        ):
            mine = list(range(self.shift.size)) if own is None else own.tolist()
            rows = [mine.index(i) for i in kept if i in mine]
            if rows:
                members.append(member.selected(rows))
                outputs.append(np.array([kept.index(mine[row]) for row in rows]))
                weights.append(w[rows])
        return replace(
            self,
            members=tuple(members),
            outputs=tuple(outputs),
            weights=tuple(weights),
            shift=self.shift[kept],
            scale=self.scale[kept],
        )

    def _moments(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and deviation of every output in the units of the data, and slopes."""
        parts = [member(x) for member in self.members]
        m = parts[0] if len(parts) == 1 else self._mixed(parts)
        sigma = np.sqrt(np.maximum(m.variance, 1e-20))
        sigma_slope = np.where(
            m.variance[:, None] > 1e-20, m.variance_slope / (2.0 * sigma[:, None]), 0.0
        )
        s = self.scale[:, None]
        mean = self.shift + self.scale * m.mean
        return mean, self.scale * sigma, s * m.mean_slope, s * sigma_slope

    def _mixed(self, parts: list[Moments]) -> Moments:
        """Mix: mean = Σ w_i m_i,  variance = Σ w_i (v_i + (m_i - mean)²)."""
        o, d = self.shift.size, parts[0].mean_slope.shape[1]
        mean, variance = np.zeros(o), np.zeros(o)
        slope, variance_slope = np.zeros((o, d)), np.zeros((o, d))
        every = np.arange(o)
        shares = [
            (every if outputs is None else outputs, w, part)
            for outputs, w, part in zip(self.outputs, self.weights, parts, strict=True)
        ]
        for i, w, p in shares:
            mean[i] += w * p.mean
            slope[i] += w[:, None] * p.mean_slope
        for i, w, p in shares:
            off = p.mean - mean[i]
            variance[i] += w * (p.variance + off * off)
            moved = 2.0 * off[:, None] * (p.mean_slope - slope[i])
            variance_slope[i] += w[:, None] * (p.variance_slope + moved)
        return Moments(mean, variance, slope, variance_slope)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().cpu().numpy()


def log_h(u: float) -> tuple[float, float]:
    """Return log h(u) and its derivative Φ(u)/h(u), without loss for u far below zero.

    Ament et al. (2023) show why: EI itself underflows where most of a climb happens.
    """
    log_phi = -0.5 * u * u - _HALF_LOG_2PI
    if u > -1.0:
        cdf = float(ndtr(u))
        h = math.exp(log_phi) + u * cdf
        return math.log(h), cdf / h
    ratio = math.sqrt(math.pi / 2.0) * float(erfcx(-u / math.sqrt(2.0)))  # Φ/φ
    q = 1.0 / (u * u)
    rest = (
        1.0 + u * ratio if u > _FAR else q * (1.0 - q * (3.0 - q * (15.0 - 105.0 * q)))
    )
    return log_phi + math.log(rest), ratio / rest
