"""Unconstrained test problems: boxes and optima of the test functions.

Sources: NeuralBO (Phan-Trong et al. 2023: Ackley, Levy, Michalewicz), PINN-BO
(Phan-Trong's thesis, C.1.1: Drop-Wave, Styblinski-Tang, Rastrigin, Michalewicz, cosine
mixture) and GO-UCB (Liu & Wang 2023, sec. 6.1: f1, Styblinski-Tang, Rastrigin); the
rest are common yardsticks.

Only Liu & Wang print a box: [-5, 5]^d for all three, which they maximize with the
opposite sign. It is the usual box of Styblinski-Tang; Rastrigin keeps its usual
[-5.12, 5.12]^d here, with the same optimum. All other boxes are those of Surjanovic &
Bingham's library, and [-1, 1]^d for the cosine mixture, which it lacks (Ali et al.
2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from wideopt.exceptions import InputError
from wideopt.problems import _functions as fun
from wideopt.problems import _minima as minima
from wideopt.problems._minima import Vector
from wideopt.problems._problem import Formula, Problem

__all__ = ["FAMILIES", "FIXED", "HARTMANN_6_OPTIMUM", "HARTMANN_6_X", "Family"]

LIBRARY = "Surjanovic & Bingham, Virtual Library of Simulation Experiments"
NEURAL_BO = "Phan-Trong et al. 2023 (NeuralBO), sec. 7.1"
PINN_BO = "Phan-Trong, doctoral thesis (PINN-BO), app. C.1.1"
GO_UCB = "Liu & Wang 2023 (GO-UCB), sec. 6.1"


@dataclass(frozen=True)
class Family:
    """A test function that exists in every dimension from `min_dim` on.

    Attributes:
        name: The name without the dimension.
        title: One line for people.
        side: (low, high) of every coordinate.
        f: The formula, (..., d) -> (...).
        minimizer: Maps d to a point of length d that attains the minimum.
        source: Where the function comes from.
        optimum: Maps d to the minimum; None: it is f at the minimizer.
        min_dim: The smallest d.
    """

    name: str
    title: str
    side: tuple[float, float]
    f: Formula
    minimizer: Callable[[int], Vector]
    source: str
    optimum: Callable[[int], float] | None = None
    min_dim: int = 1

    def problem(self, dim: int) -> Problem:
        """The member of the family with this dimension."""
        if dim < self.min_dim:
            raise InputError(
                f"Problem {self.name!r} needs a dimension of at least {self.min_dim}, "
                f"but got {dim}."
            )
        x = self.minimizer(dim)
        return Problem(
            name=f"{self.name}-{dim}",
            title=self.title,
            box=(self.side,) * dim,
            f=self.f,
            optimum=self.optimum(dim) if self.optimum else float(self.f(x)),
            minimizers=(tuple(x.tolist()),),
            source=self.source,
        )


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "ackley",
            "Ackley's function: a funnel under many small waves",
            (-32.768, 32.768),
            fun.ackley,
            minima.at_zero,
            f"{NEURAL_BO}; {LIBRARY}",
            minima.zero,
        ),
        Family(
            "cosine-mixture",
            "Cosine mixture with a local maximum at 0 and 2^D equal minima",
            (-1.0, 1.0),
            fun.cosine_mixture,
            minima.cosine_mixture,
            PINN_BO,
        ),
        Family(
            "go-ucb-f1",
            "GO-UCB's realizable function: a logistic ridge that saturates",
            (-5.0, 5.0),
            fun.go_ucb_f1,
            minima.go_ucb_f1,
            GO_UCB,
        ),
        Family(
            "griewank",
            "Griewank's function: a wide bowl with regular small waves",
            (-600.0, 600.0),
            fun.griewank,
            minima.at_zero,
            LIBRARY,
            minima.zero,
        ),
        Family(
            "levy",
            "Levy's function: a wavy bowl",
            (-10.0, 10.0),
            fun.levy,
            minima.at_one,
            f"{NEURAL_BO}; {LIBRARY}",
            minima.zero,
        ),
        Family(
            "michalewicz",
            "Michalewicz's function (m = 10): steep valleys in flat land",
            (0.0, math.pi),
            fun.michalewicz,
            minima.michalewicz,
            f"{NEURAL_BO}; {PINN_BO}; {LIBRARY}",
        ),
        Family(
            "rastrigin",
            "Rastrigin's function: a bowl under high waves",
            (-5.12, 5.12),
            fun.rastrigin,
            minima.at_zero,
            f"{PINN_BO}; {GO_UCB}; {LIBRARY}",
            minima.zero,
        ),
        Family(
            "rosenbrock",
            "Rosenbrock's function: a long bent valley",
            (-5.0, 10.0),
            fun.rosenbrock,
            minima.at_one,
            LIBRARY,
            minima.zero,
            min_dim=2,
        ),
        Family(
            "sphere",
            "The squared distance to 0",
            (-5.12, 5.12),
            fun.sphere,
            minima.at_zero,
            LIBRARY,
            minima.zero,
        ),
        Family(
            "styblinski-tang",
            "Styblinski-Tang: a quartic with 2^D minima, one of them best",
            (-5.0, 5.0),
            fun.styblinski_tang,
            minima.styblinski_tang,
            f"{PINN_BO}; {GO_UCB}; {LIBRARY}",
        ),
    )
}

# Found by Newton's method on the formulas, to the last digits of a float64.
HARTMANN_6_OPTIMUM = -3.322368011415515
HARTMANN_6_X = (
    0.201689511006705,
    0.150010691823458,
    0.476873974221897,
    0.275332430494056,
    0.311651616600113,
    0.657300534065620,
)
HARTMANN_3_X = (0.114588876655069, 0.555648894616930, 0.852546984686677)
CAMEL_X = (0.089842013100318, -0.712656403020740)

FIXED = {
    problem.name: problem
    for problem in (
        Problem(
            name="branin",
            title="Branin's function: three equal minima in a bent valley",
            box=((-5.0, 10.0), (0.0, 15.0)),
            f=fun.branin,
            optimum=10 / (8 * math.pi),
            minimizers=((-math.pi, 12.275), (math.pi, 2.275), (3 * math.pi, 2.475)),
            source=LIBRARY,
        ),
        Problem(
            name="drop-wave",
            title="Drop-Wave: rings of waves around 0",
            box=((-5.12, 5.12),) * 2,
            f=fun.drop_wave,
            optimum=-1.0,
            minimizers=((0.0, 0.0),),
            source=f"{PINN_BO}; {LIBRARY}",
        ),
        Problem(
            name="hartmann-3",
            title="Hartmann's function in 3-D: four wells",
            box=((0.0, 1.0),) * 3,
            f=fun.hartmann_3,
            optimum=-3.8627797873326624,
            minimizers=(HARTMANN_3_X,),
            source=LIBRARY,
        ),
        Problem(
            name="hartmann-6",
            title="Hartmann's function in 6-D: four wells",
            box=((0.0, 1.0),) * 6,
            f=fun.hartmann_6,
            optimum=HARTMANN_6_OPTIMUM,
            minimizers=(HARTMANN_6_X,),
            source=LIBRARY,
        ),
        Problem(
            name="six-hump-camel",
            title="Six-hump camel: six minima, two of them best",
            box=((-3.0, 3.0), (-2.0, 2.0)),
            f=fun.six_hump_camel,
            optimum=-1.0316284534898774,
            minimizers=(CAMEL_X, (-CAMEL_X[0], -CAMEL_X[1])),
            source=LIBRARY,
        ),
    )
}
