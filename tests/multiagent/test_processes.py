"""Agents in processes: the same run as here, restarts, and all that crosses."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import wideopt as wo
from tests.multiagent.sites import Deadly, Local, assert_same, coupled
from wideopt.multiagent import (
    Agent,
    Coordinator,
    Processes,
    Spec,
    desk,
    minimize,
    processes,
    run_rounds,
    wire,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def undisturbed():
    return minimize(coupled(), n_rounds=6, seed=3)


def test_processes_make_the_same_run(undisturbed, tmp_path):
    shared = minimize(coupled(), n_rounds=6, seed=3, executor=Processes(2))
    assert_same(shared, undisturbed)
    folder = tmp_path / "run"
    own = minimize(coupled(), n_rounds=6, seed=3, executor=Processes(3), storage=folder)
    assert_same(own, undisturbed)
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        *(f"agent-{i}.{kind}" for i in range(3) for kind in ("jsonl", "lock")),
        "coordinator.jsonl",
        "run.jsonl",
    ]


def test_any_executor_makes_the_same_run(undisturbed):
    with ThreadPoolExecutor(2) as threads:
        result = minimize(coupled(), n_rounds=6, seed=3, executor=threads)
    assert_same(result, undisturbed)
    context = get_context("forkserver")
    context.set_forkserver_preload(["wideopt.multiagent.desk"])
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        result = minimize(coupled(), n_rounds=6, seed=3, executor=pool)
    assert_same(result, undisturbed)


def killed_run(n_kills, n_rounds, folder, seed):
    """A run in which random agents are killed at random moments, and how many were."""
    workers, rng = [], random.Random(seed)
    counts = {"kills": 0}
    stop = threading.Event()

    class Watched(processes.Worker):
        def __init__(self, specs):
            super().__init__(specs)
            workers.append(self)

    def killer():
        last = None
        while counts["kills"] < n_kills and not stop.is_set():
            time.sleep(rng.uniform(0.1, 0.35))
            # Not the same one again at once: three deaths in one evaluation fail it.
            others = [worker for worker in workers if worker is not last]
            worker = rng.choice(others) if others else None
            if worker is None or worker.pid is None:
                continue
            if worker.pid != worker.__dict__.get("killed"):  # a new process each time
                worker.killed = worker.pid
                os.kill(worker.pid, signal.SIGKILL)
                counts["kills"] += 1
                last = worker

    original, processes.Worker = processes.Worker, Watched
    thread = threading.Thread(target=killer)
    thread.start()
    try:
        agents = coupled(pause=0.1)
        result = minimize(
            agents, n_rounds=n_rounds, seed=9, executor=Processes(3), storage=folder
        )
    finally:
        stop.set()
        thread.join()
        processes.Worker = original
    return result, counts["kills"]


def told(folder):
    """Every trial in the journals of a folder."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("agent-*.jsonl"))
        for line in path.read_text().splitlines()
        if json.loads(line).get("record") == "trial"
    ]


@pytest.mark.parametrize(
    ("n_kills", "n_rounds"),
    [(5, 10), pytest.param(20, 40, marks=pytest.mark.slow)],
)
def test_killed_agents_go_on_as_if_nothing_had_happened(n_kills, n_rounds, tmp_path):
    calm = minimize(coupled(), n_rounds=n_rounds, seed=9)
    result, n = killed_run(n_kills, n_rounds, tmp_path / "run", seed=1)
    assert n == n_kills
    assert_same(result, calm)
    assert len(told(tmp_path / "run")) == 3 * (3 + n_rounds)


_RUN = """
import sys
from tests.multiagent.sites import coupled
from wideopt.multiagent import Processes, minimize
if __name__ == "__main__":
    executor = Processes(3) if sys.argv[2] == "processes" else None
    minimize(coupled(pause=float(sys.argv[3])), n_rounds=8, seed=3,
             storage=sys.argv[1], executor=executor)
    print("done")
"""


# With the longer pause the agents of the killed run are still evaluating when the
# next ones begin.
@pytest.mark.parametrize(
    ("where", "pause"), [("here", 0.05), ("processes", 0.05), ("processes", 0.4)]
)
def test_a_killed_coordinator_resumes(where, pause, tmp_path):
    folder, script = tmp_path / "run", tmp_path / "run.py"
    script.write_text(_RUN)
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    command = [sys.executable, str(script), str(folder), where, str(pause)]
    journal, environment = (
        folder / "coordinator.jsonl",
        {**os.environ, "PYTHONPATH": paths},
    )
    run = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") >= 4:
            break
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    n_before = journal.read_bytes().count(b"\n") - 1
    assert 3 <= n_before < 8
    before = told(folder)
    executor = Processes(3) if where == "processes" else None
    resumed = minimize(
        coupled(pause=pause), n_rounds=8, seed=3, storage=folder, executor=executor
    )
    assert_same(resumed, minimize(coupled(), n_rounds=8, seed=3))
    after = told(folder)
    assert all(trial in after for trial in before)
    assert len(after) == 3 * (3 + 8)


def test_a_deadly_point_is_a_failed_trial(tmp_path):
    options = {"n_constraints": 1, "n_candidates": 32, "n_init": 3}
    agents = [Agent(Deadly(), [(0, 1)], **options)]
    result = minimize(agents, n_rounds=3, seed=0, executor=Processes(1))
    failed = [t for t in result.histories[0] if t.state == "failed"]
    assert failed
    assert failed[0].error == "The process died 3 times in this evaluation."
    assert len(result.histories[0]) == 6


class Tap:
    """A connection that keeps every byte."""

    def __init__(self, connection, up, down):
        self._connection, self.up, self.down = connection, up, down

    def send_bytes(self, data):
        self.down.append(data)
        self._connection.send_bytes(data)

    def recv_bytes(self):
        self.up.append(self._connection.recv_bytes())
        return self.up[-1]

    def close(self):
        self._connection.close()


def test_every_byte_that_crosses(monkeypatch, tmp_path):
    up, down = [], []
    start = processes.Worker._started

    def tapped(self):
        self._connection = Tap(start(self), up, down)
        return self._connection

    monkeypatch.setattr(processes.Worker, "_started", tapped)
    specs = [
        Spec(i, agent, i, str(tmp_path / f"{i}.jsonl"))
        for i, agent in enumerate(coupled())
    ]
    with Processes(2).lines(specs) as lines:
        signals = run_rounds(lines, Coordinator(2, eta=0.4), 4)
    assert len(signals) == 5
    assert len(up) == len(down) == 3 * 5
    for data in down:
        asked = json.loads(data.split(b" ", 1)[1])
        assert asked == {"do": "settle"} or set(asked) == {"do", "signal"}
        if "signal" in asked:
            assert set(asked["signal"]) == {"kind", "lam", "mu", "eta", "t"}
    outcomes = {
        value for trial in told_of(specs) for value in (trial["y"], *trial["c"])
    }
    for data in up:
        said = json.loads(data)
        if said == {"done": True}:
            continue
        assert list(said) == ["message"]
        assert list(said["message"]) == ["Ax", "g"]
        assert said["message"]["Ax"] == []
        assert len(said["message"]["g"]) == 2
        assert outcomes.isdisjoint(said["message"]["g"])


def told_of(specs):
    lines = [
        json.loads(line)
        for spec in specs
        for line in Path(spec.path).read_text().splitlines()
    ]
    return [line for line in lines if line.get("record") == "trial"]


def wrong(x):
    return 0.123456789, [1.0]


def test_what_an_error_says_stays_with_the_agent(caplog, tmp_path):
    agents = [Agent(wrong, [(0, 1)], n_constraints=2)]
    words = r"Agent 0 cannot go on \(InputError\)"
    with pytest.raises(wo.InputError, match=words) as raised:
        minimize(agents, n_rounds=1, executor=Processes(1))
    assert "[1.0]" not in str(raised.value)
    spec = Spec(0, agents[0], 0, str(tmp_path / "0.jsonl"))
    said = desk.answer(spec, wire.request("settle"))
    assert json.loads(said) == {"error": "InputError"}
    assert "Expected 2 constraint value(s), but got 1: [1.0]" in caplog.text


def test_agents_by_name(tmp_path):
    spec = Spec(0, "tests.multiagent.sites:by_name", 0, str(tmp_path / "0.jsonl"))
    with Processes(1).lines([spec]) as lines:
        assert len(run_rounds(lines, Coordinator(2, eta=0.4), 2)) == 3
    spec = Spec(0, "tests.multiagent.sites:Local", 0, str(tmp_path / "1.jsonl"))
    with (
        Processes(1).lines([spec]) as lines,
        pytest.raises(wo.InputError, match="cannot go on"),
    ):
        run_rounds(lines, Coordinator(2, eta=0.4), 1)


def test_a_slow_agent_is_late_but_not_forgotten():
    agents = coupled(2)
    slow = Agent(Local(2, pause=0.4), [(-1, 1)], n_constraints=2, n_init=1)
    late = []
    result = minimize(
        [*agents, slow],
        n_rounds=8,
        seed=0,
        executor=Processes(3),
        on_slow="reuse",
        slow_after=0.1,
        callbacks=[lambda r: late.append(r.is_late)],
    )
    n_late = np.sum(late, axis=0)
    assert n_late[0] <= 2  # a busy machine may delay anyone
    assert 3 <= n_late[2] < 8
    # what it was at when the rounds ended is finished, though nobody hears of it
    assert len(result.histories[2]) - (1 + 8 - n_late[2]) in (0, 1)
    assert np.isfinite(result.objectives).all()


def test_bad_options(unchecked):
    with pytest.raises(wo.InputError, match="n_workers must be at least 1"):
        Processes(0)
    local = [Agent(lambda x: 0.0, [(0, 1)])]
    with pytest.raises(wo.InputError, match="define its function at the top level"):
        minimize(local, n_rounds=1, executor=Processes(1))
    with pytest.raises(wo.InputError, match="executor is a concurrent"):
        minimize(coupled(), n_rounds=1, executor="dask")
