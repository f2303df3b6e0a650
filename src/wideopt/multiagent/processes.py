"""Agents in long-lived processes of this machine, restarted when they die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal as signals
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from wideopt.exceptions import InputError, WideoptError
from wideopt.multiagent.lines import Line, Remote
from wideopt.multiagent.wire import Spec

__all__ = ["Processes"]

_GRACE = 5.0  # seconds that a process has to end; it is a daemon in any case
_MAX_RESTARTS = 10  # for one request; an evaluation is given up after fewer


@dataclass(frozen=True)
class Processes:
    """Agents in processes of their own.

    An agent whose process dies is started again from its journal, and asked again.

    Attributes:
        n_workers: processes; agents share one if there are fewer than agents. By
            default one for each agent, but no more than processors.
    """

    n_workers: int | None = None

    def __post_init__(self) -> None:
        if self.n_workers is not None and self.n_workers < 1:
            raise InputError(f"n_workers must be at least 1, but got {self.n_workers}.")

    @contextmanager
    def lines(self, specs: Sequence[Spec]) -> Iterator[list[Line]]:
        """Lines to the processes, which end with the block."""
        n = self.n_workers or os.cpu_count() or 1
        n = min(n, len(specs))
        for spec in specs:
            _check(spec)
        workers = [Worker(list(specs[i::n])) for i in range(n)]
        try:
            yield [_ProcessLine(s, workers[i % n]) for i, s in enumerate(specs)]
        finally:
            for worker in workers:
                worker.close()


class Worker:
    """One process and the thread that talks to it."""

    def __init__(self, specs: list[Spec]) -> None:
        self._specs = specs
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="wideopt-agent")
        self._process: Any = None
        self._connection: Connection | None = None

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        return None if self._process is None else self._process.pid

    def submit(self, number: int, text: str) -> Future[str]:
        """The answer of an agent in this process."""
        return self._thread.submit(self._asked, number, text)

    def close(self) -> None:
        """End the process once it is idle."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join(timeout=_GRACE)

    def _asked(self, number: int, text: str) -> str:
        for _ in range(_MAX_RESTARTS):
            try:
                connection = self._connection or self._started()
                connection.send_bytes(f"{number} {text}".encode())
                return connection.recv_bytes().decode()
            except (EOFError, OSError):
                self._connection = None
        raise WideoptError(
            f"The process of agent {number} died {_MAX_RESTARTS} times in one round; "
            "see what it prints, and whether there is memory enough."
        )

    def _started(self) -> Connection:
        context = _context()
        ours: Connection
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._specs))
        process.daemon = True  # ends with this process, should that be killed
        process.start()
        theirs.close()  # or the end of the process would go unnoticed
        self._process, self._connection = process, ours
        return ours


class _ProcessLine(Remote):
    def __init__(self, spec: Spec, worker: Worker) -> None:
        super().__init__(spec)
        self.worker = worker

    def _sent(self, text: str) -> Future[str]:
        return self.worker.submit(self.spec.number, text)


def _context() -> Any:
    """Forks of a server that has loaded torch, where there is such a thing.

    It has no threads, so that forks are safe; a restart takes no seconds, and the
    memory of the libraries is shared.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["wideopt.multiagent.desk"])
    return context


def _serve(connection: Connection, specs: list[Spec]) -> None:
    """Answer until the coordinator is gone."""
    from wideopt.multiagent.desk import answer

    signals.signal(signals.SIGINT, signals.SIG_IGN)  # Ctrl-C is the coordinator's
    by_number = {spec.number: spec for spec in specs}
    with contextlib.suppress(EOFError, OSError):
        while True:
            number, _, text = connection.recv_bytes().decode().partition(" ")
            connection.send_bytes(answer(by_number[int(number)], text).encode())


def _check(spec: Spec) -> None:
    try:
        pickle.dumps(spec)
    except Exception as error:
        raise InputError(
            f"Agent {spec.number} is sent to another process, but cannot be ({error}); "
            "define its function at the top level of a module."
        ) from None
