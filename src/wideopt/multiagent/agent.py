"""An agent: its function, its space, its share of the constraints, its model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from wideopt.acquisition.coupled import Affine
from wideopt.data.units import Units
from wideopt.exceptions import InputError
from wideopt.multiagent.theory import TheoreticalBeta
from wideopt.space import Categorical, Config, Space
from wideopt.surrogates.base import Surrogate
from wideopt.surrogates.squared_exponential import SquaredExponential
from wideopt.surrogates.tangent import Tangent

__all__ = ["Agent"]

_SURROGATES: dict[str, Surrogate] = {
    "gp": SquaredExponential(),
    "tangent": Tangent(),
}


@dataclass(frozen=True, eq=False)
class Agent:
    """One of several parties who minimize Σ f_i(x_i) under Σ g_i(x_i) <= 0.

    Attributes:
        fun: from a config to f_i, or to (f_i, [g_i1, ...]).
        space: bounds pairs or parameters, or a dict of name to parameter.
        A: matrix of this agent in Σ A_i x_i = b, one column for each parameter, in your
            units; None if it has no part in them.
        n_constraints: number m of black-box constraints of all agents together.
        constraints: which of them this agent has a part in, as indices from 0; then
            `fun` returns values for these, in this order. By default all.
        surrogate: "gp", "tangent", or a recipe of `wideopt.surrogates`.
        beta: confidence factor β of the bounds, or `TheoreticalBeta` for Lemma 2's.
        C: bound on |f_i| and |g_ij|, at which confidence bounds are clipped, if known.
        n_init: evaluations before the first round, of which nobody is told anything; by
            default 2 d + 1.
        n_candidates: points scored before the gradient search.
        n_restarts: gradient climbs; 0 is a search over candidates alone, ever finer
            around the best. By default 0 up to three dimensions, 2 above.
    """

    fun: Callable[[Any], Any]
    space: Any
    A: Any = None
    n_constraints: int = 0
    constraints: Sequence[int] | None = None
    surrogate: Surrogate | Literal["gp", "tangent"] = "gp"
    beta: float | TheoreticalBeta = 3.0
    C: float | None = None
    n_init: int | None = None
    n_candidates: int = 512
    n_restarts: int | None = None
    matrix: NDArray[np.float64] = field(init=False, repr=False)
    indices: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        space = Space(self.space)
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "matrix", _matrix(self.A, space))
        object.__setattr__(self, "indices", self._indices())
        if self.n_init is None:
            object.__setattr__(self, "n_init", 2 * space.n_dims + 1)
        self._check_numbers()
        if isinstance(self.surrogate, str) and self.surrogate not in _SURROGATES:
            raise InputError(
                f"surrogate is 'gp', 'tangent' or a recipe, but got {self.surrogate!r}."
            )

    def _indices(self) -> tuple[int, ...]:
        m = self.n_constraints
        if not isinstance(m, int) or m < 0:
            raise InputError(f"n_constraints must be at least 0, but got {m}.")
        if self.constraints is None:
            return tuple(range(m))
        known = tuple(self.constraints)
        if len(set(known)) < len(known) or not set(known) <= set(range(m)):
            raise InputError(
                f"constraints are distinct indices below n_constraints={m}, but got "
                f"{list(known)}."
            )
        return known

    def _check_numbers(self) -> None:
        for name, least in (("n_init", 1), ("n_candidates", 1), ("n_climbs", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                shown = name.replace("n_climbs", "n_restarts")
                raise InputError(f"{shown} must be at least {least}, but got {value}.")
        if not isinstance(self.beta, TheoreticalBeta) and not 0 < self.beta < math.inf:
            raise InputError(f"beta must be positive, but got {self.beta}.")
        if self.C is not None and not self.C > 0:
            raise InputError(f"C must be positive, but got {self.C}.")

    @property
    def n_climbs(self) -> int:
        """Gradient climbs that are made."""
        if self.n_restarts is None:
            return 0 if self.space.n_dims <= 3 else 2
        return self.n_restarts

    @property
    def recipe(self) -> Surrogate:
        """The surrogate that is fitted."""
        if isinstance(self.surrogate, str):
            return _SURROGATES[self.surrogate]
        return self.surrogate

    @property
    def affine(self) -> Affine | None:
        """A x on the unit cube, if the agent has a part in affine constraints."""
        if self.A is None:
            return None
        return Affine(torch.from_numpy(self.matrix), Units.of(self.space))

    def Ax(self, config: Config) -> tuple[float, ...]:
        """The share of the affine constraints that a config takes; () without any."""
        if self.A is None:
            return ()
        values = list(config.values()) if isinstance(config, dict) else config
        product = self.matrix @ np.array(values, dtype=np.float64)
        return tuple(product.tolist())

    @property
    def reach(self) -> NDArray[np.float64]:
        """How far A x can move, row by row."""
        if self.A is None:
            return np.zeros(0)
        units = Units.of(self.space)
        corner = torch.zeros(self.space.n_dims, dtype=torch.float64)
        span = (units(corner + 1.0) - units(corner)).numpy()
        return np.asarray(np.abs(self.matrix) @ span)


def _matrix(A: Any, space: Space) -> NDArray[np.float64]:
    if A is None:
        return np.zeros((0, len(space)))
    if any(isinstance(p, Categorical) for p in space.parameters):
        raise InputError(
            f"A needs numbers to multiply, but {space!r} has a categorical parameter."
        )
    matrix = np.array(A, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != len(space):
        raise InputError(
            f"A needs {len(space)} columns, one for each parameter, but its shape is "
            f"{matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise InputError(f"A must be finite, but got {matrix.tolist()}.")
    return matrix
