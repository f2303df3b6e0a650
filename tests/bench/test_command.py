import subprocess
import sys

import pytest
from typer.testing import CliRunner

from wideopt.cli._main import app
from wideopt.exceptions import InputError

# Typer calls a callback with None for a flag that is not given.
pytestmark = pytest.mark.usefixtures("unchecked")


def call(*args):
    return CliRunner().invoke(app, ["bench", *args])


def test_a_suite_is_run_once_and_reported(tmp_path):
    results, out = str(tmp_path / "results"), str(tmp_path / "out")
    args = ["neural-cbo", "--smoke", "--methods", "random", "--tasks", "branin-disk"]
    args += ["--seeds", "1", "--results", results]
    first = call(*args)
    assert first.exit_code == 0, first.output
    assert "1 runs, 0 recorded before" in first.output
    assert "1 complete" in first.output
    again = call("run", *args)
    assert "1 runs, 1 recorded before" in again.output
    report = call("report", "neural-cbo", "--smoke", "--results", results, "-o", out)
    assert report.exit_code == 0, report.output
    assert (tmp_path / "out" / "neural-cbo-smoke.md").exists()
    assert call("report", "--results", results, "-o", out).exit_code == 0


def test_list():
    output = call("list").output
    assert "neural-bo-synthetic" in output
    assert "peer:optuna-gp" in output


def test_mistakes_are_named(tmp_path):
    for args, word in (
        (["nothing"], "There is no suite"),
        (["coco", "--methods", "gp-e"], "did you mean gp-ei"),
        (["coco", "--methods", "random", "--tasks", "f1"], "no task"),
        (["report", "--results", str(tmp_path)], "no records"),
    ):
        failed = call(*args)
        assert isinstance(failed.exception, InputError)
        assert word in str(failed.exception)


def test_help_is_light():
    code = "import sys, wideopt.cli; assert not {'torch', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "--max-seconds" in call("run", "--help").output
