"""Agents on Dask's workers, on this machine or on others.

    client = Client("tls://...", security=Security(...))
    result = wo.multiagent.minimize(
        agents, executor=Workers(client, ["plant-a", "plant-b"]), storage="/data/run"
    )

An agent lives on the worker of a name (`dask worker --name plant-a`) and keeps its
journal on that machine's disk. If the worker dies, the agent waits for one of the same
name, which a nanny or a service manager starts, and goes on from its journal. In rounds
only texts pass: signals to the agents, messages from them (`wideopt.multiagent.wire`).
Dask adds what it says of any task: its name, its times, the size of its result.
"""

from __future__ import annotations

import itertools
import json
import pickle
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import Future as LocalFuture
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from wideopt.exceptions import InputError, WideoptError
from wideopt.multiagent.desk import answer
from wideopt.multiagent.lines import Line, Remote
from wideopt.multiagent.wire import Spec

__all__ = ["Workers"]

_POLL = 0.5  # seconds between looks at who is there
_UNKNOWN = json.dumps({"unknown": True})
_SPECS: dict[str, Spec] = {}  # in a worker: whom it hosts


class Workers:
    """A transport to agents on Dask's workers.

    Args:
        client: a `distributed.Client`, with TLS if its `security` says so.
        names: the worker of each agent, several agents on one if there are fewer. By
            default the workers of now, in order of their names.
        patience: seconds to wait for a worker that is not there.
    """

    needs_storage = True

    def __init__(
        self,
        client: Any,
        names: Sequence[str | int] | None = None,
        patience: float = 600.0,
    ) -> None:
        self._client, self._patience = client, patience
        self._directory = _Directory(client)
        self._names = (
            sorted(self._directory.addresses(), key=str)
            if names is None
            else list(names)
        )
        if not self._names:
            raise InputError(f"{client!r} has no workers; start one, or give names.")

    @contextmanager
    def lines(self, specs: Sequence[Spec]) -> Iterator[list[Line]]:
        """Lines to the workers."""
        stop = Event()
        threads = ThreadPoolExecutor(len(specs), thread_name_prefix="wideopt-dask")
        names = itertools.cycle(self._names)
        try:
            yield [
                _DaskLine(spec, name, self, threads, stop)
                for spec, name in zip(specs, names, strict=False)
            ]
        finally:
            stop.set()
            threads.shutdown(wait=False, cancel_futures=True)

    def asked(self, spec: Spec, name: str | int, text: str, stop: Event) -> str:
        """The answer of an agent, from whatever worker has its name by then."""
        import cloudpickle  # type: ignore[import-untyped] # comes with Dask

        key = f"{spec.path} {spec.seed}"
        end = time.monotonic() + self._patience
        while not stop.is_set():
            address = self._directory.addresses().get(name)
            if address is None:
                if time.monotonic() > end:
                    break
                time.sleep(_POLL)
                continue
            reply: str | None = self._called(address, _ask, key, text)
            if reply == _UNKNOWN:
                self._called(address, _open, key, cloudpickle.dumps(spec))
            elif reply is not None:
                return reply
            else:
                end = time.monotonic() + self._patience
        raise WideoptError(
            f"There is no Dask worker named {name!r} for agent {spec.number}; start "
            "one, and the same call goes on from the storage."
        )

    def _called(self, address: str, function: Any, *args: Any) -> Any:
        """What a call returns; None if the worker is gone before it does."""
        future = self._client.submit(
            function, *args, workers=[address], allow_other_workers=False, pure=False
        )
        # To fetch what a dead worker has computed would take for ever, whatever the
        # timeout: another thread does it, and is let go by `cancel`.
        fetched: SimpleQueue[Any] = SimpleQueue()
        Thread(target=_fetch, args=(future, fetched), daemon=True).start()
        try:
            while address in self._directory.addresses().values():
                try:
                    value, error = fetched.get(timeout=_POLL)
                except Empty:
                    continue
                if error is not None:
                    raise error
                return value
        finally:
            future.cancel()
        return None


def _fetch(future: Any, into: SimpleQueue[Any]) -> None:
    from distributed.scheduler import KilledWorker

    try:
        into.put((future.result(), None))
    except (KilledWorker, CancelledError):
        into.put((None, None))
    except Exception as error:
        into.put((None, error))


class _DaskLine(Remote):
    def __init__(
        self,
        spec: Spec,
        name: str | int,
        workers: Workers,
        threads: ThreadPoolExecutor,
        stop: Event,
    ) -> None:
        super().__init__(spec)
        self._name, self._workers, self._threads = name, workers, threads
        self._stop = stop

    def _sent(self, text: str) -> LocalFuture[str]:
        return self._threads.submit(
            self._workers.asked, self.spec, self._name, text, self._stop
        )


class _Directory:
    """Who is there, asked of the scheduler at most once in a while."""

    def __init__(self, client: Any) -> None:
        self._client, self._lock = client, Lock()
        self._known: dict[str | int, str] = {}
        self._at = -_POLL

    def addresses(self) -> dict[str | int, str]:
        """The address of each worker, by name."""
        with self._lock:
            if time.monotonic() - self._at >= _POLL:
                workers = self._client.scheduler_info()["workers"]
                self._known = {w["name"]: address for address, w in workers.items()}
                self._at = time.monotonic()
            return self._known


def _open(key: str, pickled: bytes) -> None:
    """At the worker: host an agent."""
    _SPECS[key] = pickle.loads(pickled)


def _ask(key: str, text: str) -> str:
    """At the worker: what the agent answers."""
    spec = _SPECS.get(key)
    return _UNKNOWN if spec is None else answer(spec, text)
