"""Minimize a function of two variables: the least that wideopt needs.

Run it with `python examples/quickstart.py`; it takes a few seconds.
"""

import wideopt as wo


def cost(x):
    return (x[0] - 0.3) ** 2 + 0.01 * (x[1] - 2) ** 2


if __name__ == "__main__":
    result = wo.minimize(cost, [(0, 1), (-5, 10)], n_evals=20, seed=0)
    print(result)
