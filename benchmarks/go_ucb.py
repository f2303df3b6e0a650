"""Which defaults of go-ucb do well, on problems that no report uses.

    python benchmarks/go_ucb.py
    python benchmarks/go_ucb.py --settings kappa=0.3 kappa=1,length=0.8 --seeds 4
    python benchmarks/go_ucb.py --methods gp-pi --problems ridge-12 tree
    python benchmarks/go_ucb.py --time

Problems, each with other weights or another part of the data for each seed:

- ridge-D: f1 of the paper in another number of dimensions;
- sigmoids-D: sums of three sigmoids, which the network can represent;
- levy-D, ackley-D, branin, hartmann-3: which it cannot;
- tree, linear: the error of a decision tree and of a linear classifier on digits, by
  their hyper-parameters: a mixed space;
- enzyme: a Michaelis-Menten law with two unknown constants, given as the model.

Printed for each problem and setting, over seeds from 100 on: the median of the simple
regret, the mean and the median of the regret after the initial points, each by the
spread of the function, and the time of a suggestion. With --time, instead, the CPU time
of each suggestion of a run on levy-20, regressions included.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize

import wideopt as wo

FIRST_SEED = 100
PROBLEMS = ["ridge-12", "sigmoids-20", "levy-20", "ackley-10", "tree", "linear"]


@dataclass(frozen=True)
class Problem:
    """A function of a seed, its space, noise, and the options it needs."""

    fun: Callable[[Any], float]
    space: Any
    optimum: float | None = None
    noise: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)


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


def sigmoids(seed: int, dim: int) -> Callable[[np.ndarray], float]:
    rng = np.random.default_rng([seed, 2023])
    A, b, c = rng.normal(size=(3, dim)), rng.normal(size=3), rng.normal(size=3)
    A *= 4 / np.sqrt(dim)
    return lambda x: float(c @ (1 / (1 + np.exp(-(A @ x) - b))))


@cache
def digits(seed: int) -> tuple[np.ndarray, ...]:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    parts = train_test_split(
        X / 16, y, train_size=400, test_size=150, random_state=seed
    )
    return tuple(parts)


TREE = {
    "criterion": wo.Categorical(["gini", "entropy"]),
    "splitter": wo.Categorical(["best", "random"]),
    "max_depth": wo.Integer(1, 15),
    "min_samples_split": wo.Integer(2, 20),
    "min_samples_leaf": wo.Integer(1, 20),
    "max_features": wo.Categorical(["sqrt", "log2", None]),
    "ccp_alpha": wo.Real(1e-6, 1e-1, log=True),
}
LINEAR = {
    "loss": wo.Categorical(["hinge", "log_loss", "modified_huber"]),
    "alpha": wo.Real(1e-6, 1e1, log=True),
    "l1_ratio": wo.Real(0.0, 1.0),
    "eta0": wo.Real(1e-6, 1e1, log=True),
    "learning_rate": wo.Categorical(["constant", "invscaling", "adaptive"]),
    "power_t": wo.Real(0.1, 0.9),
    "max_iter": wo.Integer(2, 30),
    "average": wo.Categorical([True, False]),
}


def error(classifier: str, seed: int) -> Callable[[dict[str, Any]], float]:
    """The error on the test part of digits."""
    import warnings

    from sklearn.linear_model import SGDClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, X_test, y, y_test = digits(seed)

    def fun(config: dict[str, Any]) -> float:
        model: Any = DecisionTreeClassifier(random_state=0)
        if classifier == "linear":
            model = SGDClassifier(penalty="elasticnet", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(**config).fit(X, y)
        return 1.0 - float(model.score(X_test, y_test))

    return fun


def problem(name: str, seed: int) -> Problem:
    kind, _, dim = name.rpartition("-")
    if name == "enzyme":
        space = [(0.01, 10.0), (0.0, 2.0)]
        return Problem(enzyme, space, options={"model": Enzyme()})
    if name in {"tree", "linear"}:
        return Problem(error(name, seed), TREE if name == "tree" else LINEAR)
    if kind == "sigmoids":
        return Problem(sigmoids(seed, int(dim)), [(-1.0, 1.0)] * int(dim))
    noise = 0.0
    if kind == "ridge":
        name, noise = f"go-ucb-f1-{dim}", 0.01
    known = wo.problems.get(name)
    space = list(known.space.parameters)
    return Problem(known, space, float(known.optimum), noise)


def run(
    name: str, seed: int, n_evals: int, method: str, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Regrets by the spread of the function, and CPU seconds of the suggestions."""
    given = problem(name, seed)
    best, spread = scale(name, seed)
    own = {**given.options, **options} if method == "go-ucb" else {}
    n_init = options.get("n_init", max(5, round(n_evals**0.5)))
    own["n_init"] = n_init
    optimizer = wo.Optimizer(given.space, method=method, seed=seed, options=own)
    rng = np.random.default_rng(seed)
    values, seconds = [], []
    for _ in range(n_evals):
        begin = time.process_time()
        x = optimizer.ask()
        seconds.append(time.process_time() - begin)
        values.append(given.fun(x))
        optimizer.tell(x, values[-1] + given.noise * rng.normal())
    gaps = (np.array(values) - best) / spread
    return gaps[n_init:], np.array(seconds[n_init:])


@cache
def scale(name: str, seed: int) -> tuple[float, float]:
    """The optimum, or the best that is known, and the spread of random values."""
    given = problem(name, seed)
    box = wo.Space(given.space)
    rng = np.random.default_rng(0)
    n = 300 if name in {"tree", "linear"} else 4096
    points = [box.config(box.decode(u)) for u in rng.uniform(size=(n, box.n_dims))]
    sample = np.array([given.fun(x) for x in points])
    spread = float(np.std(sample))
    if given.optimum is not None:
        return given.optimum, spread
    if name in {"tree", "linear"}:
        return float(sample.min()), spread
    bounds = [(p.low, p.high) for p in box.parameters]
    starts = [points[i] for i in np.argsort(sample)[:20]]
    found = min(float(minimize(given.fun, x, bounds=bounds).fun) for x in starts)
    return found, spread


def print_time() -> None:
    """CPU seconds of a suggestion in 20 dimensions: 551 weights, as in the paper."""
    _, seconds = run("levy-20", FIRST_SEED, 72, "go-ucb", {"n_init": 8})
    # the first one imports what it needs
    median, most = np.median(seconds[1:]), seconds[1:].max()
    print(
        f"20 dimensions, {20 * 25 + 2 * 25 + 1} weights, 9 to 71 observations: "
        f"{median:.2f} s of CPU for a suggestion in the median, {most:.2f} s at most"
    )


def setting(text: str) -> dict[str, Any]:
    """Options from `name=value,name=value`."""
    pairs = [part.split("=") for part in text.split(",") if part]
    return {name: float(v) if "." in v else int(v) for name, v in pairs}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    parser.add_argument("--methods", nargs="+", default=["go-ucb"])
    parser.add_argument("--settings", nargs="+", default=[""])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--n-evals", type=int, default=40)
    parser.add_argument("--time", action="store_true")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    if args.time:
        print_time()
        return
    for name, method, text in itertools.product(
        args.problems, args.methods, args.settings
    ):
        seeds = range(FIRST_SEED, FIRST_SEED + args.seeds)
        found = [run(name, s, args.n_evals, method, setting(text)) for s in seeds]
        gaps = np.array([gap for gap, _ in found])
        late = gaps.mean(axis=1)
        print(
            f"{name:12} {method} {text or 'default'}: simple "
            f"{np.median(gaps.min(axis=1)):.2g}, mean {late.mean():.3g} (median "
            f"{np.median(late):.3g}), {np.mean([s for _, s in found]):.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
