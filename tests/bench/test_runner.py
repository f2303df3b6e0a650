import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import current_process, forkserver
from types import SimpleNamespace

import pytest

from tests.bench.conftest import CENTER
from wideopt import InputError, bench
from wideopt.bench import child, parse, runner
from wideopt.bench.record import load
from wideopt.bench.runner import jobs_of, run_jobs, unsettled


@pytest.fixture
def jobs(tmp_path, monkeypatch, request):
    """Jobs on one small task; children find the contenders of these tests."""
    monkeypatch.chdir(request.config.rootpath)

    def make(*texts, **settings):
        contenders = [parse(text) for text in texts]
        suite = bench.get("neural-cbo")
        settings = {"tasks": ["branin-disk"], "is_smoke": True, **settings}
        return jobs_of(suite, contenders, [0], tmp_path, **settings)

    return make


def hidden(folder):
    return [path for path in folder.rglob(".*") if path.is_file()]


def test_one_bad_run_does_not_stop_the_rest_and_what_is_done_is_skipped(jobs, tmp_path):
    wanted = jobs(f"{CENTER}[ending=die]", "random")
    ended = []
    counts = run_jobs(wanted, 2, on_end=lambda job, status: ended.append(status))
    assert counts == {"killed": 1, "complete": 1}
    assert sorted(ended) == ["complete", "killed"]
    died, done = (load(job.path) for job in wanted)
    assert (died["n_done"], died["error"]) == (7, "ended by SIGKILL")
    assert len(died["trajectory"]["y"]) == 7
    assert died["trajectory"]["x"][:5] == done["trajectory"]["x"][:5]
    assert done["machine"]["threads"] == 1
    assert done["suite"] == "neural-cbo-smoke"
    assert wanted[1].path == (
        tmp_path / "neural-cbo-smoke" / "branin-disk" / "random" / "0.json"
    )
    assert not hidden(tmp_path)
    assert unsettled(wanted) == [wanted[0]]
    stale = jobs("random", noise="sd:0.01")
    assert unsettled(stale) == stale
    wanted[1].path.write_text(wanted[1].path.read_text()[:-9])
    assert unsettled(wanted) == wanted  # a damaged record does not count


def test_a_hanging_run_is_ended_and_keeps_what_was_done(jobs, monkeypatch, tmp_path):
    (job,) = jobs(f"{CENTER}[ending=hang]", max_seconds=1000.0)

    def clock():  # time flies once the run hangs
        lines = job.journal.read_text() if job.journal.exists() else ""
        return 1e9 if lines.count("\n") == 8 else 0.0

    fake = SimpleNamespace(monotonic=clock, sleep=time.sleep)
    monkeypatch.setattr(runner, "time", fake)
    assert run_jobs([job]) == {"timeout": 1}
    record = load(job.path)
    assert (record["status"], record["n_done"]) == ("timeout", 7)
    assert not hidden(tmp_path)
    assert unsettled([job]) == []


def test_an_interrupt_ends_the_children_without_a_trace(jobs, tmp_path):
    first, second = jobs(f"{CENTER}[ending=hang]", "random")
    processes = []

    def interrupt(job):
        if job is second:
            processes.extend(children())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs([first, second], 2, on_start=interrupt)
    assert len(processes) == 1
    assert not [process for process in processes if process.is_running()]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert unsettled([first, second]) == [first, second]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_run_outlives_its_runner(jobs, number):
    psutil = pytest.importorskip("psutil")
    (job,) = jobs(f"{CENTER}[ending=hang]")
    code = f"""
from pathlib import Path
from wideopt.bench import child
child.start({job.to_json()!r}, Path({str(job.log)!r})).join()
"""
    job.path.parent.mkdir(parents=True)
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        (run,) = children(psutil.Process(process.pid))
        process.send_signal(number)
        run.wait(timeout=60)
    finally:
        process.kill()
        process.wait()


def children(parent=None):
    """The processes of runs, each the leader of its session, once there is one."""
    psutil = pytest.importorskip("psutil")
    for _ in range(400):
        everyone = (parent or psutil.Process()).children(recursive=True)
        leaders = [child for child in everyone if child.pid == os.getsid(child.pid)]
        if leaders:
            return leaders
        time.sleep(0.05)
    return []


def test_a_child_that_cannot_start_is_a_failed_run(jobs, monkeypatch):
    (job,) = jobs("random")
    monkeypatch.setattr(runner.Job, "to_json", lambda self: "{")
    assert run_jobs([job]) == {"failed": 1}
    record = load(job.path)
    assert record["n_done"] == 0
    assert "JSONDecodeError" in record["error"]


@pytest.mark.skipif(os.name != "posix", reason="there is no server to kill")
def test_a_killed_server_starts_again(jobs):
    first, second = jobs("random"), jobs("random", noise="sd:0.01")
    assert run_jobs(first) == {"complete": 1}
    pid = forkserver._forkserver._forkserver_pid
    os.kill(pid, signal.SIGSTOP)  # so that the next run is being asked for as it dies
    threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
    assert run_jobs(second) == {"complete": 1}
    assert forkserver._forkserver._forkserver_pid != pid


@pytest.mark.parametrize("n_refused", [2, 99])
def test_a_server_that_is_leaving_is_waited_for(n_refused, monkeypatch, tmp_path):
    pauses = []

    def started(args):
        if len(pauses) < n_refused:
            raise ConnectionRefusedError
        return current_process()

    monkeypatch.setattr(child, "_started", started)
    monkeypatch.setattr(child.time, "sleep", pauses.append)
    if n_refused == 2:
        assert child.start("{}", tmp_path / "log") is current_process()
        assert len(pauses) == 2
    else:
        with pytest.raises(ConnectionRefusedError):
            child.start("{}", tmp_path / "log")
        assert sum(pauses) > 10


def test_seeds_come_first(jobs, tmp_path):
    suite = bench.get("neural-cbo")
    made = jobs_of(suite, [parse("random")], range(2), tmp_path, is_smoke=True)
    assert [job.seed for job in made] == [0, 0, 0, 1, 1, 1]


def test_unknown_tasks_are_named(jobs):
    with pytest.raises(InputError, match="did you mean branin-disk"):
        jobs("random", tasks=["branin"])
