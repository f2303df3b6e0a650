"""Killed at any moment: nothing told is lost, and the points are the same."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

import wideopt as wo
from tests.run import lives
from tests.run.objectives import BOX, CutAt, bowl, constrained

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}


def live(*args):
    """What the program of forks prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.lives", *map(str, args)],
        env=ENV,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_kills(sqlite, log, n_kills, n_evals, method):
    """Kill a run, again and again, and compare its end with the unbroken run."""
    ends = live("kills", sqlite, log, n_kills, n_evals, method)
    assert ends["last"] == 0
    assert ends["ended"] < n_kills / 2  # most kills came in the middle of the run
    whole = lives.run(None, constrained, n_evals, method)
    resumed = lives.run(sqlite, CutAt(1, AssertionError), n_evals, method)
    assert [list(t.x) for t in resumed.history] == [list(t.x) for t in whole.history]
    assert [t.y for t in resumed.history] == [t.y for t in whole.history]
    assert resumed.n_failed == 0
    starts = [line.split()[2:] for line in lives.lines(log) if line.startswith("start")]
    assert len({tuple(x) for x in starts}) == n_evals
    assert n_evals < len(starts) <= n_evals + n_kills


def test_ten_kills(sqlite, tmp_path):
    check_kills(sqlite, tmp_path / "log", 10, 40, "random")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "gp-ei"])
def test_fifty_kills(sqlite, tmp_path, method):
    check_kills(sqlite, tmp_path / "log", 50, 300 if method == "random" else 60, method)


def test_an_evaluation_that_kills_the_process_twice_has_failed(sqlite, tmp_path):
    script = tmp_path / "killer.py"
    script.write_text(
        f"""
import os, signal, sys
import wideopt as wo

wo.minimize  # loads torch, once

def fun(x):
    if x[0] > 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return x[0] ** 2

for _ in range(20):  # as a shell would start it again and again
    pid = os.fork()
    if pid == 0:
        wo.minimize(fun, [(-1, 1)], method="random", n_evals=6, seed=0,
                    storage={sqlite!r})
        os._exit(0)
    if os.waitpid(pid, 0)[1] == 0:
        break
"""
    )
    subprocess.run([sys.executable, script], env=ENV, cwd=ROOT, check=True)
    result = wo.minimize(
        bowl, [(-1, 1)], method="random", n_evals=6, seed=0, storage=sqlite
    )
    assert result.n_evals == 6
    for trial in result.history:
        assert (trial.state == "failed") == (trial.x[0] > 0)
    assert 0 < result.n_failed < 6
    assert "ended 2 times" in result.message


def test_ctrl_c_twice_in_one_evaluation_is_no_failure(sqlite):
    settings = {"method": "random", "n_evals": 3, "seed": 0, "storage": sqlite}
    for _ in range(3):
        wo.minimize(CutAt(1), BOX, **settings)
    result = wo.minimize(bowl, BOX, **settings)
    assert (result.n_evals, result.n_failed) == (3, 0)


def damaged(path, how):
    data = path.read_bytes()
    if how == "torn":
        path.write_bytes(data[: len(data) // 2 + 100])
    elif how == "scribbled":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + b"\xff" * 4096 + data[middle + 4096 :])
    else:
        path.unlink()
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE theirs (a INTEGER)")
        connection.close()


@pytest.mark.parametrize("how", ["torn", "scribbled", "foreign"])
def test_a_damaged_or_foreign_file_is_left_untouched(how, sqlite, tmp_path):
    settings = {"method": "random", "seed": 0, "storage": sqlite}
    wo.minimize(constrained, BOX, n_evals=5, **settings)
    path = tmp_path / "run.db"
    damaged(path, how)
    before = path.read_bytes()
    with pytest.raises(wo.StorageError) as caught:
        wo.minimize(CutAt(1, AssertionError), BOX, n_evals=9, **settings)
    assert str(caught.value).endswith(".")
    assert "run.db" in str(caught.value)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


def test_a_storage_that_goes_away(sqlite, tmp_path):
    def fun(x):
        shutil.copy(tmp_path / "run.db", tmp_path / "saved.db")
        (tmp_path / "run.db").write_bytes(b"gone" * 5000)
        return 1.0

    with pytest.raises(wo.StorageError, match="failed"):
        wo.minimize(fun, BOX, method="random", n_evals=3, seed=0, storage=sqlite)
    study = optuna.load_study(
        study_name="wideopt", storage=f"sqlite:///{tmp_path / 'saved.db'}"
    )
    assert len(study.trials) == 1
