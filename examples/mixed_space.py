"""Tune a mixed space: a log-scaled real, an integer and a category, by name.

The function stands for the training of a model; in a named space it gets a dict.
"""

import math

import wideopt as wo

SPACE = {
    "rate": wo.Real(1e-4, 1.0, log=True),
    "layers": wo.Integer(1, 8),
    "activation": wo.Categorical(["relu", "tanh", "gelu"]),
}


def loss(config):
    penalty = {"relu": 0.1, "tanh": 0.3, "gelu": 0.0}[config["activation"]]
    return (
        (math.log10(config["rate"]) + 2) ** 2
        + 0.05 * (config["layers"] - 3) ** 2
        + penalty
    )


if __name__ == "__main__":
    result = wo.minimize(loss, SPACE, n_evals=20, seed=0)
    print(result)
    print(f"{'best config':>16}: {result.x}")
