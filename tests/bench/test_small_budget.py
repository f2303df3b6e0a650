"""`benchmarks/small_budget.py`."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "small_budget.py"


@pytest.fixture
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize(
    ("d", "n_evals", "sizes"),
    [(8, 24, [16, 12, 8, 6]), (8, 12, [12, 6, 5, 5]), (2, 8, [5, 5, 5, 5])],
)
def test_designs(script, d, n_evals, sizes):
    assert script["designs"](d, n_evals) == sizes


@pytest.mark.slow
def test_a_line_for_every_design(script, capsys):
    script["main"](["--budgets", "2:6", "--seeds", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 dimensions, 6 evaluations, 13 functions"
    assert [line.split(":")[0] for line in lines[1:]] == ["  design of  5"] * 4
    assert all("p 1" in line for line in lines[1:])  # they are all the same
