"""A differential operator as a function of derivatives at one point.

N[u](x) = F(x, c), c_α = ∂^α u(x): only u and its derivatives at x matter. F and its
slopes a_α = ∂F/∂c_α come from N itself, applied to Taylor polynomials: exact, whatever
code the operator is. Where F is affine in c, the equation is linear:

    N[u](x) = F(x, 0) + Σ_α a_α(x) ∂^α u(x)

Derivatives are those in the unit cube, t = t(x); N sees the polynomial as a function of
x, so that the chain rule is its own.

Notation: T (n, d) points of the cube, X the same in the user's units, α multi-indices,
C (n, k) derivatives at each point, A (n, k) slopes, θ the unknown coefficients.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.units import Units
from wideopt.exceptions import InputError, WideoptError
from wideopt.pde._equation import PDE, check_finite
from wideopt.pde._jet import Function

__all__ = ["Indices", "Local", "sine_derivatives"]

Indices: TypeAlias = tuple[tuple[int, ...], ...]

_MAX_ORDER = 6
_MAX_TERMS = 5000  # derivatives that may play a part
_N_PROBES = 4  # points at which an operator is examined
_SAME = 1e-7  # relative error of two ways to compute the same


@dataclass(frozen=True)
class Local:
    """An equation at some points, as a function of derivatives in the cube.

    Attributes:
        equation: the equation.
        units: the map from the cube to the user's units.
        T: the points, in the cube.
        alphas: the multi-indices of the derivatives that play a part.
        is_linear: whether F is affine in them.
    """

    equation: PDE
    units: Units
    T: Float[Tensor, "n d"]
    alphas: Indices
    is_linear: bool

    @classmethod
    def of(cls, equation: PDE, units: Units, T: Float[Tensor, "n d"]) -> Local:
        """Find out what the operator depends on, and whether it is linear."""
        probes = T[torch.linspace(0, len(T) - 1, _N_PROBES).round().long()]
        try:
            return cls._examined(equation, units, T, probes)
        except (WideoptError, KeyboardInterrupt):
            raise
        except Exception as error:
            first = (str(error).strip().splitlines() or [repr(error)])[0]
            raise InputError(
                "The operator of a PDE cannot be evaluated (it must not branch on "
                f"values, nor leave torch): {type(error).__name__}: {first}"
            ) from error

    @classmethod
    def _examined(
        cls, equation: PDE, units: Units, T: Tensor, probes: Float[Tensor, "p d"]
    ) -> Local:
        _check_values(equation, units, probes)
        order = _order(equation, units, probes)
        alphas = _indices(T.shape[1], order)
        is_linear = _is_linear(equation, units, probes)
        whole = cls(equation, units, T, alphas, is_linear)
        whole._check_local(probes)
        if is_linear:  # what has no slope anywhere plays no part
            A, _ = whole.linearized()
            is_used = (A != 0).any(dim=0)
            is_used[0] = is_used[0] or not bool(is_used.any())
            alphas = tuple(a for a, used in zip(alphas, is_used, strict=True) if used)
        return cls(equation, units, T, alphas, is_linear)

    def at(self, T: Float[Tensor, "m d"]) -> Local:
        """The same equation at other points."""
        return Local(self.equation, self.units, T, self.alphas, self.is_linear)

    @property
    def rhs(self) -> Float[Tensor, " n"]:
        """Values of g at the points."""
        X = self.units(self.T)
        values = torch.func.vmap(self.equation.right)(X).detach()
        check_finite("rhs(x)", values, X)
        return values

    def linearized(
        self,
        C: Float[Tensor, "n k"] | None = None,
        unknowns: Mapping[str, Any] | None = None,
    ) -> tuple[Float[Tensor, "n k"], Float[Tensor, " n"]]:
        """Slopes A and values F(x, C) at derivatives C, by default zero."""
        if C is None:
            C = self.T.new_zeros(len(self.T), len(self.alphas))
        given = dict(unknowns or {})

        def value(c: Tensor, t: Tensor) -> Tensor:
            return self._value(c, t, given)

        A, F = torch.func.vmap(torch.func.grad_and_value(value))(C, self.T)
        X = self.units(self.T)
        check_finite("operator(u, x)", F, X)
        check_finite("a derivative of operator(u, x)", A.sum(dim=1), X)
        return A.detach(), F.detach()

    def _value(self, c: Tensor, t: Tensor, unknowns: Mapping[str, Any]) -> Tensor:
        """F(x(t), c)."""
        u = _polynomial(c, self.alphas, t, self.units)
        return self.equation.left(u, self.units(t), **unknowns)

    def _check_local(self, probes: Float[Tensor, "p d"]) -> None:
        """Raise if the operator depends on more than derivatives at the point."""
        w, b = _wave(probes.shape[1], 3)
        exact = _applied(self.equation, self.units, probes, _sine(w, b, self.units))
        C = sine_derivatives(self.alphas, w, b, probes)
        found = torch.func.vmap(lambda c, t: self._value(c, t, {}))(C, probes)
        if not _is_same(exact, found):
            raise InputError(
                "The operator of a PDE may use u and its derivatives (of order "
                f"{_MAX_ORDER} at most) at x only, but this one depends on u elsewhere."
            )


def sine_derivatives(
    alphas: Indices, w: Float[Tensor, " d"], b: float, T: Float[Tensor, "n d"]
) -> Float[Tensor, "n k"]:
    """∂^α sin(w·t + b) at the rows of T."""
    phase = T @ w + b
    columns = [
        _power(w, alpha) * torch.sin(phase + 0.5 * math.pi * sum(alpha))
        for alpha in alphas
    ]
    return torch.stack(columns, dim=1)


def _power(w: Tensor, alpha: tuple[int, ...]) -> Tensor:
    return torch.stack([w[i] ** k for i, k in enumerate(alpha)]).prod()


def _polynomial(
    c: Float[Tensor, " k"], alphas: Indices, center: Tensor, units: Units
) -> Function:
    """Σ_α c_α (t - center)^α/α! as a function of x."""
    d = len(center)

    def u(x: Tensor) -> Tensor:
        delta = units.inverse(x) - center
        steps = [delta[i] for i in range(d)]
        total: Any = 0.0
        for j, alpha in enumerate(alphas):
            term: Any = c[j] / math.prod(math.factorial(k) for k in alpha)
            for i, k in enumerate(alpha):
                if k:
                    term = term * (steps[i] ** k if k > 1 else steps[i])
            total = total + term
        # a constant would not be a jet, and have no derivatives
        value: Tensor = total + 0.0 * delta.sum()
        return value

    return u


def _wave(d: int, seed: int) -> tuple[Float[Tensor, " d"], float]:
    """Direction and phase of a smooth function to try an operator on."""
    generator = torch.Generator().manual_seed(seed)
    w = torch.randn(d, generator=generator, dtype=torch.float64)
    # not of a round length, lest an operator with round coefficients should vanish
    return 2.0371 * w / w.norm(), 0.3 + seed


def _sine(w: Tensor, b: float, units: Units) -> Function:
    return lambda x: torch.sin(units.inverse(x) @ w + b)


def _applied(equation: PDE, units: Units, T: Tensor, u: Function) -> Tensor:
    values: Tensor = torch.func.vmap(lambda t: equation.left(u, units(t)))(T)
    return values.detach()


def _check_values(equation: PDE, units: Units, probes: Tensor) -> None:
    """Raise for a wrong shape or a value that is not finite, as `residual` does."""
    w, b = _wave(probes.shape[1], 0)
    equation.residual(_sine(w, b, units), units(probes))


def _order(equation: PDE, units: Units, probes: Float[Tensor, "p d"]) -> int:
    """The highest order of derivatives that has a slope, along random directions."""
    w, b = _wave(probes.shape[1], 1)
    v, _ = _wave(probes.shape[1], 2)
    base = _sine(w, b, units)

    def slope(t: Tensor, k: int) -> Tensor:
        def with_bump(size: Tensor) -> Tensor:
            def u(x: Tensor) -> Tensor:
                step = (units.inverse(x) - t) @ v
                bump = step**k / math.factorial(k) if k else 1.0 + 0.0 * step
                return base(x) + size * bump

            return equation.left(u, units(t))

        zero = torch.zeros((), dtype=t.dtype, device=t.device)
        derived: Tensor = torch.func.jvp(with_bump, (zero,), (zero + 1.0,))[1]
        return derived

    sizes = [
        float(torch.func.vmap(lambda t, k=k: slope(t, k))(probes).abs().max())
        for k in range(_MAX_ORDER + 1)
    ]
    least = 1e-12 * max(sizes)
    return max((k for k, size in enumerate(sizes) if size > least), default=0)


def _indices(d: int, order: int) -> Indices:
    """All multi-indices up to an order, the constant first."""
    n_terms = math.comb(d + order, order)
    if n_terms > _MAX_TERMS:
        raise InputError(
            f"An operator of order {order} in {d} dimensions has {n_terms} possible "
            f"derivatives; at most {_MAX_TERMS} can be handled."
        )
    return tuple(
        tuple(chosen.count(i) for i in range(d))
        for k in range(order + 1)
        for chosen in itertools.combinations_with_replacement(range(d), k)
    )


def _is_linear(equation: PDE, units: Units, probes: Float[Tensor, "p d"]) -> bool:
    """Superposition: N[u + 2v] - N[0] is N[u] + 2 N[v] - 3 N[0], for smooth u and v."""
    u, v = (_sine(*_wave(probes.shape[1], seed), units) for seed in (4, 5))

    def nothing(x: Tensor) -> Tensor:
        return 0.0 * u(x)

    def both(x: Tensor) -> Tensor:
        return u(x) + 2.0 * v(x)

    of_u, of_v, of_both, of_nothing = (
        _applied(equation, units, probes, each) for each in (u, v, both, nothing)
    )
    if not bool(of_nothing.isfinite().all()):
        return False
    return _is_same(of_both + 2.0 * of_nothing, of_u + 2.0 * of_v)


def _is_same(a: Tensor, b: Tensor) -> bool:
    scale = float(torch.maximum(a.abs(), b.abs()).max())
    return bool((a - b).abs().max() <= _SAME * max(scale, 1e-300))
