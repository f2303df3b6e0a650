"""Tables of a report: what is said of tests, either way."""

import numpy as np

from wideopt.bench.stats import benjamini_hochberg
from wideopt.bench.tables import verdicts


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
