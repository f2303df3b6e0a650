"""A system of equations as linear functionals of the unknown function.

    Σ_α A_α(z, θ) ∂^α u(z) = b(z, θ),   b = g - F(z, C, θ) + Σ_α A_α C_α

exact for linear equations, and for others the linearization at derivatives C of some
function. In the unknown coefficients θ both sides are taken to be affine, around a
given θ*: exact where the operator is, else the first step of an iteration.

Notation: u = scale · w + shift with w standardized, so that the equation of w has the
right side (b - shift ℓ[1])/scale; ℓ[1] is what a functional gives for the constant 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.smooth import Functionals
from wideopt.pde._system import System

__all__ = ["Linearization"]

_STEP = 1e-4  # in θ, of central differences


@dataclass(frozen=True)
class Linearization:
    """The equations at chosen points of their pools.

    Attributes:
        groups: for each equation, its functionals at θ*.
        b: their right sides at θ*.
        A_theta: derivatives of the slopes in θ, (k, n, ·) for each equation.
        b_theta: derivatives of the right sides in θ, (k, n) for each equation.
        theta: θ*.
    """

    groups: tuple[Functionals, ...]
    b: tuple[Tensor, ...]
    A_theta: tuple[Tensor, ...]
    b_theta: tuple[Tensor, ...]
    theta: Float[Tensor, " k"]

    @classmethod
    def of(
        cls,
        system: System,
        points: Sequence[Sequence[int]],
        theta: Float[Tensor, " k"],
        C: Sequence[Tensor] | None = None,
    ) -> Linearization:
        """Linearize at derivatives C (in the user's units of u), by default zero."""
        A, b = _sides(system, points, theta, C)
        steps = _STEP * torch.eye(len(theta), dtype=theta.dtype, device=theta.device)
        ends = [
            (_sides(system, points, theta + h, C), _sides(system, points, theta - h, C))
            for h in steps
        ]
        groups, A_theta, b_theta = [], [], []
        for i, local in enumerate(system.locals):
            T = local.T[list(points[i])]
            groups.append(Functionals(T, A[i], local.alphas))
            A_theta.append(_stacked([p[0][i] - m[0][i] for p, m in ends], A[i]))
            b_theta.append(_stacked([p[1][i] - m[1][i] for p, m in ends], b[i]))
        return cls(tuple(groups), tuple(b), tuple(A_theta), tuple(b_theta), theta)

    @classmethod
    def empty(cls) -> Linearization:
        """No equations at all."""
        return cls((), (), (), (), torch.zeros(0, dtype=torch.float64))

    @property
    def n(self) -> int:
        """Number of functionals."""
        return sum(group.n for group in self.groups)

    def at(
        self, theta: Float[Tensor, " k"]
    ) -> tuple[tuple[Functionals, ...], Float[Tensor, " n"]]:
        """Functionals and right sides for other coefficients."""
        step = theta - self.theta.to(theta)
        groups = tuple(
            Functionals(
                group.T,
                group.A + torch.einsum("k,knj->nj", step, A_theta),
                group.alphas,
            )
            for group, A_theta in zip(self.groups, self.A_theta, strict=True)
        )
        sides = [
            b + torch.einsum("k,kn->n", step, b_theta)
            for b, b_theta in zip(self.b, self.b_theta, strict=True)
        ]
        return groups, torch.cat(sides) if sides else theta.new_zeros(0)


def _sides(
    system: System,
    points: Sequence[Sequence[int]],
    theta: Tensor,
    C: Sequence[Tensor] | None,
) -> tuple[list[Tensor], list[Tensor]]:
    """A and b of every equation."""
    known = system.values(theta)
    slopes, sides = [], []
    for i, local in enumerate(system.locals):
        here = local.at(local.T[list(points[i])])
        unknowns = {name: known[name] for name in local.equation.unknowns}
        c = None if C is None else C[i]
        A, F = here.linearized(c, unknowns)
        b = here.rhs - F
        slopes.append(A)
        sides.append(b if c is None else b + (A * c).sum(dim=1))
    return slopes, sides


def _stacked(differences: list[Tensor], like: Tensor) -> Tensor:
    if not differences:
        return like.new_zeros(0, *like.shape)
    return torch.stack(differences) / (2 * _STEP)
