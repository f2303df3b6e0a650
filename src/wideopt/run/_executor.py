"""Where evaluations run: in this thread, in our pool, or in the user's executor."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from wideopt.exceptions import InputError

__all__ = ["open_executor"]


class Inline(Executor):
    """An executor that runs each call at once, in this very thread."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Run the call and give a finished future; Ctrl-C passes through."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def open_executor(
    executor: Executor | None, n_workers: int, fun: Callable[[Any], Any]
) -> Iterator[Executor]:
    """The executor to use; one of our own is shut down at the end, without waiting."""
    if executor is not None or n_workers == 1:
        yield executor or Inline()
        return
    _check_picklable(fun)
    # Spawned, not forked: a fork of a process with torch's threads may hang.
    pool = ProcessPoolExecutor(
        n_workers, mp_context=multiprocessing.get_context("spawn")
    )
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _check_picklable(fun: Callable[[Any], Any]) -> None:
    try:
        pickle.dumps(fun)
    except Exception as error:
        raise InputError(
            f"With n_workers > 1 the function is sent to other processes, but {fun!r} "
            f"cannot be ({error}); define it at the top level of a module, or give "
            "executor=ThreadPoolExecutor(n_workers)."
        ) from None
