"""Equations on a space: checked, and imposed at points of the unit cube.

An equation without points of its own has a pool of Sobol points, several times as many
as it is imposed at: the first of them at first, later those of the pool where the
residual turned out large.

Notation: θ the unknown coefficients of all equations, scaled to [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine

from wideopt.data.units import Units
from wideopt.exceptions import InputError
from wideopt.pde._equation import PDE, Unknown
from wideopt.pde._local import Indices, Local
from wideopt.space import Space

__all__ = ["System"]

_POOL = 4  # points in the pool, for each that is used
_SEED = 20240607
_CONSTANT = 1e-9  # relative change of a coefficient that is none
_EDGE = 1e-9  # how far outside the cube rounding may carry a point of its edge


@dataclass(frozen=True)
class System:
    """One or more equations of one function on a space.

    Attributes:
        locals: each equation at its pool of points.
        n_points: at how many of them it is imposed.
        unknowns: the unknown coefficients of all equations by name.
    """

    locals: tuple[Local, ...]
    n_points: tuple[int, ...]
    unknowns: dict[str, Unknown]

    @classmethod
    def of(cls, pde: Any, space: Space, device: torch.device | str = "cpu") -> System:
        """The system of a `PDE` or a list of them, or an `InputError`."""
        equations = _equations(pde)
        units = Units.of(space, device)
        pools = [_pool(each, space, units).to(device) for each in equations]
        found = [
            Local.of(equation, units, T)
            for equation, T in zip(equations, pools, strict=True)
        ]
        for local in found:
            local.rhs  # noqa: B018 # raises if it cannot be used
        counts = tuple(each.n_points for each in equations)
        return cls(tuple(found), counts, _shared_unknowns(equations))

    @property
    def is_linear(self) -> bool:
        """Whether every equation is."""
        return all(each.is_linear for each in self.locals)

    @property
    def symbol(self) -> tuple[Float[Tensor, " k"], Indices] | None:
        """Coefficients a_α and indices α of Σ_α a_α ∂^α u = 0 in the cube, if it is so.

        None unless there is one equation, with constant coefficients, all over the
        space, without right side, and without a term in u itself.
        """
        local = self.locals[0]
        is_one = len(self.locals) == 1 and local.equation.points is None
        is_plain = self.is_linear and not self.unknowns
        if not (is_one and is_plain) or (0,) * local.T.shape[1] in local.alphas:
            return None
        A, F = local.linearized()
        size = A.abs().max()
        is_constant = (A - A[0]).abs().max() <= _CONSTANT * size
        is_homogeneous = (local.rhs - F).abs().max() <= _CONSTANT * size
        return (A[0], local.alphas) if is_constant and is_homogeneous else None

    @property
    def first_points(self) -> list[list[int]]:
        """Indices into each pool, to begin with."""
        return [list(range(n)) for n in self.n_points]

    def values(self, theta: Float[Tensor, " k"]) -> dict[str, float]:
        """The unknown coefficients in the user's units."""
        pairs = zip(self.unknowns.items(), theta.tolist(), strict=True)
        return {
            name: each.low + (each.high - each.low) * share
            for (name, each), share in pairs
        }


def _equations(pde: Any) -> list[PDE]:
    given = [pde] if isinstance(pde, PDE) else pde
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_list or not given or not all(isinstance(p, PDE) for p in given):
        raise InputError(f"pde is {pde!r}; give a wideopt.PDE, or a list of them.")
    return list(given)


def _pool(equation: PDE, space: Space, units: Units) -> Float[Tensor, "n d"]:
    d = space.n_dims
    if equation.points is None:
        engine = SobolEngine(d, scramble=True, seed=_SEED)
        T = engine.draw(_POOL * equation.n_points, dtype=torch.float64)
        return T if space.is_continuous else torch.from_numpy(space.snap(T.numpy()))
    if equation.points.shape[1] != d:
        raise InputError(
            f"points of a PDE have {equation.points.shape[1]} columns, but the space "
            f"has {d}."
        )
    T = units.inverse(equation.points.to(units.a))
    is_out = ~((T >= -_EDGE) & (T <= 1 + _EDGE)).all(dim=1)
    if bool(is_out.any()):
        x = equation.points[is_out.cpu()][0].tolist()
        raise InputError(
            f"The point {x} of a PDE lies outside the space; leave it out, or widen "
            "the space."
        )
    return T.clamp(0.0, 1.0)


def _shared_unknowns(equations: Sequence[PDE]) -> dict[str, Unknown]:
    found: dict[str, Unknown] = {}
    for equation in equations:
        for name, each in equation.unknowns.items():
            if found.setdefault(name, each) != each:
                raise InputError(
                    f"The unknown {name!r} has the bounds {found[name]} in one "
                    f"equation and {each} in another; give it the same."
                )
    return found
