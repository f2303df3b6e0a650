"""The description of a test problem, and additive noise on it.

Notation: min f(x) over a box, subject to c_1(x) <= 0, ..., c_k(x) <= 0. A point x has
length d; X stands for a batch of points, of shape (..., d), in numpy or torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj
from numpy.typing import ArrayLike, NDArray

from wideopt.exceptions import InputError

if TYPE_CHECKING:
    from wideopt.space import Space

__all__ = ["Array", "Formula", "Noisy", "Outcome", "Problem"]

Array: TypeAlias = Any  # a numpy array or a torch tensor; torch is not imported here
Formula: TypeAlias = Callable[[Array], Array]
Outcome: TypeAlias = float | tuple[float, list[float]]
Pairs: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Problem:
    """A black box to be minimized, with everything that is known about it.

    `problem(x)` gives f(x), or (f(x), [c_1(x), ..., c_k(x)]) if there are constraints.
    `objective` and `constraints` are the same in batches, for numpy and torch. Points
    outside the box are evaluated where the formula allows it.

    Attributes:
        name: The name that `wideopt.problems.get` knows.
        title: One line for people.
        box: (low, high) of each coordinate.
        f: Maps X of shape (..., d) to values of shape (...).
        c: Maps X to constraint values of shape (..., k); None without constraints.
        n_constraints: k.
        optimum: f*, the least feasible value; None if it is not known.
        minimizers: Points that attain f*; not all of them where there are many.
        source: Where the problem comes from, by author and year.
        feasible_share: The share of the box's volume that is feasible, if stated.
    """

    name: str
    title: str
    box: Pairs = field(repr=False)
    f: Formula = field(repr=False)
    c: Formula | None = field(default=None, repr=False)
    n_constraints: int = 0
    optimum: float | None = None
    minimizers: tuple[tuple[float, ...], ...] = field(default=(), repr=False)
    source: str = field(default="", repr=False)
    feasible_share: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.box:
            raise InputError(f"Problem {self.name!r} needs at least one coordinate.")
        for low, high in self.box:
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise InputError(
                    f"Problem {self.name!r} has the bounds ({low}, {high}); "
                    "give finite bounds with low < high."
                )
        if (self.c is None) != (self.n_constraints == 0):
            raise InputError(
                f"Problem {self.name!r} says n_constraints={self.n_constraints}; it "
                "must be positive with a constraint function and 0 without."
            )

    @property
    def dim(self) -> int:
        """The length d of a point."""
        return len(self.box)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """(low, high) of each coordinate, as a new list."""
        return list(self.box)

    @property
    def space(self) -> Space:
        """The box as a search space of real parameters."""
        from wideopt.space import Real, Space

        return Space([Real(low, high) for low, high in self.box])

    @property
    def x_optimum(self) -> NDArray[np.float64] | None:
        """Known minimizers, one in each row: shape (r, d) even if r = 1."""
        return np.array(self.minimizers, dtype=float) if self.minimizers else None

    def __call__(self, x: ArrayLike) -> Outcome:
        """Evaluate one point of length d."""
        try:
            point = np.asarray(x, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Problem {self.name!r} takes {self.dim} numbers, but got {x!r}."
            ) from error
        if point.shape != (self.dim,):
            raise InputError(
                f"Problem {self.name!r} takes one point of length {self.dim}, "
                f"but got an array of shape {point.shape}."
            )
        y = float(self.f(point))
        if self.c is None:
            return y
        return y, [float(value) for value in self.c(point)]

    def objective(self, X: Array) -> Array:
        """The objective at a batch of points, (..., d) -> (...)."""
        return self.f(self._batch(X))

    def constraints(self, X: Array) -> Array:
        """The constraints at a batch of points, (..., d) -> (..., k); k may be 0."""
        X = self._batch(X)
        return X[..., :0] if self.c is None else self.c(X)

    def _batch(self, X: Array) -> Array:
        if not is_array_api_obj(X):
            X = np.asarray(X, dtype=float)
        if X.ndim == 0 or X.shape[-1] != self.dim:
            raise InputError(
                f"Problem {self.name!r} takes points of length {self.dim}, "
                f"but got an array of shape {tuple(X.shape)}."
            )
        xp = array_namespace(X)
        if xp.isdtype(X.dtype, "real floating"):
            return X
        return xp.astype(X, xp.float64)


class Noisy:
    """A problem observed with Gaussian noise, N(0, sd²) and independent at each call.

    A pickled copy continues with a stream of its own, spawned from this one: tasks sent
    one by one to a process pool get different noise, the same in each run with a seed.

    Args:
        problem: The problem without noise.
        sd: Standard deviation of the noise on the objective.
        seed: Anything that `numpy.random.default_rng` takes.
        constraint_sd: Standard deviation on all constraints, or one for each.
    """

    def __init__(
        self,
        problem: Problem,
        sd: float,
        seed: int | np.random.SeedSequence | np.random.Generator | None = None,
        constraint_sd: float | Sequence[float] = 0.0,
    ) -> None:
        sds = np.append(sd, np.broadcast_to(constraint_sd, (problem.n_constraints,)))
        if not np.all((sds >= 0) & np.isfinite(sds)):
            raise InputError(
                f"A noise level is a finite number >= 0, but got sd={sd!r} and "
                f"constraint_sd={constraint_sd!r}."
            )
        self.problem = problem
        self.sd = sd
        self.constraint_sd = constraint_sd
        self._sds = sds
        self._generator = np.random.default_rng(seed)

    def __call__(self, x: ArrayLike) -> Outcome:
        """Evaluate one point and add noise."""
        outcome = self.problem(x)
        noise = self._generator.normal(scale=self._sds)
        if isinstance(outcome, tuple):
            y, c = outcome
            return y + float(noise[0]), [
                value + float(e) for value, e in zip(c, noise[1:], strict=True)
            ]
        return outcome + float(noise[0])

    def __reduce__(self) -> tuple[Any, ...]:
        (child,) = self._generator.spawn(1)
        return (type(self), (self.problem, self.sd, child, self.constraint_sd))
