"""How many threads the linear algebra uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["threads_for"]

_LARGE = 1000  # rows from which a second thread is worth its while


@contextmanager
def threads_for(n: int) -> Iterator[None]:
    """One thread while the matrices are small; what the user has set otherwise.

    The matrices of a few hundred observations are done sooner than threads can be
    woken; on a busy machine they then wait for each other. And sums over one thread
    come out the same every time.
    """
    before = torch.get_num_threads()
    if n < _LARGE:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
