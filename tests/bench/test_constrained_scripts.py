"""`benchmarks/constrained_ask_time.py` and `benchmarks/infeasible.py`."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from wideopt import bench
from wideopt.bench.record import record_path, save
from wideopt.bench.single import run_one

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def ask_time(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "constrained_ask_time.py"))


@pytest.fixture
def infeasible():
    return runpy.run_path(str(FOLDER / "infeasible.py"))


@pytest.mark.slow
def test_ratios_are_measured_once_and_printed(ask_time, tmp_path, capsys):
    size = ["--n", "8", "--k", "2", "1", "--asks", "1", "--methods", "random"]
    call = [*size, "--results", str(tmp_path)]
    ask_time["main"](call)
    assert "random, n = 8: K = 2 takes " in capsys.readouterr().out
    folder = tmp_path / "constrained-ask-time" / "random"
    for k, seconds in ((1, 2.0), (2, 3.0)):
        path = folder / f"8-{k}.json"
        record = json.loads(path.read_text())
        assert record["status"] == "complete"
        assert record["job"]["k"] == k
        record |= {"ask_cpu": [9.0, seconds], "tell_cpu": [0.0, 0.0]}
        path.write_text(json.dumps(record))
    ask_time["main"](call)
    assert "K = 2 takes 1.50 times K = 1" in capsys.readouterr().out


def test_what_takes_too_long_is_said(ask_time, tmp_path, capsys):
    size = ["--n", "8", "--k", "1", "2", "--asks", "1", "--methods", "random"]
    ask_time["main"]([*size, "--max-seconds", "0.01", "--results", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.count("timeout") == 2
    assert "times" not in printed


@pytest.mark.parametrize("k", [1, 11])
def test_most_points_are_outside_of_the_balls(ask_time, k):
    task = ask_time["task"](k, 10)
    X = np.random.default_rng(0).uniform(size=(500, 6))
    C = np.array([task.truth(x)[1] for x in X])
    assert C.shape == (500, k)
    assert (C <= 0).all(axis=1).mean() > 0.85
    assert (C > 0).any()


def test_the_disks_do_not_meet(infeasible):
    axis = np.linspace(0, 1, 41)
    C = np.array([infeasible["disks"](np.array([a, b]))[1] for a in axis for b in axis])
    assert (C <= 0).any(axis=0).all()  # each can be fulfilled
    assert not (C <= 0).all(axis=1).any()


@pytest.mark.slow
def test_infeasibility_is_recognized_and_resumed(infeasible, tmp_path, capsys):
    quick = "neural-cbo[activation=erf,n_candidates=64,n_restarts=1]"
    call = ["--methods", quick, "random", "--seeds", "1", "--n-evals", "26"]
    call += ["--results", str(tmp_path)]
    infeasible["main"](call)
    printed = capsys.readouterr().out
    assert f"{quick}: 1 of 1 seeds within 26, 1 still say so in the end" in printed
    assert "random: 0 of 1 seeds" in printed
    assert "There are no records with messages" in printed
    (path,) = tmp_path.glob("infeasible/two-disks/neural-cbo*/0.json")
    stamp = path.stat().st_mtime_ns
    infeasible["main"](call)
    assert capsys.readouterr().out == printed
    assert path.stat().st_mtime_ns == stamp


def test_false_declarations_are_counted(infeasible, tmp_path, capsys):
    task = bench.get("neural-cbo").task("branin-disk", is_smoke=True)
    for seed, messages in enumerate(([], [[6, "No point looks feasible."]], None)):
        record = run_one("random", task, seed, suite="neural-cbo")
        record["messages"] = messages
        if messages is None:  # as of an older version
            del record["messages"]
        where = "neural-cbo", task.name, bench.parse("random"), seed
        save(record, record_path(tmp_path, *where))
    infeasible["wrongly_declared"](tmp_path)
    printed = capsys.readouterr().out
    assert "branin-disk, random: 1 of 2 called infeasible" in printed
    assert "random: 1 of 2 runs of feasible problems called infeasible" in printed
