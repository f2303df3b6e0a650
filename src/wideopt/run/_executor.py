"""Where evaluations run: in this thread, in processes of ours, in the user's executor.

Processes of ours are pebble's: each dies alone, and one that takes too long is killed,
while a `ProcessPoolExecutor` loses every evaluation under way when one process dies.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
from asyncio import CancelledError as AsyncCancelledError
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wideopt.exceptions import InputError

__all__ = ["BrokenWorkersError", "Workers", "failure", "is_accident"]

_HINT = (
    'put the call of minimize under `if __name__ == "__main__":` and the function at '
    "the top level of a module."
)
# What pebble and Dask raise when the process of an evaluation is gone; by name, since
# Dask need not be installed. Its KilledWorker is none: Dask itself has tried again.
_ACCIDENTS = ("ProcessExpired", "CommClosedError", "FutureCancelledError")


class BrokenWorkersError(Exception):
    """The executor can be given no more work."""


class Inline(Executor):
    """An executor that runs each call at once, in this very thread."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Run the call and give a finished future; Ctrl-C passes through."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Processes(Executor):
    """Processes that die alone, killed if they take longer than `seconds`."""

    def __init__(self, n_workers: int, seconds: float | None) -> None:
        from pebble import ProcessPool

        # Spawned, not forked: a fork of a process with torch's threads may hang.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(n_workers, context=context)
        self._seconds = seconds

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Start the call in a process."""
        future: Future[Any] = self._pool.schedule(
            fn, args=args, kwargs=kwargs, timeout=self._seconds
        )
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End every process; one at work is stopped, unless it is to be waited for."""
        if wait and not cancel_futures:
            self._pool.close()
        else:
            self._pool.stop()
        self._pool.join()


@dataclass(frozen=True)
class Workers:
    """Where to evaluate, and how many at a time. Build it with `of`."""

    executor: Executor | None
    n: int
    seconds: float | None = None

    @classmethod
    def of(
        cls,
        executor: Any,
        n_workers: object,
        seconds: float | None,
        fun: Callable[..., Any],
    ) -> Workers:
        """The workers; an error if these cannot evaluate the function."""
        is_whole = isinstance(n_workers, int) and not isinstance(n_workers, bool)
        if n_workers is not None and (not is_whole or n_workers < 1):  # type: ignore[operator]
            raise InputError(
                "n_workers must be a whole number of at least 1, but got "
                f"{n_workers!r}."
            )
        if executor is not None and not hasattr(executor, "submit"):
            raise InputError(
                f"executor must be a concurrent.futures.Executor, but got {executor!r}."
            )
        if executor is not None and seconds is not None:
            raise InputError(
                "eval_timeout ends processes of our own, not those of an executor; "
                "leave executor out, or eval_timeout."
            )
        n = _size(executor) if n_workers is None else n_workers
        workers = cls(executor, n, seconds)  # type: ignore[arg-type]
        if workers.is_own_pool:
            _pickled(fun)
            if getattr(multiprocessing.current_process(), "_inheriting", False):
                raise InputError(
                    f"A worker process ran minimize of {fun!r} again; {_HINT}"
                )
        return workers

    @property
    def is_own_pool(self) -> bool:
        """Whether evaluations run in processes of ours."""
        return self.executor is None and (self.n > 1 or self.seconds is not None)

    @contextmanager
    def opened(self, fun: Callable[[Any], Any]) -> Iterator[Executor]:
        """The executor to use; one of our own is shut down at the end."""
        if not self.is_own_pool:
            yield self.executor or Inline()
            return
        _check_arrives(fun)
        pool = Processes(self.n, self.seconds)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _size(executor: Any) -> int:
    """How many calls an executor runs at a time; 1 without one."""
    if executor is None:
        return 1
    for name in ("_max_workers", "num_workers"):
        size = getattr(executor, name, None)
        if isinstance(size, int) and size > 0:
            return size
    client = getattr(executor, "_client", None)  # Dask's
    if client is not None and hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    return os.cpu_count() or 1


def failure(future: Future[Any]) -> BaseException | None:
    """Why a future that is done has no result; None if it has."""
    try:
        return future.exception()
    except (CancelledError, AsyncCancelledError) as error:
        return error


def is_accident(error: BaseException) -> bool:
    """Whether the process of an evaluation is gone, which may not be its fault."""
    if isinstance(error, BrokenExecutor | CancelledError | AsyncCancelledError):
        return True
    return isinstance(error, ConnectionError) or type(error).__name__ in _ACCIDENTS


def _pickled(fun: Callable[[Any], Any]) -> bytes:
    try:
        return pickle.dumps(fun)
    except Exception as error:
        raise InputError(
            f"With n_workers > 1 the function is sent to other processes, but {fun!r} "
            f"cannot be ({error}); define it at the top level of a module, or give "
            "executor=ThreadPoolExecutor(n_workers)."
        ) from None


def _check_arrives(fun: Callable[[Any], Any]) -> None:
    """Raise unless a process can load the function; one alone, which may break."""
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            pool.submit(_load, _pickled(fun)).result()
    except Exception as error:
        raise InputError(
            f"A worker process cannot load {fun!r} ({type(error).__name__}: {error}); "
            + _HINT
        ) from None


def _load(pickled: bytes) -> None:
    pickle.loads(pickled)
