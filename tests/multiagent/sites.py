"""Agents that other processes can load, and what to compare of their runs."""

import math
import os
import time

import numpy as np

from wideopt.multiagent import Agent
from wideopt.surrogates import SquaredExponential

KNOWN = SquaredExponential(length_scale=0.25, noise=1e-4)


class Local:
    """A function of one number and two constraints, after a pause."""

    def __init__(self, i, pause=0.0):
        self.i, self.pause = i, pause

    def __call__(self, x):
        time.sleep(self.pause)
        f = (x[0] - 0.8) ** 2 + 0.1 * math.sin(3 * x[0] + self.i)
        return f, [x[0] - 0.3, 0.3 * math.cos(2 * x[0] + self.i) - 0.2]


class Deadly:
    """Ends its process on the right half."""

    def __call__(self, x):
        if x[0] > 0.5:
            os._exit(1)
        return -x[0], [x[0] - 0.9]


def coupled(n=3, pause=0.0, **options):
    settings = {"surrogate": KNOWN, "n_candidates": 64, **options}
    return [
        Agent(Local(i, pause), [(-1, 1)], n_constraints=2, **settings) for i in range(n)
    ]


def assert_same(one, two):
    """The same signals and the same trials, bit for bit."""
    np.testing.assert_array_equal(one.lam, two.lam)
    np.testing.assert_array_equal(one.sums, two.sums)
    for a, b in zip(one.histories, two.histories, strict=True):
        assert [(t.x.tolist(), t.y, t.c) for t in a] == [
            (t.x.tolist(), t.y, t.c) for t in b
        ]


by_name = coupled(1)[0]
