"""Levenberg-Marquardt for nonlinear least squares, from many starts at once.

Sources: Levenberg (1944), Marquardt (1963); the damping follows Nielsen (1999); bounds
by projection, with the blocked coordinates held (Bertsekas 1982).

Notation:
    r (b, n), J (b, n, p)   residuals and their Jacobians of b starts
    F(θ) = ½ ‖r(θ)‖² + ρ/2 ‖θ‖²,   g = Jᵀr + ρθ
    δ = -(JᵀJ + c I)⁻¹ g,   c = ρ + μ,   μ the damping of each start

With fewer residuals than parameters the step is taken on the smaller side,
(JᵀJ + cI)⁻¹Jᵀ = Jᵀ(JJᵀ + cI)⁻¹, so that it costs O(n²p) and not O(p³).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["LeastSquares", "solve"]

# θ (b, p) -> residuals (b, n) and Jacobians (b, n, p)
Residuals = Callable[[Tensor], tuple[Tensor, Tensor]]
_START = 1e-3  # of the damping, relative to the largest entry of diag(JᵀJ)
_LEAST, _MOST = 1e-14, 1e14  # of the damping, relative to the same
_FLOOR = 1e-24  # of a gain, for residuals of size 1: an exact fit is exact enough


@dataclass(frozen=True)
class LeastSquares:
    """The best θ of each start, F there, and which starts converged."""

    theta: Float[Tensor, "b p"]
    loss: Float[Tensor, " b"]
    is_converged: Bool[Tensor, " b"]


@dataclass(frozen=True)
class _State:
    theta: Float[Tensor, "b p"]
    r: Float[Tensor, "b n"]
    J: Float[Tensor, "b n p"]
    loss: Float[Tensor, " b"]

    def replaced(self, where: Tensor, other: _State, which: Tensor) -> _State:
        """The state with the rows `where` taken from the rows `which` of another."""
        new = _State(*(v.clone() for v in (self.theta, self.r, self.J, self.loss)))
        new.theta[where], new.r[where] = other.theta[which], other.r[which]
        new.J[where], new.loss[where] = other.J[which], other.loss[which]
        return new

    def rows(self, index: Tensor) -> _State:
        return _State(self.theta[index], self.r[index], self.J[index], self.loss[index])


def solve(
    residuals: Residuals,
    start: Float[Tensor, "b p"],
    *,
    ridge: float = 0.0,
    bounds: tuple[Tensor, Tensor] | None = None,
    max_iterations: int = 100,
    tolerance: float = 1e-10,
) -> LeastSquares:
    """Minimize F from every row of `start`.

    A start ends when an accepted step gains less than `tolerance` relative to F, or
    when no damping makes a step that gains. What is not finite counts as infinite, so
    that a bad region is backed out of; never above the value at the start.
    """
    if bounds is not None:
        start = torch.clamp(start, *bounds)
    now = _evaluated(residuals, start.detach(), ridge)
    size = now.J.square().sum(1).amax(-1).clamp_min(1e-300)  # largest of diag(JᵀJ)
    mu, factor = _START * size, torch.full_like(size, 2.0)
    is_active = torch.isfinite(now.loss) & (now.loss > 0)
    is_converged = torch.isfinite(now.loss) & ~is_active
    for _ in range(max_iterations):
        active = is_active.nonzero().squeeze(-1)
        if len(active) == 0:
            break
        old = now.rows(active)
        delta, predicted = _step(old, ridge, mu[active], bounds)
        new = _evaluated(residuals, old.theta + delta, ridge)
        gain = old.loss - new.loss
        is_better = gain > 0
        ratio = gain / predicted.clamp_min(1e-300)
        # Nielsen: down smoothly with a good step, up ever faster without one
        down = (1 - (2 * ratio - 1).clamp(-10, 1) ** 3).clamp(1 / 3, 2.0)
        damping = mu[active] * torch.where(is_better, down, factor[active])
        factor[active] = torch.where(is_better, 2.0, 2 * factor[active])
        mu[active] = torch.maximum(damping, _LEAST * size[active])
        now = now.replaced(active[is_better], new, is_better)
        enough = tolerance * old.loss + _FLOOR
        is_small = is_better & (gain <= enough)
        is_stuck = ~is_better & (
            (mu[active] > _MOST * size[active]) | (predicted <= enough)
        )
        done = active[is_small | is_stuck | (new.loss == 0)]
        is_active[done] = False
        is_converged[done] = True
    return LeastSquares(now.theta, now.loss, is_converged)


def _evaluated(residuals: Residuals, theta: Tensor, ridge: float) -> _State:
    r, J = residuals(theta)
    loss = 0.5 * r.square().sum(-1) + 0.5 * ridge * theta.square().sum(-1)
    is_good = torch.isfinite(loss) & torch.isfinite(J).flatten(1).all(-1)
    return _State(
        theta,
        torch.where(is_good[:, None], r, 0.0),
        torch.where(is_good[:, None, None], J, 0.0),
        torch.where(is_good, loss, torch.inf),
    )


def _step(
    now: _State,
    ridge: float,
    mu: Float[Tensor, " b"],
    bounds: tuple[Tensor, Tensor] | None,
) -> tuple[Float[Tensor, "b p"], Float[Tensor, " b"]]:
    """The step δ of each start, kept within bounds, and the gain it promises."""
    J, r, theta = now.J, now.r, now.theta
    g = (J * r[:, :, None]).sum(1) + ridge * theta
    is_free = torch.ones_like(g)
    if bounds is not None:
        low, high = bounds
        is_free = ~(((theta <= low) & (g > 0)) | ((theta >= high) & (g < 0))) + 0.0
        J = J * is_free[:, None, :]
    delta = _solved(J, r, ridge * theta * is_free, ridge + mu)
    if bounds is not None:
        delta = torch.clamp(theta + delta, *bounds) - theta
    change = torch.einsum("bnp,bp->bn", now.J, delta)
    curvature = change.square().sum(-1) + ridge * delta.square().sum(-1)
    return delta, -(g * delta).sum(-1) - 0.5 * curvature


def _solved(
    J: Float[Tensor, "b n p"],
    r: Float[Tensor, "b n"],
    pull: Float[Tensor, "b p"],
    c: Float[Tensor, " b"],
) -> Float[Tensor, "b p"]:
    """-(JᵀJ + cI)⁻¹ (Jᵀr + pull) on the smaller side; 0 where that fails."""
    n, p = J.shape[-2:]
    eye = torch.eye(min(n, p), dtype=J.dtype, device=J.device)
    A = (J.mT @ J if p <= n else J @ J.mT) + c[:, None, None] * eye
    L, info = torch.linalg.cholesky_ex(A)
    L = torch.where((info == 0)[:, None, None], L, eye)
    if p <= n:
        right = torch.einsum("bnp,bn->bp", J, r) + pull
        delta = torch.cholesky_solve(right.unsqueeze(-1), L).squeeze(-1)
    else:
        # (JᵀJ + cI)⁻¹ pull = (pull - Jᵀ(JJᵀ + cI)⁻¹J pull) / c
        inner = r - torch.einsum("bnp,bp->bn", J, pull) / c[:, None]
        inner = torch.cholesky_solve(inner.unsqueeze(-1), L).squeeze(-1)
        delta = torch.einsum("bnp,bn->bp", J, inner) + pull / c[:, None]
    return torch.where((info == 0)[:, None], -delta, 0.0)
