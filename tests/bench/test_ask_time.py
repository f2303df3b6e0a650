"""`benchmarks/ask_time.py` measures, resumes and writes up."""

import json
import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "ask_time.py"


@pytest.fixture
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def call(script, tmp_path):
    def run(*methods, seconds="120"):
        folders = ["--results", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
        size = ["--n", "8", "--dim", "2", "--asks", "1", "--max-seconds", seconds]
        script["main"](["--methods", *methods, *size, *folders])

    return run


@pytest.mark.slow
def test_measurements_are_made_once_and_written_up(call, tmp_path, capsys):
    call("random", "no-such-method")
    assert "skipped: There is no method 'no-such-method'" in capsys.readouterr().err
    path = tmp_path / "in" / "ask-time" / "levy-2" / "random" / "8.json"
    record = json.loads(path.read_text())
    assert record["status"] == "complete"
    assert len(record["ask_cpu"]) == len(record["tell_cpu"]) == 2
    assert record["memory_mb"]["peak"] >= record["memory_mb"]["baseline"] > 0
    record["ask_cpu"][0] = 123.0
    path.write_text(json.dumps(record))
    call("random")
    page = (tmp_path / "out" / "ask-time-levy-2.md").read_text()
    assert "| random | 123 |" in page
    assert (tmp_path / "out" / "ask-time-levy-2" / "memory.png").exists()


def test_what_takes_too_long_is_stopped_and_said(call, tmp_path):
    call("random", seconds="0.01")
    page = (tmp_path / "out" / "ask-time-levy-2.md").read_text()
    assert "| random | timeout |" in page


def test_peers_are_told_the_same_points(script):
    own = script["measure"]("random", 2, 6, 1)
    peer = script["measure"]("peer:optuna-tpe", 2, 6, 1)
    assert own["memory_mb"].keys() == peer["memory_mb"].keys()
    assert "optuna" in peer["versions"]
