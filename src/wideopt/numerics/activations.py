"""Activations of the networks, and their Gaussian expectations in closed form.

Sources: Cho & Saul 2009 (arc-cosine kernels, relu), Williams 1997 (arc-sine kernel,
erf); sin follows from the characteristic function of a Gaussian, and squares from its
fourth moments (Isserlis 1918).

Notation:
    (u, v)   a centered Gaussian pair with variances a = E[u²], b = E[v²]
             and covariance c = E[uv]
    φ, φ'    an activation and its derivative
    gain     factor on φ that keeps the signal's variance through relu layers (√2)
    bowl     units by turns √2 erf(u) and √2 g u²: the sum of two networks, of which the
             second may be any quadratic function

Each pair of expectations is gain²·(E[φ(u)φ(v)], E[φ'(u)φ'(v)]). By Price's theorem
∂E[φφ]/∂c = E[φ'φ'], which is what the tests check. Gradients are finite everywhere,
also for coincident points (|c| = √(ab)) and vanishing variances.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError

__all__ = ["ACTIVATIONS", "Activation", "Turns", "get_activation"]

Expectations = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]

# arccos has an infinite slope at 1. Correlations this close to 1 are an angle below
# 1.5e-7, where rounding of the correlation itself already dominates.
_RHO_END = 1.0 - 1e-14
_TINY = 1e-290
BOWL = 1.0  # g, the weight of squares beside erf; the output scale learns the rest


@dataclass(frozen=True)
class Activation:
    """One activation: `phi`, its derivative `dphi`, and its Gaussian expectations.

    `expectations` is None where no closed form exists (tanh, silu): such networks
    have no `InfiniteKernel`. With `turns`, units 0, 2, ... are `turns.phi`, and units
    1, 3, ... are `turns.square` times u².
    """

    name: str
    gain: float
    is_smooth: bool
    phi: Callable[[Tensor], Tensor]
    dphi: Callable[[Tensor], Tensor]
    expectations: Expectations | None
    turns: Turns | None = None


@dataclass(frozen=True)
class Turns:
    """What units do by turns: an activation and its derivative, and squares."""

    phi: Callable[[Tensor], Tensor]
    dphi: Callable[[Tensor], Tensor]
    square: float


def get_activation(name: str) -> Activation:
    """Return the activation of that name."""
    if name not in ACTIVATIONS:
        raise InputError(
            f"Unknown activation {name!r}; choose one of {', '.join(ACTIVATIONS)}."
        )
    return ACTIVATIONS[name]


def _relu_slope(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return torch.relu(z).sign()  # faster than a comparison and a cast


def _relu_expectations(
    a: Float[Tensor, "..."], b: Float[Tensor, "..."], c: Float[Tensor, "..."]
) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """√(ab)(sin θ + (π-θ) cos θ)/π and (π-θ)/π with θ = arccos(c/√(ab))."""
    ab = a * b
    is_null = ab <= _TINY
    s = torch.where(is_null, 1.0, ab).sqrt()
    rho = c / s
    is_inside = rho.abs() < _RHO_END
    # Both branches of `where` are differentiated: each must be finite on its own.
    rho_inside = torch.where(is_inside, rho, 0.0)
    theta_end = torch.where(rho > 0, 0.0, math.pi).to(rho)
    theta = torch.where(is_inside, torch.arccos(rho_inside), theta_end)
    sine = torch.where(is_inside, (1.0 - rho_inside.square()).sqrt(), 0.0)
    mean = (s * sine + (math.pi - theta) * c) / math.pi
    slope = (math.pi - theta) / math.pi
    return torch.where(is_null, 0.0, mean), torch.where(is_null, 0.0, slope)


def _erf_slope(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    constant = z.new_tensor(math.log(2 / math.sqrt(math.pi)))
    return torch.addcmul(constant, z, z, value=-1.0).exp()


def _erf_expectations(
    a: Float[Tensor, "..."], b: Float[Tensor, "..."], c: Float[Tensor, "..."]
) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """2/π arcsin(2c/√(AB)) and 4/π /√(AB - 4c²) with A = 1+2a, B = 1+2b."""
    AB = (1 + 2 * a) * (1 + 2 * b)
    c2 = 2 * c
    # AB - 4c² >= 1 + 2a + 2b by Cauchy-Schwarz; the clamps guard rounding only.
    root = (AB - c2.square()).clamp_min(1.0).rsqrt()
    # arctan2-like form of arcsin(c2/√AB): no infinite slope at coincident points.
    return (2 / math.pi) * torch.arctan(c2 * root), (4 / math.pi) * root


def _sin_expectations(
    a: Float[Tensor, "..."], b: Float[Tensor, "..."], c: Float[Tensor, "..."]
) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """(e⁻ - e⁺)/2 and (e⁻ + e⁺)/2 with e^∓ = exp(-(a + b ∓ 2c)/2), both <= 1."""
    half = 0.5 * (a + b)
    minus, plus = torch.exp(c - half), torch.exp(-c - half)
    return 0.5 * (minus - plus), 0.5 * (minus + plus)


def _tanh_slope(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return 1.0 - torch.tanh(z).square()


def _silu_slope(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    s = torch.sigmoid(z)
    return s * (1.0 + z * (1.0 - s))


def _alternate(even: Tensor, odd: Tensor) -> Tensor:
    """One function for units 0, 2, ..., another for units 1, 3, ..."""
    is_even = torch.arange(even.shape[-1], device=even.device) % 2 == 0
    return torch.where(is_even, even, odd)


def _bowl_phi(z: Float[Tensor, "... m"]) -> Float[Tensor, "... m"]:
    return _alternate(_BY_TURNS.phi(z), _BY_TURNS.square * z.square())


def _bowl_slope(z: Float[Tensor, "... m"]) -> Float[Tensor, "... m"]:
    return _alternate(_BY_TURNS.dphi(z), 2 * _BY_TURNS.square * z)


_BY_TURNS = Turns(
    phi=lambda z: math.sqrt(2.0) * torch.erf(z),
    dphi=lambda z: math.sqrt(2.0) * _erf_slope(z),
    square=math.sqrt(2.0) * BOWL,
)


def _bowl_expectations(
    a: Float[Tensor, "..."], b: Float[Tensor, "..."], c: Float[Tensor, "..."]
) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """Those of erf plus g²(ab + 2c²) and 4g²c, those of g u²."""
    mean, slope = _erf_expectations(a, b, c)
    g2 = BOWL**2
    return mean + g2 * (a * b + 2 * c.square()), slope + 4 * g2 * c


_relu = Activation(
    name="relu",
    gain=math.sqrt(2.0),
    is_smooth=False,
    phi=torch.relu,
    dphi=_relu_slope,
    expectations=_relu_expectations,
)
_erf = Activation(
    name="erf",
    gain=1.0,
    is_smooth=True,
    phi=torch.erf,
    dphi=_erf_slope,
    expectations=_erf_expectations,
)
_tanh = Activation(
    name="tanh",
    gain=1.0,
    is_smooth=True,
    phi=torch.tanh,
    dphi=_tanh_slope,
    expectations=None,
)
_silu = Activation(
    name="silu",
    gain=1.0,
    is_smooth=True,
    phi=torch.nn.functional.silu,
    dphi=_silu_slope,
    expectations=None,
)
_sin = Activation(
    name="sin",
    gain=1.0,
    is_smooth=True,
    phi=torch.sin,
    dphi=torch.cos,
    expectations=_sin_expectations,
)
_bowl = Activation(
    name="bowl",
    gain=1.0,
    is_smooth=True,
    phi=_bowl_phi,
    dphi=_bowl_slope,
    expectations=_bowl_expectations,
    turns=_BY_TURNS,
)
ACTIVATIONS: dict[str, Activation] = {
    each.name: each for each in (_relu, _erf, _tanh, _silu, _sin, _bowl)
}
