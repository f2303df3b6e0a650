"""Differential operators on a function of one point.

Notation: u maps a point x (d,) to a scalar, F maps it to a vector (d,); e_i is the i-th
unit vector. Derivatives are exact, by Taylor series along e_i (`_jet`); a gradient that
is not differentiated again by these operators is taken by reverse mode, whose cost does
not grow with d.
"""

from __future__ import annotations

import operator
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.pde._jet import Function, derivative, is_inside_a_jet

__all__ = ["Point", "divergence", "grad", "laplacian", "partial"]

Point: TypeAlias = Float[Tensor, "d"]


def partial(u: Function, x: Point, i: int, order: int = 1) -> Tensor:
    """∂ᵏu/∂x_iᵏ at x, with k = `order`; has the shape of u(x).

    Mixed derivatives compose: `partial(lambda z: partial(u, z, 1), x, 0)`.
    """
    _check_point(x)
    d = x.shape[0]
    i, order = _integer("i", i), _integer("order", order)
    if not 0 <= i < d:
        raise InputError(f"i is {i}; a point of length {d} has i = 0, ..., {d - 1}.")
    if order < 1:
        raise InputError(f"order is {order}; a derivative has an order of at least 1.")
    return derivative(u, x, _directions(x)[i], order)


def grad(u: Function, x: Point) -> Float[Tensor, "d"]:
    """(∂u/∂x_1, ..., ∂u/∂x_d) at x."""
    _check_point(x)
    if is_inside_a_jet():
        return _along_all(_scalar(u), x, 1)
    slopes: Tensor = torch.func.grad(_scalar(u))(x)
    return slopes


def laplacian(u: Function, x: Point) -> Float[Tensor, ""]:
    """Σ_i ∂²u/∂x_i² at x."""
    _check_point(x)
    return _along_all(_scalar(u), x, 2).sum(0)


def divergence(F: Function, x: Point) -> Float[Tensor, ""]:
    """Σ_i ∂F_i/∂x_i at x."""
    _check_point(x)
    return _along_all(_vector(F, x.shape[0]), x, 1).diagonal().sum(0)


def _along_all(u: Function, x: Tensor, order: int) -> Tensor:
    """Return the derivatives along e_1, ..., e_d in rows."""
    directions = _directions(x)
    if is_inside_a_jet():  # jets of the outside cannot leave a vmap
        return torch.stack([derivative(u, x, v, order) for v in directions])
    return torch.func.vmap(lambda v: derivative(u, x, v, order))(directions)


def _directions(x: Tensor) -> Float[Tensor, "d d"]:
    return torch.eye(x.shape[0], dtype=x.dtype, device=x.device)


def _scalar(u: Function) -> Function:
    """Return u, checked to give one number."""

    def checked(x: Tensor) -> Tensor:
        y = u(x)
        if y.shape != ():
            raise InputError(
                f"u(x) has the shape {tuple(y.shape)} at one point; return a scalar, "
                "for instance by y.squeeze(-1)."
            )
        return y

    return checked


def _vector(F: Function, d: int) -> Function:
    """Return F, checked to give d numbers."""

    def checked(x: Tensor) -> Tensor:
        y = F(x)
        if y.shape != (d,):
            raise InputError(
                f"F(x) has the shape {tuple(y.shape)} at one point of length {d}; "
                f"a divergence needs ({d},)."
            )
        return y

    return checked


def _check_point(x: Tensor) -> None:
    if x.ndim != 1:
        raise InputError(
            f"x has the shape {tuple(x.shape)}; operators take one point (d,): use "
            "torch.func.vmap, or PDE.residual, for many."
        )


def _integer(name: str, value: int) -> int:
    try:
        return operator.index(value)
    except TypeError as error:
        raise InputError(f"{name} is {value!r}; it must be an integer.") from error
