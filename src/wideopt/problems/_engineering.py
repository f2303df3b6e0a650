"""Design problems of engineering, as constrained optimization has them for test.

The formulas are in `_designs`; a limit that the box states anyway is left out. All
variables are real, also where the original has sizes of a catalogue or two materials to
choose from; so some optima lie below the printed ones. Sources, and the printed optima
that a test compares with, are named from memory.

Sources: Coello (2000) for vessel, beam and spring; Ray & Saini (2001) for the truss;
Svanberg (1987) via Gandomi et al. (2013) for the cantilever; Rao (1996) for the column;
Himmelblau (1972), which is g04 of Liang et al. (2006); Gu et al. (2001) for the car;
Gold & Krishnamurty (1997) for the I-beam. The optima were found by searches from many
starts, which a test repeats.
"""

from __future__ import annotations

import math

from wideopt.problems import _designs as fun
from wideopt.problems._problem import Problem

__all__ = ["ENGINEERING"]

ENGINEERING = {
    problem.name: problem
    for problem in (
        Problem(
            name="pressure-vessel",
            title="Pressure vessel design: least cost for a volume",
            box=((0.0625, 6.1875), (0.0625, 6.1875), (10.0, 200.0), (10.0, 200.0)),
            f=fun.vessel_cost,
            c=fun.vessel_limits,
            n_constraints=3,
            optimum=5885.332773616458,
            minimizers=(
                (0.7781686413751115, 0.3846491626277931, 40.31961872409923, 200.0),
            ),
            feasible_share=0.4042,
            source="Coello 2000, sizes real",
        ),
        Problem(
            name="welded-beam",
            title="Welded beam design: least cost under a load",
            box=((0.125, 2.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)),
            f=fun.weld_cost,
            c=fun.weld_limits,
            n_constraints=5,
            optimum=1.724852308597365,
            minimizers=(
                (0.20572963978608, 3.470488665628, 9.036623910357722, 0.20572963978608),
            ),
            feasible_share=0.2607,
            source="Coello 2000",
        ),
        Problem(
            name="tension-spring",
            title="Tension spring design: least weight",
            box=((0.05, 2.0), (0.25, 1.3), (2.0, 15.0)),
            f=fun.spring_weight,
            c=fun.spring_limits,
            n_constraints=4,
            optimum=0.012665232788319,
            minimizers=((0.05168905338487167, 0.3567175546087969, 11.288976608695178),),
            feasible_share=0.0075,
            source="Coello 2000",
        ),
        Problem(
            name="three-bar-truss",
            title="Three-bar truss design: least weight within stresses",
            box=((0.01, 1.0), (0.01, 1.0)),
            f=fun.truss_weight,
            c=fun.truss_limits,
            n_constraints=3,
            optimum=263.8958433764684,
            minimizers=(((3 + math.sqrt(3)) / 6, 1 / math.sqrt(6)),),
            feasible_share=0.2231,
            source="Ray & Saini 2001",
        ),
        Problem(
            name="cantilever-beam",
            title="Cantilever beam design: least weight of five segments",
            box=((1.0, 10.0),) * 5,
            f=fun.cantilever_weight,
            c=fun.cantilever_limit,
            n_constraints=1,
            optimum=1.3399563605990747,
            minimizers=(
                (
                    *(6.016015894150591, 5.309173857413238, 4.494329573323156),
                    *(3.5014749704253205, 2.1526653296728657),
                ),
            ),
            feasible_share=0.2479,
            source="Gandomi et al. 2013",
        ),
        Problem(
            name="tubular-column",
            title="Tubular column design: least cost under a compressive load",
            box=((2.0, 14.0), (0.2, 0.8)),
            f=fun.column_cost,
            c=fun.column_limits,
            n_constraints=2,
            optimum=26.499496891509715,
            minimizers=((5.451156234253068, 0.2919654771437331),),
            feasible_share=0.7669,
            source="Rao 1996",
        ),
        Problem(
            name="himmelblau",
            title="Himmelblau's problem: a quadratic cost, six limits",
            box=((78.0, 102.0), (33.0, 45.0), *((27.0, 45.0),) * 3),
            f=fun.himmelblau_cost,
            c=fun.himmelblau_limits,
            n_constraints=6,
            optimum=-30665.538671783,
            minimizers=((78.0, 33.0, 29.99525602568, 45.0, 36.77581290579),),
            feasible_share=0.2697,
            source="Himmelblau 1972; g04 of Liang et al. 2006",
        ),
        Problem(
            name="car-side-impact",
            title="Car side impact design: least weight within ten limits",
            box=(
                *((0.5, 1.5), (0.45, 1.35), (0.5, 1.5), (0.5, 1.5)),
                *((0.875, 2.625), (0.4, 1.2), (0.4, 1.2)),
                *((0.192, 0.345), (0.192, 0.345), (-30.0, 30.0), (-30.0, 30.0)),
            ),
            f=fun.car_weight,
            c=fun.car_limits,
            n_constraints=10,
            optimum=23.465429672108893,
            minimizers=(
                (
                    *(0.5, 1.3320298422763794, 0.5, 1.000321851402854, 0.875, 0.4, 0.4),
                    *(0.345, 0.345, 19.01256438186462, 18.8428101641759),
                ),
            ),
            feasible_share=0.0638,
            source="Gu et al. 2001, materials real",
        ),
        Problem(
            name="i-beam",
            title="I-beam design: least deflection within area and stress",
            box=((10.0, 80.0), (10.0, 50.0), (0.9, 5.0), (0.9, 5.0)),
            f=fun.i_beam_sag,
            c=fun.i_beam_limits,
            n_constraints=2,
            optimum=0.013074118905223335,
            minimizers=((80.0, 50.0, 0.9, 228 / 98.2),),
            feasible_share=0.0015,
            source="Gold & Krishnamurty 1997",
        ),
    )
}
