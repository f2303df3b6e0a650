"""A partial differential equation N[u](x) = g(x) that the objective obeys.

Paper: PINN-BO (Phan-Trong's thesis, ch. 5), sec. 5.1.

Notation: N the operator, g the right-hand side, X (n, d) points in the user's units.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.pde._jet import Function

__all__ = ["PDE", "Unknown", "check_finite"]

Operator: TypeAlias = Callable[..., Tensor]


@dataclass(frozen=True)
class Unknown:
    """A coefficient of an equation that is not known, between two bounds.

    Attributes:
        low: the least value it may have.
        high: the largest.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        pair = (self.low, self.high)
        is_number = all(
            isinstance(end, int | float | np.number) and not isinstance(end, bool)
            for end in pair
        )
        if not is_number or not -math.inf < self.low < self.high < math.inf:
            raise InputError(
                f"An unknown has the bounds {pair}; give two finite numbers, the lower "
                "one first."
            )

    @property
    def middle(self) -> float:
        """Where the estimate starts."""
        return 0.5 * (self.low + self.high)


@dataclass(frozen=True, eq=False)
class PDE:
    """The equation `operator(u, x) = rhs(x)` at every point x of the space.

    Nothing is said of boundary conditions; they need not be known. A condition that is
    known is one more equation, with `points` where it holds: `PDE(lambda u, x: u(x),
    1.0, points=[[0.0]])` says that u(0) = 1.

    Attributes:
        operator: Takes a function `u` of one point and the point `x`, a tensor (d,) in
            the user's units; gives a scalar, made with `wideopt.pde.partial` and its
            like. It is run in batches (`torch.func.vmap`), so it must not branch on
            values. It may use u and its derivatives at x only.
        rhs: A number, or a function of one point.
        n_points: At how many points of the space the equation is imposed.
        points: These points (n, d) instead, in the user's units; sets `n_points`.
        unknowns: Coefficients to estimate, `Unknown(low, high)` by name; the operator
            gets them as keyword arguments. Equations of one system share those of the
            same name.
    """

    operator: Operator
    rhs: float | Callable[[Tensor], Any] = 0.0
    n_points: int = 200
    points: Any = field(default=None, repr=False)
    unknowns: Any = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not callable(self.operator):
            raise InputError(
                f"operator is {self.operator!r}; give a function of u and x, such as "
                "wideopt.pde.laplacian."
            )
        self._check_rhs()
        _check_unknowns(self.unknowns)
        object.__setattr__(self, "n_points", _positive(self.n_points))
        if self.points is not None:
            points = _matrix(self.points)
            object.__setattr__(self, "points", points)
            object.__setattr__(self, "n_points", len(points))

    def _check_rhs(self) -> None:
        if callable(self.rhs):
            return
        is_number = isinstance(self.rhs, int | float | np.number)
        if not is_number or not math.isfinite(self.rhs):
            raise InputError(
                f"rhs is {self.rhs!r}; give a finite number or a function of x."
            )

    def residual(
        self,
        u: Function,
        X: Float[Tensor, "n d"],
        *,
        is_checked: bool = True,
        **unknowns: Any,
    ) -> Float[Tensor, "n"]:
        """N[u](x) - g(x) at each row of X; differentiable in u's parameters.

        Unknown coefficients are given by name, or have the middle of their bounds.
        Values that are not finite raise `InputError`, unless `is_checked` is false,
        which is also what a `torch.func.vmap` around this call needs.
        """
        if X.ndim != 2:
            raise InputError(
                f"X has the shape {tuple(X.shape)}; give points in rows, (n, d)."
            )
        if len(X) == 0:  # torch cannot run every function on an empty batch
            return X.sum(-1)
        left = torch.func.vmap(lambda x: self.left(u, x, **unknowns))(X)
        right = torch.func.vmap(self.right)(X)
        if is_checked:
            check_finite("operator(u, x)", left, X)
            check_finite("rhs(x)", right, X)
        return left - right

    def left(self, u: Function, x: Tensor, **unknowns: Any) -> Tensor:
        """N[u](x) at one point."""
        middle = {name: each.middle for name, each in self.unknowns.items()}
        value = self.operator(u, x, **{**middle, **unknowns})
        return _scalar("operator(u, x)", value)

    def right(self, x: Tensor) -> Tensor:
        """g(x) at one point."""
        if callable(self.rhs):
            value = torch.as_tensor(self.rhs(x), dtype=x.dtype, device=x.device)
            return _scalar("rhs(x)", value)
        return torch.as_tensor(self.rhs, dtype=x.dtype, device=x.device)


def _check_unknowns(unknowns: Any) -> None:
    if not isinstance(unknowns, Mapping):
        raise InputError(
            f"unknowns is {unknowns!r}; give a dict such as "
            '{"k": wideopt.pde.Unknown(0.0, 1.0)}.'
        )
    for name, each in unknowns.items():
        if not isinstance(each, Unknown):
            raise InputError(
                f"The unknown {name!r} is {each!r}; give its bounds, as in "
                "wideopt.pde.Unknown(0.0, 1.0)."
            )


def _scalar(name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise InputError(
            f"{name} is {value!r}; it must be a tensor made from its arguments by "
            "operators and functions of torch."
        )
    if value.shape != ():
        raise InputError(
            f"{name} has the shape {tuple(value.shape)} at one point; it must be a "
            "scalar: index it, as in value[0], or sum it."
        )
    return value


def check_finite(name: str, values: Float[Tensor, "n"], X: Tensor) -> None:
    """Raise `InputError` for the first value that is not finite."""
    is_bad = ~values.detach().isfinite()
    if is_bad.any():
        worst = int(is_bad.int().argmax())
        raise InputError(
            f"{name} is {values[worst].item()} at x = {X[worst].tolist()}; an equation "
            "must be finite at every point: check for division by zero, roots and "
            "logarithms, or give other points."
        )


def _positive(n_points: int) -> int:
    try:
        n = operator.index(n_points)
    except TypeError:
        n = 0
    if n < 1 or isinstance(n_points, bool):
        raise InputError(f"n_points is {n_points!r}; it must be a positive integer.")
    return n


def _matrix(points: Any) -> Float[Tensor, "n d"]:
    try:
        X = torch.as_tensor(points, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError("points are not numbers; give an array (n, d).") from error
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(
            f"points have the shape {tuple(X.shape)}; give one or more in rows, (n, d)."
        )
    if not X.isfinite().all():
        raise InputError("points are not all finite; leave out the rows that are not.")
    return X.detach().clone()
