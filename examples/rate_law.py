"""Tune a reaction whose rate law is known but for five constants.

A becomes the product B, and B decays to C. How fast depends on the temperature by
Arrhenius' law. The constants are unknown, but the law is not, so the law is the model:
a `torch.nn.Module` that maps rows of (hours, kelvin) to the profit of a batch, with a
guess for each constant. `go-ucb` estimates the constants as it goes.
"""

import numpy as np
import torch

import wideopt as wo

SPACE = {"hours": wo.Real(0.1, 20.0), "kelvin": wo.Real(300.0, 400.0)}
TRUTH = {"k1": 0.6, "e1": 75.0, "k2": 0.05, "e2": 110.0, "purity": 0.93}
GUESS = {"k1": 1.0, "e1": 60.0, "k2": 0.1, "e2": 80.0, "purity": 0.8}
BOUNDS = {
    "k1": [0.01, 10.0],  # 1/h at 350 K
    "e1": [20.0, 200.0],  # kJ/mol
    "k2": [0.001, 5.0],
    "e2": [20.0, 200.0],
    "purity": [0.5, 1.0],
}
GAS = 8.314e-3  # kJ/(mol K)
PRICE = 0.5  # of an hour, in percent of yield


class Law(torch.nn.Module):
    """The profit: the yield of B in percent, less the price of the time it takes."""

    def __init__(self, constants):
        super().__init__()
        for name, value in constants.items():
            self.register_parameter(name, torch.nn.Parameter(torch.tensor(value)))

    def forward(self, x):
        """The profit of each row of (hours, kelvin)."""
        hours, kelvin = x[:, 0], x[:, 1]
        heat = (1 / 350.0 - 1 / kelvin) / GAS
        k1 = self.k1 * torch.exp(self.e1 * heat)
        k2 = self.k2 * torch.exp(self.e2 * heat)
        formed = k1 / (k2 - k1) * (torch.exp(-k1 * hours) - torch.exp(-k2 * hours))
        return 100 * self.purity * formed - PRICE * hours


class Reactor:
    """The experiment: the law with its true constants, and an error of 0.5."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, x):
        """A noisy measurement."""
        return profit(x) + 0.5 * self.rng.normal()


def profit(x):
    row = torch.tensor([[x["hours"], x["kelvin"]]], dtype=torch.float64)
    with torch.no_grad():
        return float(Law(TRUTH).double()(row))


if __name__ == "__main__":
    result = wo.maximize(
        Reactor(seed=0),
        SPACE,
        method="go-ucb",
        n_evals=15,
        seed=0,
        options={"model": Law(GUESS), "bounds": BOUNDS},
    )
    print(result)
    print("true profit there:", round(profit(result.x), 2))
    for name, value in TRUTH.items():
        low, high = result.parameters.interval(name)
        print(f"{name}: 95% between {low:.3g} and {high:.3g}, truth {value:g}")
