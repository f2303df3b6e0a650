"""Problems whose objective obeys a known differential equation, and the equations.

Paper: PINN-BO (Phan-Trong's thesis), sec. 5.1, 5.4.3 and app. C.1.1.

    problem, pde = with_pde("rastrigin-20")

Notation: f the objective, d its inputs, m = 10 of Michalewicz's function.

Two printed equations do not hold for the printed functions and are corrected here:
Rastrigin's right-hand side, and Michalewicz's h_i, which has 4m i x_i/π where the
thesis has 2(2m - 1) x_i. The beam's load, which the thesis omits, is q(x) = eˣ. The
temperature is a harmonic function in closed form, in place of the thesis's numerical
solutions.

This module loads torch, which `wideopt.problems` does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from array_api_compat import array_namespace
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.pde import PDE, grad, laplacian, partial
from wideopt.problems._functions import MICHALEWICZ_M
from wideopt.problems._problem import Array, Problem
from wideopt.problems._registry import get

__all__ = ["BEAM", "HEAT", "OSCILLATOR", "names", "rho", "with_pde"]

THESIS = "Phan-Trong, doctoral thesis (PINN-BO)"
MASS, DAMPING, SPRING = 1.0, 0.4, 4.0
DECAY = DAMPING / (2 * MASS)  # of the oscillation's amplitude
FREQUENCY = math.sqrt(SPRING / MASS - DECAY**2)

Function = Callable[[Tensor], Tensor]


def with_pde(name: str) -> tuple[Problem, PDE]:
    """The problem of this name and the equation that its objective obeys."""
    if name in FIXED:
        return FIXED[name], EQUATIONS[name]
    problem = get(name)
    base = problem.name.removesuffix(f"-{problem.dim}")
    if base not in EQUATIONS:
        raise InputError(
            f"Problem {name!r} has no equation; these have: {', '.join(EQUATIONS)}."
        )
    return problem, EQUATIONS[base]


def names() -> dict[str, str]:
    """Every name with its equation's left and right side; most take a dimension."""
    return dict(sorted(TITLES.items()))


def displacement(X: Array) -> Array:
    """e^{-δt} cos(ωt), the oscillator let go at 1, with δ = c/2m and ω² = k/m - δ²."""
    xp = array_namespace(X)
    t = X[..., 0]
    return xp.exp(-DECAY * t) * xp.cos(FREQUENCY * t)


def deflection(X: Array) -> Array:
    """sin(4π e^{2x}) + e^{2x} sin(20x) + 0.4x³ + 0.2x², the beam of the thesis."""
    xp = array_namespace(X)
    x = X[..., 0]
    e = xp.exp(2 * x)
    waves = xp.sin(4 * math.pi * e) + e * xp.sin(20 * x)
    return waves + 0.4 * x**3 + 0.2 * x**2


def coldness(X: Array) -> Array:
    """-T for T = sin(x) sinh(y)/sinh(2π) + sin(2y) sinh(2x)/(2 sinh(4π)), harmonic."""
    xp = array_namespace(X)
    x, y = X[..., 0], X[..., 1]
    first = xp.sin(x) * xp.sinh(y) / math.sinh(2 * math.pi)
    second = xp.sin(2 * y) * xp.sinh(2 * x) / (2 * math.sinh(4 * math.pi))
    return -(first + second)


OSCILLATOR = Problem(
    name="damped-oscillator",
    title="Damped oscillator: the lowest point of its swing",
    box=((0.0, 10.0),),
    f=displacement,
    # f' = 0 where tan(ωt) = -δ/ω; |cos| is ω/√(k/m) there
    optimum=-FREQUENCY
    / math.sqrt(SPRING / MASS)
    * math.exp(-DECAY * (math.pi - math.atan(DECAY / FREQUENCY)) / FREQUENCY),
    minimizers=(((math.pi - math.atan(DECAY / FREQUENCY)) / FREQUENCY,),),
    source=f"{THESIS}, remark 5.1.1",
)
# Newton's method on the formula, to the last digits of a float64.
BEAM_X = 0.8836971299242755
BEAM = Problem(
    name="beam",
    title="Euler-Bernoulli beam of varying rigidity: its least deflection",
    box=((0.0, 1.0),),
    f=deflection,
    optimum=-5.942396336145879,
    minimizers=((BEAM_X,),),
    source=f"{THESIS}, sec. 5.4.3.2",
)
HEAT = Problem(
    name="heat",
    title="Steady heat in a square: the hottest point, on the boundary",
    box=((0.0, 2 * math.pi),) * 2,
    f=coldness,
    optimum=-1.0,
    minimizers=((math.pi / 2, 2 * math.pi),),
    source=f"{THESIS}, sec. 5.4.3.1 (equation and box)",
)
FIXED = {problem.name: problem for problem in (OSCILLATOR, BEAM, HEAT)}


def rho(x: Tensor) -> Tensor:
    """ρ of the beam's rigidity EI = eˣ/ρ, the second derivative of its deflection."""
    z = x[0]
    e, wave = torch.exp(2 * z), 4 * math.pi * torch.exp(2 * z)
    bend = 16 * math.pi * e * torch.cos(wave) - 4 * wave**2 * torch.sin(wave)
    ripple = e * (80 * torch.cos(20 * z) - 396 * torch.sin(20 * z))
    return bend + ripple + 2.4 * z + 0.4


def _rotation(u: Function, x: Tensor) -> Tensor:
    slope = grad(u, x)
    return x[0] * slope[1] - x[1] * slope[0]


def _total_slope(u: Function, x: Tensor) -> Tensor:
    return grad(u, x).sum()


def _total_slope_rhs(x: Tensor) -> Tensor:
    return (2 * x**3 - 16 * x + 2.5).sum()


def _euler(u: Function, x: Tensor) -> Tensor:
    return x @ grad(u, x) - u(x)


def _euler_rhs(x: Tensor) -> Tensor:
    wave = 2 * math.pi * x
    return (x**2 + 10 * wave * wave.sin() + 10 * wave.cos() - 10).sum()


def _weighted(u: Function, x: Tensor) -> Tensor:
    """Σ_i h_i ∂u/∂x_i - u, h_i = 1/(cot x_i + 4m i x_i/π cot(i x_i²/π)).

    h is written without cotangents: with a = x_i, b = i x_i²/π it is
    sin a sin b/(cos a sin b + 4m i x_i/π sin a cos b), finite where they are not.
    """
    i = torch.arange(1, x.shape[0] + 1, dtype=x.dtype, device=x.device)
    b = i * x**2 / math.pi
    weight = 4 * MICHALEWICZ_M * i * x / math.pi
    below = x.cos() * b.sin() + weight * x.sin() * b.cos()
    return (x.sin() * b.sin() / below) @ grad(u, x) - u(x)


def _slopes(u: Function, x: Tensor) -> Tensor:
    expected = 2 * x - 0.5 * math.pi * torch.sin(5 * math.pi * x)
    return (grad(u, x) - expected).square().sum()


def _swing(u: Function, x: Tensor) -> Tensor:
    force = DAMPING * partial(u, x, 0) + SPRING * u(x)
    return MASS * partial(u, x, 0, 2) + force


def _bending(u: Function, x: Tensor) -> Tensor:
    def moment(z: Tensor) -> Tensor:
        return torch.exp(z[0]) / rho(z) * partial(u, z, 0, 2)

    return partial(moment, x, 0, 2)


def _load(x: Tensor) -> Tensor:
    return torch.exp(x[0])


EQUATIONS = {
    "beam": PDE(_bending, _load),
    "cosine-mixture": PDE(_slopes),
    "damped-oscillator": PDE(_swing),
    "drop-wave": PDE(_rotation),
    "heat": PDE(laplacian),
    "michalewicz": PDE(_weighted),
    "rastrigin": PDE(_euler, _euler_rhs),
    "styblinski-tang": PDE(_total_slope, _total_slope_rhs),
}
TITLES = {
    "beam": "(EI w'')'' = eˣ",
    "cosine-mixture": "Σ (∂f/∂x_i - 2x_i + π/2 sin(5πx_i))² = 0",
    "damped-oscillator": "m f'' + c f' + k f = 0",
    "drop-wave": "x_1 ∂f/∂x_2 - x_2 ∂f/∂x_1 = 0",
    "heat": "Δf = 0",
    "michalewicz": "hᵀ∇f - f = 0",
    "rastrigin": "xᵀ∇f - f = Σ (x_i² + 20πx_i sin(2πx_i) + 10 cos(2πx_i) - 10)",
    "styblinski-tang": "Σ ∂f/∂x_i = Σ (2x_i³ - 16x_i + 5/2)",
}
