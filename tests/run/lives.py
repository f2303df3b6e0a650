"""Runs that are killed: a program that forks, so that torch is loaded once only.

    python -m tests.run.lives kills URL LOG N_KILLS N_EVALS METHOD
    python -m tests.run.lives copies URL LOG N_COPIES N_EVALS METHOD

Each evaluation writes a line to the log when it begins and when it ends.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import time
import traceback
from contextlib import closing, suppress
from pathlib import Path

import torch

import wideopt as wo
from tests.run.objectives import BOX, QUICK, constrained

SEED = 5


class Logged:
    """The objective, slowed down, with a line before and after."""

    def __init__(self, log, seconds):
        self.log, self.seconds = log, seconds

    def __call__(self, x):
        self.write("start", x)
        time.sleep(self.seconds)
        value = constrained(x)
        self.write("end", x)
        return value

    def write(self, word, x):
        line = f"{word} {os.getpid()} {float(x[0])!r} {float(x[1])!r}\n".encode()
        with Path(self.log).open("ab", buffering=0) as file:
            file.write(line)


def options(method):
    return {"n_init": 3} | (QUICK if method == "gp-ei" else {})


def run(url, fun, n_evals, method):
    return wo.minimize(
        fun,
        BOX,
        method=method,
        n_evals=n_evals,
        seed=SEED,
        storage=url,
        options=options(method),
    )


def child(url, log, n_evals, method, seconds):
    """The process number of a run in a process of its own."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        result = run(url, Logged(log, seconds), n_evals, method)
        code = 0 if result.n_evals == n_evals else 2
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)


def lines(log):
    path = Path(log)
    return path.read_text().splitlines() if path.exists() else []


def has_begun(log, pid):
    """Whether a process has evaluated anything, or has ended."""
    with suppress(FileNotFoundError, IndexError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state != "Z":
            return any(line.split()[1] == str(pid) for line in lines(log))
    return True


def is_second_time(url):
    """Whether an evaluation is under way that was cut off once before."""
    query = """
        SELECT count(*) FROM trials JOIN trial_user_attributes USING (trial_id)
        WHERE state = 'RUNNING' AND key = 'wideopt:cuts' AND value_json >= '1'
    """
    with suppress(sqlite3.Error), closing(sqlite3.connect(url[10:])) as connection:
        return connection.execute(query).fetchone()[0] > 0
    return False


def kills(url, log, n_kills, n_evals, method):
    rng = random.Random(0)
    n_done = 0
    for i in range(n_kills):
        pid = child(url, log, n_evals, method, 0.1)
        while i % 3 and not has_begun(log, pid):  # the others also while it starts
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.4) if i % 3 else rng.uniform(0.0, 1.5))
        while is_second_time(url):  # cut off twice, it would count as failed
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        n_done += os.WIFEXITED(status)
    pid = child(url, log, n_evals, method, 0.0)
    _, status = os.waitpid(pid, 0)
    print(json.dumps({"ended": n_done, "last": os.waitstatus_to_exitcode(status)}))


def copies(url, log, n_copies, n_evals, method):
    pids = [child(url, log, n_evals, method, 0.1) for _ in range(n_copies)]
    while not any(line.startswith("end") for line in lines(log)):
        time.sleep(0.02)
    victim = int(lines(log)[0].split()[1])
    while True:  # in the middle of an evaluation
        own = [line for line in lines(log) if line.split()[1] == str(victim)]
        if own[-1].startswith("start"):
            break
        time.sleep(0.005)
    os.kill(victim, signal.SIGKILL)
    cut = [line for line in lines(log) if line.split()[1] == str(victim)][-1]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    print(json.dumps({"codes": sorted(codes), "cut": cut}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(None, constrained, 5, "gp-ei")  # loads all that a run needs
    what, url, log, n, n_evals, method = sys.argv[1:]
    {"kills": kills, "copies": copies}[what](url, log, int(n), int(n_evals), method)
