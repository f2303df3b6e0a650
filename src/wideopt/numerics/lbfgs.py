"""L-BFGS for many small problems at once, none of which waits for another.

Source: Nocedal & Wright 2006, Alg. 7.4 (two-loop recursion) and sec. 3.1 (Armijo
backtracking); bounds by projection with the blocked coordinates held (Bertsekas 1982).

Notation:
    x (b, k)   b independent problems in k variables; f (b,), g (b, k) value, gradient
    s, y       steps and gradient differences of past iterations, ρ = 1/sᵀy (0: skipped)

Each problem has its own step length, memory and convergence: the problems are one
batch only so that one evaluation serves them all. Finished problems are left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

__all__ = ["Minimum", "minimize_each"]

# (x of the problems asked for, their indices) -> values and gradients
Objective = Callable[
    [Float[Tensor, "r k"], Int[Tensor, " r"]],
    tuple[Float[Tensor, " r"], Float[Tensor, "r k"]],
]
Box = tuple[Tensor, Tensor]
_MEMORY = 10
_MAX_HALVINGS = 20
_ARMIJO = 1e-4


@dataclass(frozen=True)
class Minimum:
    """Best points seen, their values, iterations made, and which problems converged."""

    x: Float[Tensor, "b k"]
    f: Float[Tensor, " b"]
    n_iterations: Int[Tensor, " b"]
    is_converged: Bool[Tensor, " b"]


@dataclass(frozen=True)
class _Point:
    x: Float[Tensor, "b k"]
    f: Float[Tensor, " b"]
    g: Float[Tensor, "b k"]


def minimize_each(
    fun: Objective,
    x0: Float[Tensor, "b k"],
    *,
    bounds: Box | None = None,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    floor: float = 1.0,
) -> Minimum:
    """Minimize b separable problems from the rows of x0.

    A problem ends when an accepted step gains less than `tolerance` relative to
    max(floor, |f|), or when no step gains anything. Values that are not finite count as
    infinite, so a bad region is backed out of. Never raises for numerical reasons, and
    never returns a value above the one at x0.
    """
    box = bounds if bounds is not None else _unbounded(x0)
    x0 = x0.detach().clamp(*box)
    b = len(x0)
    now = _evaluated(fun, x0, torch.arange(b, device=x0.device))
    memory = _Memory(deque(maxlen=_MEMORY))
    is_active = torch.isfinite(now.f)
    n_iterations = torch.zeros(b, dtype=torch.long, device=x0.device)
    is_fresh = torch.ones_like(is_active)  # no curvature known: steepest descent
    for _ in range(max_iterations):
        if not is_active.any():
            break
        p, step = _direction(now, memory, is_fresh, box)
        new, is_moved = _line_search(fun, now, p, step, is_active, box)
        gain = now.f - new.f
        is_small = gain <= tolerance * now.f.abs().clamp_min(floor)
        # a failed step gets one more chance, from the gradient alone
        is_failed = is_active & ~is_moved
        is_active = is_active & ~(is_moved & is_small) & ~(is_failed & is_fresh)
        memory.add(new, now, is_moved, is_failed)
        is_fresh = ~is_moved & (is_fresh | is_failed)
        n_iterations += is_moved
        now = new
    return Minimum(now.x, now.f, n_iterations, ~is_active & torch.isfinite(now.f))


def _unbounded(x: Float[Tensor, "b k"]) -> Box:
    end = torch.full_like(x[0], torch.inf)
    return -end, end


def _evaluated(
    fun: Objective, x: Float[Tensor, "r k"], index: Int[Tensor, " r"]
) -> _Point:
    f, g = fun(x, index)
    is_good = torch.isfinite(f) & torch.isfinite(g).all(-1)
    f = torch.where(is_good, f.detach(), torch.inf)
    return _Point(x, f, torch.where(is_good[:, None], g.detach(), 0.0))


@dataclass(frozen=True)
class _Memory:
    pairs: deque[tuple[Tensor, Tensor, Tensor]]  # s, y, ρ

    def add(self, new: _Point, old: _Point, is_moved: Tensor, is_reset: Tensor) -> None:
        s, y = new.x - old.x, new.g - old.g
        sy = (s * y).sum(-1)
        is_curved = is_moved & (sy > 1e-10 * s.norm(dim=-1) * y.norm(dim=-1))
        rho = torch.where(is_curved, 1.0 / torch.where(is_curved, sy, 1.0), 0.0)
        for i, (s_i, y_i, rho_i) in enumerate(self.pairs):
            self.pairs[i] = (s_i, y_i, torch.where(is_reset, 0.0, rho_i))
        self.pairs.append((s, y, rho))

    def inverse_hessian_times(self, q: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """Return H q by the two-loop recursion; pairs with ρ = 0 play no part."""
        steps = []
        gamma = torch.zeros_like(q[:, 0])
        for s, y, rho in reversed(self.pairs):
            alpha = rho * (s * q).sum(-1)
            q = q - alpha[:, None] * y
            steps.append(alpha)
            newest = (rho > 0) & (gamma == 0)
            yy = y.square().sum(-1)
            gamma = torch.where(newest, 1.0 / (rho * yy).clamp_min(1e-300), gamma)
        q = torch.where(gamma > 0, gamma, 1.0)[:, None] * q
        for (s, y, rho), alpha in zip(self.pairs, reversed(steps), strict=True):
            beta = rho * (y * q).sum(-1)
            q = q + (alpha - beta)[:, None] * s
        return q


def _direction(
    now: _Point,
    memory: _Memory,
    is_fresh: Bool[Tensor, " b"],
    box: Box,
) -> tuple[Float[Tensor, "b k"], Float[Tensor, " b"]]:
    """Return the descent direction and first step length of every problem."""
    low, high = box
    is_free = ~(((now.x <= low) & (now.g > 0)) | ((now.x >= high) & (now.g < 0)))
    g = now.g * is_free
    p = -memory.inverse_hessian_times(g) * is_free
    size = g.norm(dim=-1)
    is_poor = is_fresh | ~((p * g).sum(-1) < -1e-12 * size * p.norm(dim=-1))
    step = torch.where(is_poor, 1.0 / size.clamp_min(1.0), 1.0)
    return torch.where(is_poor[:, None], -g, p), step


def _line_search(
    fun: Objective,
    now: _Point,
    p: Float[Tensor, "b k"],
    step: Float[Tensor, " b"],
    is_active: Bool[Tensor, " b"],
    box: Box,
) -> tuple[_Point, Bool[Tensor, " b"]]:
    """Backtrack each active problem until it gains enough (or gives up)."""
    x, f, g = now.x.clone(), now.f.clone(), now.g.clone()
    pending = is_active.nonzero().squeeze(-1)
    is_moved = torch.zeros_like(is_active)
    for _ in range(_MAX_HALVINGS):
        old = now.x[pending]
        tried = torch.clamp(old + step[pending, None] * p[pending], *box)
        new = _evaluated(fun, tried, pending)
        slope = (now.g[pending] * (tried - old)).sum(-1)
        is_enough = (new.f < now.f[pending]) & (
            new.f <= now.f[pending] + _ARMIJO * slope
        )
        done = pending[is_enough]
        x[done], f[done], g[done] = (v[is_enough] for v in (new.x, new.f, new.g))
        is_moved[done] = True
        rise = (new.f - now.f[pending] - slope)[~is_enough]
        pending, slope = pending[~is_enough], slope[~is_enough]
        if len(pending) == 0:
            break
        # minimum of the parabola through both values and the slope
        ratio = torch.nan_to_num(-0.5 * slope / rise, nan=0.1)
        step[pending] = step[pending] * ratio.clamp(0.1, 0.5)
    return _Point(x, f, g), is_moved
