"""L-BFGS for many small problems at once, none of which waits for another.

Source: Nocedal & Wright 2006, Alg. 7.4 (two-loop recursion) and sec. 3.1 (Armijo
backtracking); bounds by projection with the blocked coordinates held (Bertsekas 1982).

Notation:
    x (b, k)   b independent problems in k variables; f (b,), g (b, k) value, gradient
    s, y       steps and gradient differences of past iterations, ρ = 1/sᵀy (0: skipped)

Each problem has its own step length, memory and convergence, and goes at its own pace:
while one shortens its step, another takes its next one, so that every evaluation serves
all problems that are still at work. All but the objective is NumPy: on arrays of a few
numbers its calls cost a fraction of those of tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

__all__ = ["Minimum", "minimize_each"]

# (x of the problems asked for, their indices) -> values and gradients
Objective = Callable[
    [Float[Tensor, "r k"], Int[Tensor, " r"]],
    tuple[Float[Tensor, " r"], Float[Tensor, "r k"]],
]
Box = tuple[ndarray, ndarray]
Evaluated = Callable[[ndarray, ndarray], "_Point"]
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
    x: Float[ndarray, "b k"]
    f: Float[ndarray, " b"]
    g: Float[ndarray, "b k"]


def minimize_each(
    fun: Objective,
    x0: Float[Tensor, "b k"],
    *,
    bounds: tuple[Tensor, Tensor] | None = None,
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
    like = x0.detach()
    end = np.full(x0.shape[-1], np.inf)
    box = (-end, end) if bounds is None else (_array(bounds[0]), _array(bounds[1]))

    def evaluated(x: ndarray, index: ndarray) -> _Point:
        f, g = fun(
            torch.from_numpy(x).to(like), torch.from_numpy(index).to(like.device)
        )
        return _finite(x, _array(f), _array(g))

    with np.errstate(all="ignore"):  # what is not finite is dealt with
        now, n_iterations, is_active = _minimized(
            evaluated, _array(like).clip(*box), box, max_iterations, tolerance, floor
        )
    is_converged = ~is_active & np.isfinite(now.f)
    return Minimum(
        torch.from_numpy(now.x).to(like),
        torch.from_numpy(now.f).to(like),
        torch.from_numpy(n_iterations).to(like.device),
        torch.from_numpy(is_converged).to(like.device),
    )


def _array(tensor: Tensor) -> ndarray:
    return tensor.detach().cpu().numpy()


def _finite(
    x: Float[ndarray, "r k"], f: Float[ndarray, " r"], g: Float[ndarray, "r k"]
) -> _Point:
    is_good = np.isfinite(f) & np.isfinite(g).all(axis=1)
    return _Point(x, np.where(is_good, f, np.inf), np.where(is_good[:, None], g, 0.0))


def _minimized(
    evaluated: Evaluated,
    x0: Float[ndarray, "b k"],
    box: Box,
    max_iterations: int,
    tolerance: float,
    floor: float,
) -> tuple[_Point, Int[ndarray, " b"], Bool[ndarray, " b"]]:
    """Return where problems end, after how many steps, and which are still at work."""
    b = len(x0)
    now = evaluated(x0, np.arange(b))
    memory = _Memory.empty(x0)
    is_active = np.isfinite(now.f)
    n_iterations = np.zeros(b, dtype=np.int64)
    is_fresh = np.ones(b, dtype=bool)  # no curvature known: steepest descent
    course = _course(now, memory, is_fresh, box)
    while (is_active & (n_iterations < max_iterations)).any():
        is_going = is_active & (n_iterations < max_iterations)
        new, course, is_moved = _tried(evaluated, now, course, is_going, box)
        least = tolerance * np.maximum(np.abs(now.f), floor)
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
    return now, n_iterations, is_active


@dataclass(frozen=True)
class _Memory:
    """The last steps of each problem, oldest first; ρ = 0 where there is none."""

    s: Float[ndarray, "m b k"]
    y: Float[ndarray, "m b k"]
    rho: Float[ndarray, "m b"]

    @classmethod
    def empty(cls, x: Float[ndarray, "b k"]) -> _Memory:
        none = np.zeros((_MEMORY, *x.shape))
        return cls(none, none, none[..., 0])

    def extended(
        self,
        new: _Point,
        old: _Point,
        is_moved: Bool[ndarray, " b"],
        is_reset: Bool[ndarray, " b"],
    ) -> _Memory:
        """With the step of each problem that moved; none where it is reset."""
        s, y = new.x - old.x, new.g - old.g
        sy = _dot(s, y)
        is_curved = is_moved & (sy > 1e-10 * _norm(s) * _norm(y))
        rho = 1.0 / np.where(is_curved, sy, 1.0)
        at = is_curved[:, None]
        rhos = np.where(is_curved, np.concatenate([self.rho[1:], rho[None]]), self.rho)
        return _Memory(
            np.where(at, np.concatenate([self.s[1:], s[None]]), self.s),
            np.where(at, np.concatenate([self.y[1:], y[None]]), self.y),
            np.where(is_reset, 0.0, rhos),
        )

    def inverse_hessian_times(self, q: Float[ndarray, "b k"]) -> Float[ndarray, "b k"]:
        """Return H q by the two-loop recursion; pairs with ρ = 0 play no part."""
        alphas = []
        used = [i for i in range(_MEMORY) if self.rho[i].any()]
        for i in reversed(used):
            alpha = self.rho[i] * _dot(self.s[i], q)
            q = q - alpha[:, None] * self.y[i]
            alphas.append(alpha)
        rho, yy = self.rho[-1], _dot(self.y[-1], self.y[-1])
        gamma = 1.0 / np.maximum(np.where(rho > 0, rho * yy, 1.0), 1e-300)
        q = gamma[:, None] * q
        for i, alpha in zip(used, reversed(alphas), strict=True):
            beta = self.rho[i] * _dot(self.y[i], q)
            q = q + (alpha - beta)[:, None] * self.s[i]
        return q


def _dot(a: Float[ndarray, "b k"], b: Float[ndarray, "b k"]) -> Float[ndarray, " b"]:
    product: ndarray = (a * b).sum(axis=1)
    return product


def _norm(a: Float[ndarray, "b k"]) -> Float[ndarray, " b"]:
    norm: ndarray = np.sqrt(_dot(a, a))
    return norm


@dataclass(frozen=True)
class _Course:
    """Where each problem is heading.

    Direction, step length, steps tried in vain, and what the last one should have
    gained by the slope.
    """

    p: Float[ndarray, "b k"]
    step: Float[ndarray, " b"]
    n_tries: Int[ndarray, " b"]
    hope: Float[ndarray, " b"]

    def turned(self, other: _Course, is_turned: Bool[ndarray, " b"]) -> _Course:
        """The other course where a problem turns."""
        return _Course(
            np.where(is_turned[:, None], other.p, self.p),
            np.where(is_turned, other.step, self.step),
            np.where(is_turned, other.n_tries, self.n_tries),
            np.where(is_turned, other.hope, self.hope),
        )


def _course(
    now: _Point,
    memory: _Memory,
    is_fresh: Bool[ndarray, " b"],
    box: Box,
) -> _Course:
    """Return the descent direction and first step length of every problem."""
    low, high = box
    is_free = ~(((now.x <= low) & (now.g > 0)) | ((now.x >= high) & (now.g < 0)))
    g = now.g * is_free
    p = -memory.inverse_hessian_times(g) * is_free
    size = _norm(g)
    is_poor = is_fresh | ~(_dot(p, g) < -1e-12 * size * _norm(p))
    step = np.where(is_poor, 1.0 / np.maximum(size, 1.0), 1.0)
    n_tries = np.zeros(len(g), dtype=np.int64)
    hope = np.full(len(g), np.inf)
    return _Course(np.where(is_poor[:, None], -g, p), step, n_tries, hope)


def _tried(
    evaluated: Evaluated,
    now: _Point,
    course: _Course,
    is_going: Bool[ndarray, " b"],
    box: Box,
) -> tuple[_Point, _Course, Bool[ndarray, " b"]]:
    """One step of each problem at work: taken if it gains enough, else shortened."""
    at = is_going.nonzero()[0]
    old = _Point(now.x[at], now.f[at], now.g[at])
    x = (old.x + course.step[at, None] * course.p[at]).clip(*box)
    new = evaluated(x, at)
    slope = _dot(old.g, x - old.x)
    is_enough = (new.f < old.f) & (new.f <= old.f + _ARMIJO * slope)
    done = at[is_enough]
    moved = _Point(now.x.copy(), now.f.copy(), now.g.copy())
    moved.x[done], moved.f[done] = new.x[is_enough], new.f[is_enough]
    moved.g[done] = new.g[is_enough]
    is_moved = np.zeros_like(is_going)
    is_moved[done] = True
    # minimum of the parabola through both values and the slope
    ratio = np.nan_to_num(-0.5 * slope / (new.f - old.f - slope), nan=0.1)
    step, n_tries, hope = course.step.copy(), course.n_tries.copy(), course.hope.copy()
    step[at] *= ratio.clip(0.1, 0.5)
    n_tries[at] += 1
    hope[at] = -slope
    return moved, _Course(course.p, step, n_tries, hope), is_moved
