"""Design the lightest beam that is strong enough: unknown constraints.

A cantilever of width b and height h (in cm) carries a load at its end. The function
returns its weight and two constraints; each is satisfied where it is <= 0. The
optimizer knows neither formula.
"""

import wideopt as wo

LENGTH = 200.0  # cm
LOAD = 5.0  # kN
SPACE = {"b": (2.0, 20.0), "h": (5.0, 40.0)}


def beam(design):
    b, h = design["b"], design["h"]
    weight = 7.85e-3 * b * h * LENGTH  # kg
    stress = 6 * LOAD * LENGTH / (b * h**2)  # kN/cm²
    sag = 4 * LOAD * LENGTH**3 / (2.1e4 * b * h**3)  # cm
    return weight, [stress - 16.0, sag - 1.0]


if __name__ == "__main__":
    result = wo.minimize(beam, SPACE, n_evals=25, seed=0)
    print(result)
