"""Formulas of the unconstrained test functions, on batches, in numpy and torch.

Each maps X of shape (..., d) to values of shape (...) and is minimized. The forms are
those of Surjanovic & Bingham's Virtual Library of Simulation Experiments, to which
Phan-Trong et al. 2023 refer, unless the function says otherwise.

Notation: x_i is X[..., i - 1], ‖x‖ the Euclidean norm. Norms are taken by
`vector_norm`, whose derivative at 0 is 0 in torch, where that of a square root is nan.
"""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace, device

from wideopt.problems._problem import Array

__all__ = [
    "MICHALEWICZ_M",
    "ackley",
    "branin",
    "cosine_mixture",
    "drop_wave",
    "go_ucb_f1",
    "griewank",
    "hartmann_3",
    "hartmann_6",
    "levy",
    "michalewicz",
    "rastrigin",
    "rosenbrock",
    "six_hump_camel",
    "sphere",
    "styblinski_tang",
]

MICHALEWICZ_M = 10

ALPHA = (1.0, 1.2, 3.0, 3.2)
A_3 = ((3.0, 10.0, 30.0), (0.1, 10.0, 35.0), (3.0, 10.0, 30.0), (0.1, 10.0, 35.0))
P_3 = (
    (0.3689, 0.1170, 0.2673),
    (0.4699, 0.4387, 0.7470),
    (0.1091, 0.8732, 0.5547),
    (0.0381, 0.5743, 0.8828),
)
A_6 = (
    (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
    (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
    (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
    (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
)
P_6 = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)


def sphere(X: Array) -> Array:
    """‖x‖²."""
    xp = array_namespace(X)
    return xp.sum(X**2, axis=-1)


def ackley(X: Array) -> Array:
    """-20 exp(-0.2 ‖x‖/√d) - exp(mean_i cos(2π x_i)) + 20 + e."""
    xp = array_namespace(X)
    norm = xp.linalg.vector_norm(X, axis=-1)
    waves = xp.mean(xp.cos(2 * math.pi * X), axis=-1)
    hill = 20 * xp.exp(-0.2 / math.sqrt(X.shape[-1]) * norm)
    return 20 + math.e - hill - xp.exp(waves)


def levy(X: Array) -> Array:
    """Levy's function, with w_i = 1 + (x_i - 1)/4.

    sin²(π w_1) + Σ_{i<d} (w_i - 1)² (1 + 10 sin²(π w_i + 1))
    + (w_d - 1)² (1 + sin²(2π w_d)).
    """
    xp = array_namespace(X)
    w = 1 + (X - 1) / 4
    head, last = w[..., :-1], w[..., -1]
    middle = (head - 1) ** 2 * (1 + 10 * xp.sin(math.pi * head + 1) ** 2)
    end = (last - 1) ** 2 * (1 + xp.sin(2 * math.pi * last) ** 2)
    return xp.sin(math.pi * w[..., 0]) ** 2 + xp.sum(middle, axis=-1) + end


def michalewicz(X: Array) -> Array:
    """-Σ_i sin(x_i) sin^{2m}(i x_i²/π), with m = 10."""
    xp = array_namespace(X)
    i = xp.arange(1, X.shape[-1] + 1, dtype=X.dtype, device=device(X))
    ridges = xp.sin(i * X**2 / math.pi) ** (2 * MICHALEWICZ_M)
    return -xp.sum(xp.sin(X) * ridges, axis=-1)


def rastrigin(X: Array) -> Array:
    """10 d + Σ_i (x_i² - 10 cos(2π x_i))."""
    xp = array_namespace(X)
    terms = X**2 - 10 * xp.cos(2 * math.pi * X)
    return 10 * X.shape[-1] + xp.sum(terms, axis=-1)


def styblinski_tang(X: Array) -> Array:
    """1/2 Σ_i (x_i⁴ - 16 x_i² + 5 x_i)."""
    xp = array_namespace(X)
    return xp.sum(X**4 - 16 * X**2 + 5 * X, axis=-1) / 2


def cosine_mixture(X: Array) -> Array:
    """0.1 Σ_i cos(5π x_i) + Σ_i x_i², as in Phan-Trong's thesis, C.1.1.

    The common cosine mixture has -0.1 in place of 0.1 and its minimum at 0; here 0 is
    a local maximum. The thesis's PDE holds for this form only.
    """
    xp = array_namespace(X)
    return xp.sum(0.1 * xp.cos(5 * math.pi * X) + X**2, axis=-1)


def griewank(X: Array) -> Array:
    """‖x‖²/4000 - Π_i cos(x_i/√i) + 1."""
    xp = array_namespace(X)
    i = xp.arange(1, X.shape[-1] + 1, dtype=X.dtype, device=device(X))
    waves = xp.prod(xp.cos(X / xp.sqrt(i)), axis=-1)
    return xp.sum(X**2, axis=-1) / 4000 - waves + 1


def rosenbrock(X: Array) -> Array:
    """Σ_{i<d} (100 (x_{i+1} - x_i²)² + (1 - x_i)²)."""
    xp = array_namespace(X)
    now, after = X[..., :-1], X[..., 1:]
    return xp.sum(100 * (after - now**2) ** 2 + (1 - now) ** 2, axis=-1)


def go_ucb_f1(X: Array) -> Array:
    """-(25 s(1 + Σ_i x_i) + 1), with the logistic s(z) = 1/(1 + e^{-z}).

    The network of Liu & Wang 2023 (25 logistic units) with all weights and biases 1,
    which they maximize, hence the sign. s is taken as (1 + tanh(z/2))/2, which does
    not overflow.
    """
    xp = array_namespace(X)
    z = 1 + xp.sum(X, axis=-1)
    return -(12.5 * (1 + xp.tanh(z / 2)) + 1)


def drop_wave(X: Array) -> Array:
    """-(1 + cos(12 ‖x‖)) / (‖x‖²/2 + 2), in two dimensions."""
    xp = array_namespace(X)
    waves = xp.cos(12 * xp.linalg.vector_norm(X, axis=-1))
    return -(1 + waves) / (0.5 * xp.sum(X**2, axis=-1) + 2)


def branin(X: Array) -> Array:
    """(x_2 - 5.1/(4π²) x_1² + 5/π x_1 - 6)² + 10 (1 - 1/(8π)) cos(x_1) + 10."""
    xp = array_namespace(X)
    x1, x2 = X[..., 0], X[..., 1]
    valley = x2 - 5.1 / (4 * math.pi**2) * x1**2 + 5 / math.pi * x1 - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * xp.cos(x1) + 10


def six_hump_camel(X: Array) -> Array:
    """(4 - 2.1 x_1² + x_1⁴/3) x_1² + x_1 x_2 + (4 x_2² - 4) x_2²."""
    x1, x2 = X[..., 0], X[..., 1]
    humps = (4 - 2.1 * x1**2 + x1**4 / 3) * x1**2
    return humps + x1 * x2 + (4 * x2**2 - 4) * x2**2


def hartmann_3(X: Array) -> Array:
    """-Σ_i α_i exp(-Σ_j A_ij (x_j - P_ij)²), in three dimensions."""
    return _hartmann(X, A_3, P_3)


def hartmann_6(X: Array) -> Array:
    """-Σ_i α_i exp(-Σ_j A_ij (x_j - P_ij)²), in six dimensions."""
    return _hartmann(X, A_6, P_6)


def _hartmann(X: Array, A: Any, P: Any) -> Array:
    xp = array_namespace(X)
    alpha, A, P = (
        xp.asarray(constant, dtype=X.dtype, device=device(X))
        for constant in (ALPHA, A, P)
    )
    r2 = xp.sum(A * (X[..., None, :] - P) ** 2, axis=-1)  # (..., 4)
    return -xp.sum(alpha * xp.exp(-r2), axis=-1)
