"""The six constrained problems of Neural-CBO (Phan-Trong et al. 2025, A.2 and A.3).

Notation: x_i is X[..., i - 1]; c <= 0 is feasible. The formulas are the printed ones
with these corrections and additions:

- Speed reducer: c_9 is x_1/x_2 - 12 (printed with the wrong sign). The box is that of
  Kumar et al. 2020, and so are the constants 7.477 and 16.91e6, for which the optimum
  is 2994.424466; older papers have 7.4777 and 16.9e6 and the optimum 2994.471066. All
  seven variables are real, the number of teeth x_3 too.
- Gas transmission and Simionescu are printed without a box; it is that of Kumar et al.
  2020 and [-1.25, 1.25]².
- Simionescu: arctan(x_2/x_1) is taken as the angle of (x_1, x_2), which differs by a
  multiple of π and leaves cos(8 ·) as it is, but is defined at x_1 = 0.
"""

from __future__ import annotations

import math

from array_api_compat import array_namespace

from wideopt.problems._functions import ackley, branin, hartmann_6
from wideopt.problems._problem import Array, Problem
from wideopt.problems._synthetic import HARTMANN_6_OPTIMUM, HARTMANN_6_X

__all__ = ["CONSTRAINED"]

NEURAL_CBO = "Phan-Trong et al. 2025 (Neural-CBO), app."


def disk(X: Array) -> Array:
    """The disk c = (x_1 - 2.5)² + (x_2 - 7.5)² - 50."""
    c = (X[..., 0] - 2.5) ** 2 + (X[..., 1] - 7.5) ** 2 - 50
    return c[..., None]


def simionescu(X: Array) -> Array:
    """The saddle f = 0.1 x_1 x_2."""
    return 0.1 * X[..., 0] * X[..., 1]


def rosette(X: Array) -> Array:
    """The rosette c = ‖x‖² - (1 + 0.2 cos(8θ))², θ the angle of x; jumps at 0."""
    xp = array_namespace(X)
    x1, x2 = X[..., 0], X[..., 1]
    radius = 1 + 0.2 * xp.cos(8 * xp.atan2(x2, x1))
    return (x1**2 + x2**2 - radius**2)[..., None]


def shell_and_cube(X: Array) -> Array:
    """The shell c_1 = 1 - (‖x - 1‖ - 5.5)² and the cube c_2 = max_i |x_i|² - 9."""
    xp = array_namespace(X)
    shell = 1 - (xp.linalg.vector_norm(X - 1, axis=-1) - 5.5) ** 2
    cube = xp.max(xp.abs(X), axis=-1) ** 2 - 9
    return xp.stack([shell, cube], axis=-1)


def ball(X: Array) -> Array:
    """The ball c = ‖x‖ - 1."""
    xp = array_namespace(X)
    return xp.linalg.vector_norm(X, axis=-1, keepdims=True) - 1


def gas_cost(X: Array) -> Array:
    """The yearly cost of a gas line with compressors.

    f = 8.61e5 √x_1 x_2 x_3^{-2/3} / √x_4 + 3.69e4 x_3 + 7.72e8 x_2^0.219 / x_1
    - 765.43e6 / x_1.
    """
    x1, x2, x3, x4 = (X[..., i] for i in range(4))
    pipe = 8.61e5 * x1**0.5 * x2 * x3 ** (-2 / 3) * x4**-0.5
    return pipe + 3.69e4 * x3 + 7.72e8 * x2**0.219 / x1 - 765.43e6 / x1


def gas_flow(X: Array) -> Array:
    """The flow condition c = x_4/x_2² + 1/x_2² - 1."""
    return ((X[..., 3] + 1) / X[..., 1] ** 2 - 1)[..., None]


def gearbox_weight(X: Array) -> Array:
    """The weight of a speed reducer.

    f = 0.7854 x_1 x_2² (3.3333 x_3² + 14.9334 x_3 - 43.0934)
    + 0.7854 (x_4 x_6² + x_5 x_7²) - 1.508 x_1 (x_6² + x_7²) + 7.477 (x_6³ + x_7³).
    """
    x1, x2, x3, x4, x5, x6, x7 = (X[..., i] for i in range(7))
    gear = 0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934)
    shafts = 0.7854 * (x4 * x6**2 + x5 * x7**2) + 7.477 * (x6**3 + x7**3)
    return gear + shafts - 1.508 * x1 * (x6**2 + x7**2)


def gearbox_limits(X: Array) -> Array:
    """The eleven limits of a speed reducer, in the order of the paper."""
    xp = array_namespace(X)
    x1, x2, x3, x4, x5, x6, x7 = (X[..., i] for i in range(7))
    limits = [
        27 - x1 * x2**2 * x3,  # bending of the teeth
        397.5 - x1 * x2**2 * x3**2,  # surface stress
        1.93 - x2 * x3 * x6**4 / x4**3,  # deflection of shaft 1
        1.93 - x2 * x3 * x7**4 / x5**3,  # deflection of shaft 2
        10 / x6**3 * xp.sqrt(16.91e6 + (745 * x4 / (x2 * x3)) ** 2) - 1100,  # stress
        10 / x7**3 * xp.sqrt(157.5e6 + (745 * x5 / (x2 * x3)) ** 2) - 850,
        x2 * x3 - 40,  # space for the gears
        5 - x1 / x2,
        x1 / x2 - 12,
        1.5 * x6 - x4 + 1.9,  # room for the shafts
        1.1 * x7 - x5 + 1.9,
    ]
    return xp.stack(limits, axis=-1)


CONSTRAINED = {
    problem.name: problem
    for problem in (
        Problem(
            name="ackley-constrained",
            title="Ackley's function in 5-D, outside a shell and inside a cube",
            box=((-5.0, 3.0),) * 5,
            f=ackley,
            c=shell_and_cube,
            n_constraints=2,
            optimum=0.0,
            minimizers=((0.0,) * 5,),
            source=f"{NEURAL_CBO} A.2, after Zhang et al. 2023",
            feasible_share=0.1346,
        ),
        Problem(
            name="branin-disk",
            title="Branin's function in a disk that holds one of its three minima",
            box=((-5.0, 10.0), (0.0, 15.0)),
            f=branin,
            c=disk,
            n_constraints=1,
            optimum=10 / (8 * math.pi),
            minimizers=((math.pi, 2.275),),
            source=f"{NEURAL_CBO} A.2, after Letham et al. 2019",
            feasible_share=50 * math.pi / 15**2,
        ),
        Problem(
            name="gas-transmission",
            title="Gas transmission compressor design: least cost of a pipeline",
            box=((20.0, 50.0), (1.0, 10.0), (20.0, 50.0), (0.1, 60.0)),
            f=gas_cost,
            c=gas_flow,
            n_constraints=1,
            optimum=2964895.417339161,
            minimizers=(
                (50.0, 1.178283951844929, 24.5925901141352, 0.388353071175251),
            ),
            source=f"{NEURAL_CBO} A.3, after Kumar et al. 2020",
            # the share of (x_2, x_4) with x_2 >= √(1 + x_4)
            feasible_share=(10 - 2 / 3 * (61**1.5 - 1.1**1.5) / 59.9) / 9,
        ),
        Problem(
            name="hartmann-ball",
            title="Hartmann's function in 6-D, in the unit ball, its minimum inside",
            box=((0.0, 1.0),) * 6,
            f=hartmann_6,
            c=ball,
            n_constraints=1,
            optimum=HARTMANN_6_OPTIMUM,
            minimizers=(HARTMANN_6_X,),
            source=f"{NEURAL_CBO} A.2, after Letham et al. 2019",
            feasible_share=math.pi**3 / 6 / 2**6,
        ),
        Problem(
            name="simionescu",
            title="Simionescu's function: a saddle in a rosette",
            box=((-1.25, 1.25),) * 2,
            f=simionescu,
            c=rosette,
            n_constraints=1,
            optimum=-0.072,
            minimizers=(
                (math.sqrt(0.72), -math.sqrt(0.72)),
                (-math.sqrt(0.72), math.sqrt(0.72)),
            ),
            source=f"{NEURAL_CBO} A.2",
            feasible_share=1.02 * math.pi / 2.5**2,
        ),
        Problem(
            name="speed-reducer",
            title="Speed reducer design: least weight within eleven limits",
            box=(
                (2.6, 3.6),
                (0.7, 0.8),
                (17.0, 28.0),
                (7.3, 8.3),
                (7.3, 8.3),
                (2.9, 3.9),
                (5.0, 5.5),
            ),
            f=gearbox_weight,
            c=gearbox_limits,
            n_constraints=11,
            optimum=2994.424465756736,
            minimizers=(
                (
                    *(3.5, 0.7, 17.0, 7.3),
                    *(7.715319911478243, 3.350540949105892, 5.286654464980221),
                ),
            ),
            source=f"{NEURAL_CBO} A.3, after Kumar et al. 2020",
            feasible_share=0.00097,
        ),
    )
}
