"""Formulas of design problems of engineering: objectives and limits.

Notation: x_i is X[..., i - 1]; c <= 0 is feasible. `_engineering` has the boxes, the
optima and the sources.
"""

from __future__ import annotations

import math

from array_api_compat import array_namespace

from wideopt.problems._problem import Array

__all__ = [
    "cantilever_limit",
    "cantilever_weight",
    "car_limits",
    "car_weight",
    "column_cost",
    "column_limits",
    "himmelblau_cost",
    "himmelblau_limits",
    "i_beam_limits",
    "i_beam_sag",
    "spring_limits",
    "spring_weight",
    "truss_limits",
    "truss_weight",
    "vessel_cost",
    "vessel_limits",
    "weld_cost",
    "weld_limits",
]


def _columns(X: Array) -> list[Array]:
    return [X[..., i] for i in range(X.shape[-1])]


def _stacked(X: Array, limits: list[Array]) -> Array:
    return array_namespace(X).stack(limits, axis=-1)


def vessel_cost(X: Array) -> Array:
    """The cost of a pressure vessel: shell, head, radius, length."""
    x1, x2, x3, x4 = _columns(X)
    shell = 0.6224 * x1 * x3 * x4 + 1.7781 * x2 * x3**2
    return shell + 3.1661 * x1**2 * x4 + 19.84 * x1**2 * x3


def vessel_limits(X: Array) -> Array:
    """Thickness of shell and head for the radius, and the least volume."""
    x1, x2, x3, x4 = _columns(X)
    volume = math.pi * x3**2 * (x4 + 4 / 3 * x3)
    return _stacked(X, [0.0193 * x3 - x1, 0.00954 * x3 - x2, 1296000 - volume])


def weld_cost(X: Array) -> Array:
    """The cost of a welded beam: weld, length, height, thickness."""
    x1, x2, x3, x4 = _columns(X)
    return 1.10471 * x1**2 * x2 + 0.04811 * x3 * x4 * (14 + x2)


def weld_limits(X: Array) -> Array:
    """Shear, bending, weld no thicker than the bar, deflection, buckling."""
    xp = array_namespace(X)
    x1, x2, x3, x4 = _columns(X)
    load, length, elastic, shear = 6000.0, 14.0, 30e6, 12e6
    direct = load / (math.sqrt(2) * x1 * x2)
    radius = xp.sqrt(x2**2 / 4 + ((x1 + x3) / 2) ** 2)
    moment = load * (length + x2 / 2)
    polar = 2 * math.sqrt(2) * x1 * x2 * (x2**2 / 12 + ((x1 + x3) / 2) ** 2)
    twist = moment * radius / polar
    tau = xp.sqrt(direct**2 + direct * twist * x2 / radius + twist**2)
    sigma = 6 * load * length / (x4 * x3**2)
    delta = 4 * load * length**3 / (elastic * x3**3 * x4)
    slender = 1 - x3 / (2 * length) * math.sqrt(elastic / (4 * shear))
    buckling = 4.013 * elastic * x3 * x4**3 / (6 * length**2) * slender
    limits = [tau - 13600, sigma - 30000, x1 - x4, delta - 0.25, load - buckling]
    return _stacked(X, limits)


def spring_weight(X: Array) -> Array:
    """The weight of a spring: wire, diameter, number of coils."""
    x1, x2, x3 = _columns(X)
    return (x3 + 2) * x2 * x1**2


def spring_limits(X: Array) -> Array:
    """Deflection, shear, frequency of surge, outer diameter."""
    x1, x2, x3 = _columns(X)
    shear = (4 * x2**2 - x1 * x2) / (12566 * (x2 * x1**3 - x1**4))
    limits = [
        1 - x2**3 * x3 / (71785 * x1**4),
        shear + 1 / (5108 * x1**2) - 1,
        1 - 140.45 * x1 / (x2**2 * x3),
        (x1 + x2) / 1.5 - 1,
    ]
    return _stacked(X, limits)


def truss_weight(X: Array) -> Array:
    """The weight of three bars: those at the sides, that in the middle."""
    x1, x2 = _columns(X)
    return 100 * (2 * math.sqrt(2) * x1 + x2)


def truss_limits(X: Array) -> Array:
    """The stress in each bar."""
    x1, x2 = _columns(X)
    root = math.sqrt(2)
    below = root * x1**2 + 2 * x1 * x2
    limits = [2 * (root * x1 + x2) / below, 2 * x2 / below, 2 / (root * x2 + x1)]
    return _stacked(X, [stress - 2 for stress in limits])


def cantilever_weight(X: Array) -> Array:
    """The weight of a beam of five hollow square segments."""
    return 0.0624 * array_namespace(X).sum(X, axis=-1)


def cantilever_limit(X: Array) -> Array:
    """The deflection of its end."""
    x1, x2, x3, x4, x5 = _columns(X)
    sag = 61 / x1**3 + 37 / x2**3 + 19 / x3**3 + 7 / x4**3 + 1 / x5**3
    return _stacked(X, [sag - 1])


def column_cost(X: Array) -> Array:
    """The cost of a tubular column: diameter, thickness."""
    x1, x2 = _columns(X)
    return 9.8 * x1 * x2 + 2 * x1


def column_limits(X: Array) -> Array:
    """Stress and buckling under 2500 kgf at a length of 250 cm."""
    x1, x2 = _columns(X)
    stress = 2500 / (math.pi * x1 * x2 * 500)
    buckling = 8 * 2500 * 250**2 / (math.pi**3 * 0.85e6 * x1 * x2 * (x1**2 + x2**2))
    return _stacked(X, [stress - 1, buckling - 1])


def himmelblau_cost(X: Array) -> Array:
    """Himmelblau's quadratic cost."""
    x1, _, x3, _, x5 = _columns(X)
    return 5.3578547 * x3**2 + 0.8356891 * x1 * x5 + 37.293239 * x1 - 40792.141


def himmelblau_limits(X: Array) -> Array:
    """Three quantities, each between two values."""
    x1, x2, x3, x4, x5 = _columns(X)
    u = 85.334407 + 0.0056858 * x2 * x5 + 0.0006262 * x1 * x4 - 0.0022053 * x3 * x5
    v = 80.51249 + 0.0071317 * x2 * x5 + 0.0029955 * x1 * x2 + 0.0021813 * x3**2
    w = 9.300961 + 0.0047026 * x3 * x5 + 0.0012547 * x1 * x3 + 0.0019085 * x3 * x4
    return _stacked(X, [u - 92, -u, v - 110, 90 - v, w - 25, 20 - w])


def car_weight(X: Array) -> Array:
    """The weight of the side of a car; x_8 to x_11 only matter to the limits."""
    x1, x2, x3, x4, x5, _, x7, *_ = _columns(X)
    heavy = 4.90 * x1 + 6.67 * x2 + 6.98 * x3
    return 1.98 + heavy + 4.01 * x4 + 1.78 * x5 + 2.73 * x7


def car_limits(X: Array) -> Array:
    """Loads, deflections and velocities in an impact from the side."""
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 = _columns(X)
    abdomen = 1.16 - 0.3717 * x2 * x4 - 0.00931 * x2 * x10
    abdomen = abdomen - 0.484 * x3 * x9 + 0.01343 * x6 * x10
    upper_v = 0.261 - 0.0159 * x1 * x2 - 0.188 * x1 * x8 - 0.019 * x2 * x7
    upper_v = upper_v + 0.0144 * x3 * x5 + 0.0008757 * x5 * x10
    upper_v = upper_v + 0.08045 * x6 * x9 + 0.00139 * x8 * x11 + 0.00001575 * x10 * x11
    middle_v = 0.214 + 0.00817 * x5 - 0.131 * x1 * x8 - 0.0704 * x1 * x9
    middle_v = middle_v + 0.03099 * x2 * x6 - 0.018 * x2 * x7 + 0.0208 * x3 * x8
    middle_v = middle_v + 0.121 * x3 * x9 - 0.00364 * x5 * x6 + 0.0007715 * x5 * x10
    middle_v = middle_v - 0.0005354 * x6 * x10 + 0.00121 * x8 * x11
    lower_v = 0.74 - 0.61 * x2 - 0.163 * x3 * x8 + 0.001232 * x3 * x10
    lower_v = lower_v - 0.166 * x7 * x9 + 0.227 * x2**2
    upper_d = 28.98 + 3.818 * x3 - 4.2 * x1 * x2 + 0.0207 * x5 * x10
    upper_d = upper_d + 6.63 * x6 * x9 - 7.7 * x7 * x8 + 0.32 * x9 * x10
    middle_d = 33.86 + 2.95 * x3 + 0.1792 * x10 - 5.057 * x1 * x2
    middle_d = middle_d - 11.0 * x2 * x8 - 0.0215 * x5 * x10 - 9.98 * x7 * x8
    middle_d = middle_d + 22.0 * x8 * x9
    lower_d = 46.36 - 9.9 * x2 - 12.9 * x1 * x8 + 0.1107 * x3 * x10
    pubic = 4.72 - 0.5 * x4 - 0.19 * x2 * x3 - 0.0122 * x4 * x10
    pubic = pubic + 0.009325 * x6 * x10 + 0.000191 * x11**2
    pillar = 10.58 - 0.674 * x1 * x2 - 1.95 * x2 * x8 + 0.02054 * x3 * x10
    pillar = pillar - 0.0198 * x4 * x10 + 0.028 * x6 * x10
    door = 16.45 - 0.489 * x3 * x7 - 0.843 * x5 * x6 + 0.0432 * x9 * x10
    door = door - 0.0556 * x9 * x11 - 0.000786 * x11**2
    limits = [abdomen - 1, upper_v - 0.32, middle_v - 0.32, lower_v - 0.32]
    limits += [upper_d - 32, middle_d - 32, lower_d - 32]
    return _stacked(X, [*limits, pubic - 4, pillar - 9.9, door - 15.7])


def i_beam_sag(X: Array) -> Array:
    """How far an I-beam bends: height, width, web, flange."""
    height, width, web, flange = _columns(X)
    inner = height - 2 * flange
    inertia = web * inner**3 / 12 + width * flange**3 / 6
    return 5000 / (inertia + 2 * width * flange * ((height - flange) / 2) ** 2)


def i_beam_limits(X: Array) -> Array:
    """The area of its section, and the stress."""
    height, width, web, flange = _columns(X)
    inner = height - 2 * flange
    area = 2 * width * flange + web * inner
    upright = web * inner**3 + 2 * width * flange * (4 * flange**2 + 3 * height * inner)
    sideways = inner * web**3 + 2 * flange * width**3
    stress = 180000 * height / upright + 15000 * width / sideways
    return _stacked(X, [area - 300, stress - 6])
