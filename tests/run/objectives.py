"""Functions at the top level of a module, so that worker processes can import them."""

import ctypes
import os
import signal
import time
from pathlib import Path

QUICK = {"n_candidates": 64, "n_restarts": 1}
BOX = [(-1, 1), (-2, 2)]


def bowl(x):
    return float(x[0] ** 2 + (x[1] - 0.5) ** 2)


def constrained(x):
    return bowl(x), [x[0] - 0.2, -x[1]]


def killed_on_the_right(x):
    if x[0] > 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(x)


class CutAt:
    """The bowl, with an exception (Ctrl-C, say) in place of the n-th evaluation."""

    def __init__(self, n, raised=KeyboardInterrupt, fun=bowl):
        self.n, self.raised, self.fun, self.calls = n, raised, fun, 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.n:
            raise self.raised
        return self.fun(x)


def killed_once(x):
    """Kills its process the first time that a point on the right is evaluated."""
    flag = Path(os.environ["WIDEOPT_TEST_FLAGS"]) / repr(float(x[0]))
    if x[0] > 0 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(x)


def hangs_on_the_right(x):
    if x[0] > 0:
        time.sleep(600)
    return bowl(x)


def segfaults_on_the_right(x):
    if x[0] > 0:
        ctypes.string_at(0)
    return bowl(x)


def takes_a_moment(x):
    time.sleep(0.02 + 0.05 * abs(float(x[0])))
    return bowl(x)
