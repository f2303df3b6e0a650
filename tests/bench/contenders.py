"""Contenders for tests of the runner: `python:tests.bench.contenders:Center`."""

import os
import signal
import time

import numpy as np


class Center:
    """Always the middle of a box; may end badly at its third ask."""

    def __init__(self, task, seed, initial, ending="well"):  # noqa: ARG002
        self._n_asked = 0
        self._ending = ending
        self._x = task.space.config(
            task.space.decode(np.full(task.space.n_dims, 0.5)),
        )

    def ask(self):
        self._n_asked += 1
        if self._n_asked == 3:
            if self._ending == "crash":
                raise ArithmeticError("singular matrix")
            if self._ending == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self._ending == "hang":
                time.sleep(600)
        return self._x

    def tell(self, x, y, c):
        pass
