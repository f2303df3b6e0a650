"""Functions at the top level of a module, so that worker processes can import them."""

import os
import signal

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
