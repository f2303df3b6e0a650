"""Which defaults of go-ucb do well, on problems that no report uses.

    python benchmarks/go_ucb.py [--seeds 4] [--kappa 0.3 1 3] [--length 0.8 100]

Four problems: sums of three sigmoids in 10 dimensions (the weights of each seed are
others), Branin, Hartmann-3, and a Michaelis-Menten law with two unknown constants,
given as the model. A trust region of length 100 holds everything. Printed for each
setting: median over seeds of the simple and of the
mean cumulative regret, by the spread of the function.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize

import wideopt as wo


class Enzyme(torch.nn.Module):
    """Rate of an enzyme that its substrate inhibits, less the price of both."""

    def __init__(self) -> None:
        super().__init__()
        self.km = torch.nn.Parameter(torch.tensor(1.0))
        self.ki = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        s, t = x[:, 0], x[:, 1]
        return -t * s / (self.km + s + s**2 / self.ki) + 0.01 * s + 0.3 * t**2


def enzyme(x: np.ndarray) -> float:
    s, t = x
    return float(-t * s / (0.4 + s + s**2 / 3.0) + 0.01 * s + 0.3 * t**2)


def sigmoids(seed: int, dim: int = 10) -> Callable[[np.ndarray], float]:
    rng = np.random.default_rng([seed, 2023])
    A, b, c = rng.normal(size=(3, dim)), rng.normal(size=3), rng.normal(size=3)
    A *= 4 / np.sqrt(dim)
    return lambda x: float(c @ (1 / (1 + np.exp(-(A @ x) - b))))


def problem(name: str, seed: int) -> tuple[Any, list[Any], dict[str, Any]]:
    """A function, its space, and the options it needs."""
    if name == "enzyme":
        return enzyme, [(0.01, 10.0), (0.0, 2.0)], {"model": Enzyme()}
    if name == "sigmoids":
        return sigmoids(seed), [(-1.0, 1.0)] * 10, {}
    known = wo.problems.get(name)
    return known, list(known.space.parameters), {}


def regrets(
    name: str, seed: int, n_evals: int, options: dict[str, Any]
) -> tuple[float, float]:
    """Simple and mean regret of one run, by the spread of the function."""
    fun, space, own = problem(name, seed)
    box = wo.Space(space)
    rng = np.random.default_rng(0)
    cube = rng.uniform(size=(4096, box.n_dims))
    points = np.array([box.config(box.decode(u)) for u in cube])
    sample = [fun(x) for x in points]
    optimizer = wo.Optimizer(space, method="go-ucb", seed=seed, options=options | own)
    values = []
    for _ in range(n_evals):
        x = optimizer.ask()
        values.append(fun(x))
        optimizer.tell(x, values[-1])
    gaps = (np.array(values) - lowest(fun, box, points, sample)) / np.std(sample)
    return float(gaps.min()), float(gaps.mean())


def lowest(fun: Any, box: wo.Space, points: np.ndarray, sample: list[float]) -> float:
    """The optimum, or the best of local searches from the best of the sample."""
    known = getattr(fun, "optimum", None)
    if known is not None:
        return float(known)
    bounds = [(p.low, p.high) for p in box.parameters]
    starts = points[np.argsort(sample)[:20]]
    return min(float(minimize(fun, x, bounds=bounds).fun) for x in starts)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--problems", nargs="+", default=["sigmoids", "branin", "hartmann-3", "enzyme"]
    )
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--kappa", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--length", type=float, nargs="+", default=[0.8])
    parser.add_argument("--n-init", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--n-evals", type=int, default=25)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    settings = itertools.product(args.problems, args.n_init, args.kappa, args.length)
    for name, n_init, kappa, length in settings:
        options = {"n_init": n_init, "kappa": kappa, "length": length}
        seeds = range(100, 100 + args.seeds)
        found = [regrets(name, seed, args.n_evals, options) for seed in seeds]
        simple, mean = np.median(found, axis=0)
        print(
            f"{name}, n_init {n_init}, kappa {kappa:g}, length {length:g}: simple "
            f"regret {simple:.2g}, mean regret {mean:.2g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
