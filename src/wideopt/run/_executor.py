"""Where evaluations run: in this thread, in our pool, or in the user's executor."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from wideopt.exceptions import InputError

__all__ = ["check_workers", "open_executor"]

_HINT = (
    'put the call of minimize under `if __name__ == "__main__":` and the function at '
    "the top level of a module."
)


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
    """Worker processes that die alone: a crash costs one evaluation, not the pool."""

    def __init__(self, n_workers: int) -> None:
        # Spawned, not forked: a fork of a process with torch's threads may hang.
        self._context = multiprocessing.get_context("spawn")
        self._pools = [self._new() for _ in range(n_workers)]
        self._last: list[Future[Any] | None] = [None] * n_workers

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, mp_context=self._context)

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Start the call in a free worker; a dead one is replaced."""
        is_free = [last is None or last.done() for last in self._last]
        i = is_free.index(True) if any(is_free) else 0
        try:
            future = self._pools[i].submit(fn, *args, **kwargs)
        except BrokenExecutor:
            self._pools[i] = self._new()
            future = self._pools[i].submit(fn, *args, **kwargs)
        self._last[i] = future
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End every worker once its call is done."""
        for pool in self._pools:
            pool.shutdown(wait=wait, cancel_futures=cancel_futures)


def check_workers(executor: object, n_workers: object, fun: Callable[..., Any]) -> None:
    """An error if these cannot evaluate the function."""
    is_whole = isinstance(n_workers, int) and not isinstance(n_workers, bool)
    if not is_whole or n_workers < 1:  # type: ignore[operator]
        raise InputError(
            f"n_workers must be a whole number of at least 1, but got {n_workers!r}."
        )
    if executor is not None and not hasattr(executor, "submit"):
        raise InputError(
            f"executor must be a concurrent.futures.Executor, but got {executor!r}."
        )
    if executor is None and n_workers > 1:  # type: ignore[operator]
        _pickled(fun)
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise InputError(f"A worker process ran minimize of {fun!r} again; {_HINT}")


@contextmanager
def open_executor(
    executor: Executor | None, n_workers: int, fun: Callable[[Any], Any]
) -> Iterator[Executor]:
    """The executor to use; one of our own is shut down at the end, without waiting."""
    if executor is not None or n_workers == 1:
        yield executor or Inline()
        return
    pool = Processes(n_workers)
    try:
        _check_arrives(pool, fun)
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _pickled(fun: Callable[[Any], Any]) -> bytes:
    try:
        return pickle.dumps(fun)
    except Exception as error:
        raise InputError(
            f"With n_workers > 1 the function is sent to other processes, but {fun!r} "
            f"cannot be ({error}); define it at the top level of a module, or give "
            "executor=ThreadPoolExecutor(n_workers)."
        ) from None


def _check_arrives(pool: Executor, fun: Callable[[Any], Any]) -> None:
    try:
        pool.submit(_load, _pickled(fun)).result()
    except Exception as error:
        raise InputError(
            f"A worker process cannot load {fun!r} ({type(error).__name__}: {error}); "
            + _HINT
        ) from None


def _load(pickled: bytes) -> None:
    pickle.loads(pickled)
