"""Tables of a report: what is said of tests, either way."""

import dataclasses

import numpy as np

from wideopt.bench.stats import benjamini_hochberg
from wideopt.bench.tables import pace_table, verdicts


def test_verdicts_say_ahead_behind_or_neither():
    p = np.array([[0.001, 0.4, np.nan], [0.999, 0.03, 0.97]])
    assert verdicts(p) == [
        ["(0.001, T)", "(0.4, F)", "-"],
        ["(0.999, B)", "(0.03, F)", "(0.97, F)"],
    ]


def test_verdicts_turn_around_with_the_tests():
    p = np.random.default_rng(0).random((5, 4)) ** 3
    there, back = verdicts(p), verdicts(1 - p)
    swapped = {"T": "B", "B": "T", "F": "F"}
    for row, other in zip(there, back, strict=True):
        said = [(a[-2], b[-2]) for a, b in zip(row, other, strict=True)]
        assert all(swapped[a] == b for a, b in said)
    n_ahead = sum(cell.endswith("T)") for row in there for cell in row)
    assert n_ahead == (benjamini_hochberg(p.ravel()) <= 0.05).sum() > 0


def test_no_tests_no_cells():
    assert verdicts(np.zeros((1, 0))) == [[]]


def test_pace_by_hand(make_run):
    quick = [make_run([1.0] * 5, method="a", seed=s) for s in range(3)]
    slow = [
        dataclasses.replace(run, method="b", suggest_cpu=4.0 * run.suggest_cpu + s)
        for s, run in enumerate(quick[:2])
    ]
    lines = pace_table([*quick, *slow], "a").splitlines()

    assert lines[2] == "| a | 2 | - |"  # of 0, 1, 2, 3, 4
    assert lines[3] == "| b | 8.5 | 0.236 (2) |"  # 2/8 and 2/9


def test_pace_without_the_design_and_without_the_reference(make_run):
    runs = [make_run([1.0] * 5, method=m, n_init=n) for m, n in (("a", 3), ("b", 5))]
    lines = pace_table(runs, "c").splitlines()

    assert lines[2] == "| a | 3.5 | - |"
    assert lines[3] == "| b | - | - |"  # nothing but its design
