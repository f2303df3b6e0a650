"""Small problems that every method must manage, and how to run a method on them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wideopt as wo
from wideopt.methods.catalog import create


@dataclass(frozen=True)
class Small:
    """A problem that takes no time: a space, a function, its number of constraints."""

    space: Any
    fun: Callable[[Any], tuple[float, list[float]]]
    n_constraints: int = 0


def _bowl(x):
    return float((x[0] - 0.3) ** 2 + (x[1] / 10 - 0.2) ** 2), []


def _ring(x):
    y, _ = _bowl(x)
    return y, [0.5 - x[0], float(np.sin(3 * x[1])) - 0.5]


def _kitchen(x):
    y = (x["rate"] - 0.01) ** 2 + (x["layers"] - 3) ** 2 + (x["units"] / 64 - 1) ** 2
    y += {"relu": 0.0, "tanh": 0.5, "gelu": 0.2}[x["kind"]] + 0.1 * x["bias"]
    return y, []


def _table(x):
    return float(x[0]) + (1.0 if x[1] == "b" else 0.0), []


PROBLEMS = {
    "continuous": Small([(0, 1), (-5, 10)], _bowl),
    "constrained": Small([(0, 1), (-5, 10)], _ring, n_constraints=2),
    "mixed": Small(
        {
            "rate": wo.Real(1e-4, 1.0, log=True),
            "layers": wo.Integer(1, 6),
            "units": wo.Integer(8, 512, log=True),
            "kind": wo.Categorical(["relu", "tanh", "gelu"]),
            "bias": wo.Categorical([True, False]),
        },
        _kitchen,
    ),
    "discrete": Small([wo.Integer(1, 4), wo.Categorical(["a", "b"])], _table),
}

WIDE = Small([(-1, 1)] * 50, lambda x: (float(x @ x), []))

# Methods that pull the arms of a finite space, and repeat them if that pays.
BANDITS = {
    "epsilon-greedy",
    "kernel-ts",
    "kernel-ucb",
    "lin-ts",
    "lin-ucb",
    "thompson",
    "ucb1",
}

# Of most problems it is wrong, which a method has to survive.
PDE = wo.PDE(lambda u, x: wo.pde.partial(u, x, 0), n_points=12)

_QUICK = {"n_candidates": 64, "n_restarts": 1}


def optimizer(method, problem, **settings):
    """An optimizer that searches little, where its method has such options."""
    if method in BANDITS and math.isinf(wo.Space(problem.space).n_configs):
        pytest.skip("a bandit needs a finite space")
    options = {"n_init": 3} | settings.pop("options", {})
    if method == "pinn-bo":  # of three beliefs in the PDE one, for time
        options["is_checked"] = False
    for name, value in _QUICK.items():
        try:
            create(method, {name: value})
        except wo.InputError:
            continue
        options[name] = value
    return wo.Optimizer(
        problem.space,
        method=method,
        pde=PDE if method == "pinn-bo" else None,
        n_constraints=problem.n_constraints,
        options=options,
        **({"seed": 1} | settings),
    )


def tell(opt, problem, x):
    """Evaluate and tell."""
    y, c = problem.fun(x)
    opt.tell(x, y, c)


def walk(opt, problem, n):
    """n rounds of ask and tell; the points asked."""
    points = []
    for _ in range(n):
        points.append(opt.ask())
        tell(opt, problem, points[-1])
    return points


def same(xs, others):
    """Whether two lists of configs are equal, bit for bit."""
    return [_plain(x) for x in xs] == [_plain(x) for x in others]


def _plain(x):
    return x if isinstance(x, dict) else list(x)
