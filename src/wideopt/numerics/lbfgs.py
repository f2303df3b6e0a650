"""L-BFGS for many small problems at once, none of which waits for another.

Source: Nocedal & Wright 2006, Alg. 7.4 (two-loop recursion) and sec. 3.1 (Armijo
backtracking); bounds by projection with the blocked coordinates held (Bertsekas 1982).

Notation:
    x (b, k)   b independent problems in k variables; f (b,), g (b, k) value, gradient
    s, y       steps and gradient differences of past iterations, ρ = 1/sᵀy (0: skipped)

Each problem has its own step length, memory and convergence, and goes at its own pace:
while one shortens its step, another takes its next one, so that every evaluation serves
all problems that are still at work.
"""

from __future__ import annotations

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
    memory = _Memory.empty(x0)
    is_active = torch.isfinite(now.f)
    n_iterations = torch.zeros(b, dtype=torch.long, device=x0.device)
    is_fresh = torch.ones_like(is_active)  # no curvature known: steepest descent
    course = _course(now, memory, is_fresh, box)
    while bool((is_active & (n_iterations < max_iterations)).any()):
        is_going = is_active & (n_iterations < max_iterations)
        new, course, is_moved = _tried(fun, now, course, is_going, box)
        least = tolerance * now.f.abs().clamp_min(floor)
        is_hopeless = (course.n_tries >= _MAX_HALVINGS) | (course.hope <= 0.1 * least)
        is_failed = is_going & ~is_moved & is_hopeless
        is_small = now.f - new.f <= least
        # a failed search gets one more chance, from the gradient alone
        is_active = is_active & ~(is_moved & is_small) & ~(is_failed & is_fresh)
        memory = memory.extended(new, now, is_moved, is_failed)
        is_fresh = ~is_moved & (is_fresh | is_failed)
        n_iterations += is_moved
        now = new
        course = course.turned(
            _course(now, memory, is_fresh, box), is_moved | is_failed
        )
    is_converged = ~is_active & torch.isfinite(now.f)
    return Minimum(now.x, now.f, n_iterations, is_converged)


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
    """The last steps of each problem, oldest first; ρ = 0 where there is none."""

    s: Float[Tensor, "m b k"]
    y: Float[Tensor, "m b k"]
    rho: Float[Tensor, "m b"]

    @classmethod
    def empty(cls, x: Float[Tensor, "b k"]) -> _Memory:
        none = x.new_zeros(_MEMORY, *x.shape)
        return cls(none, none, none[..., 0])

    def extended(
        self, new: _Point, old: _Point, is_moved: Tensor, is_reset: Tensor
    ) -> _Memory:
        """With the step of each problem that moved; none where it is reset."""
        s, y = new.x - old.x, new.g - old.g
        sy = (s * y).sum(-1)
        is_curved = is_moved & (sy > 1e-10 * s.norm(dim=-1) * y.norm(dim=-1))
        rho = 1.0 / torch.where(is_curved, sy, 1.0)
        at = is_curved[:, None]
        return _Memory(
            torch.where(at, torch.cat([self.s[1:], s[None]]), self.s),
            torch.where(at, torch.cat([self.y[1:], y[None]]), self.y),
            torch.where(
                is_reset,
                0.0,
                torch.where(is_curved, torch.cat([self.rho[1:], rho[None]]), self.rho),
            ),
        )

    def inverse_hessian_times(self, q: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """Return H q by the two-loop recursion; pairs with ρ = 0 play no part."""
        alphas = []
        pairs = list(zip(self.s, self.y, self.rho, strict=True))
        for s, y, rho in reversed(pairs):
            alpha = rho * (s * q).sum(-1)
            q = q - alpha[:, None] * y
            alphas.append(alpha)
        rho, yy = self.rho[-1], self.y[-1].square().sum(-1)
        gamma = 1.0 / torch.where(rho > 0, rho * yy, 1.0).clamp_min(1e-300)
        q = gamma[:, None] * q
        for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
            beta = rho * (y * q).sum(-1)
            q = q + (alpha - beta)[:, None] * s
        return q


@dataclass(frozen=True)
class _Course:
    """Where each problem is heading.

    Direction, step length, steps tried in vain, and what the last one should have
    gained by the slope.
    """

    p: Float[Tensor, "b k"]
    step: Float[Tensor, " b"]
    n_tries: Int[Tensor, " b"]
    hope: Float[Tensor, " b"]

    def turned(self, other: _Course, is_turned: Bool[Tensor, " b"]) -> _Course:
        """The other course where a problem turns."""
        return _Course(
            torch.where(is_turned[:, None], other.p, self.p),
            torch.where(is_turned, other.step, self.step),
            torch.where(is_turned, other.n_tries, self.n_tries),
            torch.where(is_turned, other.hope, self.hope),
        )


def _course(
    now: _Point,
    memory: _Memory,
    is_fresh: Bool[Tensor, " b"],
    box: Box,
) -> _Course:
    """Return the descent direction and first step length of every problem."""
    low, high = box
    is_free = ~(((now.x <= low) & (now.g > 0)) | ((now.x >= high) & (now.g < 0)))
    g = now.g * is_free
    p = -memory.inverse_hessian_times(g) * is_free
    size = g.norm(dim=-1)
    is_poor = is_fresh | ~((p * g).sum(-1) < -1e-12 * size * p.norm(dim=-1))
    step = torch.where(is_poor, 1.0 / size.clamp_min(1.0), 1.0)
    n_tries = torch.zeros_like(is_fresh, dtype=torch.long)
    hope = torch.full_like(step, torch.inf)
    return _Course(torch.where(is_poor[:, None], -g, p), step, n_tries, hope)


def _tried(
    fun: Objective,
    now: _Point,
    course: _Course,
    is_going: Bool[Tensor, " b"],
    box: Box,
) -> tuple[_Point, _Course, Bool[Tensor, " b"]]:
    """One step of each problem at work: taken if it gains enough, else shortened."""
    at = is_going.nonzero().squeeze(-1)
    old = _Point(now.x[at], now.f[at], now.g[at])
    x = torch.clamp(old.x + course.step[at, None] * course.p[at], *box)
    new = _evaluated(fun, x, at)
    slope = (old.g * (x - old.x)).sum(-1)
    is_enough = (new.f < old.f) & (new.f <= old.f + _ARMIJO * slope)
    done = at[is_enough]
    moved = _Point(now.x.clone(), now.f.clone(), now.g.clone())
    moved.x[done], moved.f[done] = new.x[is_enough], new.f[is_enough]
    moved.g[done] = new.g[is_enough]
    is_moved = torch.zeros_like(is_going)
    is_moved[done] = True
    # minimum of the parabola through both values and the slope
    ratio = torch.nan_to_num(-0.5 * slope / (new.f - old.f - slope), nan=0.1)
    step, n_tries, hope = (
        v.clone() for v in (course.step, course.n_tries, course.hope)
    )
    step[at] = course.step[at] * ratio.clamp(0.1, 0.5)
    n_tries[at] += 1
    hope = course.hope.index_copy(0, at, -slope)
    return moved, _Course(course.p, step, n_tries, hope), is_moved
