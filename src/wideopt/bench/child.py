"""The process of one run, forked from a server that has done the imports.

The server starts with the first run of a runner and ends with the runner. Where
processes cannot be forked, each run imports for itself.
"""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.process
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wideopt.bench import provenance

__all__ = ["start"]

_CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
_PAUSES = (0.01, 0.1, 1.0, 10.0)  # seconds
_IMPORTED = (  # what most runs need; peers are imported by their own runs
    *("wideopt.bench.single", "wideopt.bench.suite"),
    *("wideopt.methods.gp", "wideopt.methods.neural_bo", "wideopt.methods.neural_cbo"),
    "wideopt.optimizer",
)


def start(text: str, log: Path) -> multiprocessing.process.BaseProcess:
    """Make the run of a job, as JSON, in a process that prints to a file."""
    args = text, str(log), dict(os.environ)
    for pause in _PAUSES:
        try:
            return _started(args)
        except (EOFError, ConnectionError):  # the server was killed, and starts again
            time.sleep(pause)  # once it has left; its sockets close before that
    return _started(args)


def _started(
    args: tuple[str, str, dict[str, str]],
) -> multiprocessing.process.BaseProcess:
    process: multiprocessing.process.BaseProcess
    if _CAN_FORK:
        server = multiprocessing.get_context("forkserver")
        server.set_forkserver_preload(list(_IMPORTED))
        process = server.Process(target=_main, args=args)
    else:
        process = multiprocessing.get_context("spawn").Process(target=_main, args=args)
    with _one_thread():
        process.start()
    return process


@contextmanager
def _one_thread() -> Iterator[None]:
    """The environment that the server is to inherit; imports read it."""
    before = dict(os.environ)
    os.environ.update(provenance.THREADS)
    try:
        yield
    finally:
        for name in provenance.THREADS:
            os.environ.pop(name)
        os.environ.update(before)


def _end_with_the_runner() -> None:
    """End this run when its runner is gone, however that came about."""
    runner = multiprocessing.parent_process()
    if runner is not None:
        runner.join()
        os._exit(1)


def _main(text: str, log: str, environment: dict[str, str]) -> None:
    """Make the run and save its record."""
    if hasattr(os, "setsid"):
        os.setsid()  # an interrupt is for the runner alone
    threading.Thread(target=_end_with_the_runner, daemon=True).start()
    os.environ.update({**environment, **provenance.THREADS})
    with Path(log).open("wb") as stream:
        os.dup2(stream.fileno(), sys.stdout.fileno())
        os.dup2(stream.fileno(), sys.stderr.fileno())
    job = json.loads(text)
    warnings.simplefilter("ignore")  # of peers and their libraries; errors are recorded
    import torch

    torch.set_num_threads(1)
    from wideopt.bench import suite as suites
    from wideopt.bench.contender import parse
    from wideopt.bench.record import save
    from wideopt.bench.single import run_one
    from wideopt.bench.task import parse_noise

    suite = suites.get(job["suite"])
    task = suite.task(job["task"], job["is_smoke"])
    if job["noise"] is not None:
        task = task.with_noise(parse_noise(job["noise"]))
    record = run_one(
        parse(job["method"]),
        task,
        job["seed"],
        suite=suite.folder(job["is_smoke"]),
        journal=Path(job["journal"]),
        max_seconds=job["max_seconds"],
    )
    save(record, Path(job["path"]))
