import difflib

import numpy as np
import pytest

from wideopt import problems
from wideopt.exceptions import InputError
from wideopt.problems import Problem


def test_name_with_dimension_equals_name_and_dimension():
    assert problems.get("ackley", dim=10) == problems.get("ackley-10")
    assert problems.get("ackley-10").dim == 10
    assert problems.get("ackley-10") != problems.get("ackley-11")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("name", "dim", "full"),
    [
        ("ackley-10", 10, "ackley-10"),
        ("ackley-D", 3, "ackley-3"),
        ("Styblinski_Tang", np.int64(4), "styblinski-tang-4"),
        ("branin", 2, "branin"),
        ("branin-2", None, "branin"),
        ("hartmann", 6, "hartmann-6"),
        ("hartmann-3", 3, "hartmann-3"),
        ("go-ucb-f1-20", None, "go-ucb-f1-20"),
        ("ackley-constrained", 5, "ackley-constrained"),
    ],
)
def test_spellings(name, dim, full):
    assert problems.get(name, dim).name == full


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("ackly-10", "'ackley-10'"),
        ("michalewics", "'michalewicz-D'"),
        ("brannin", "'branin'"),
        ("hartmann", "'hartmann-6'"),
        ("speedreducer", "'speed-reducer'"),
    ],
)
def test_unknown_names_suggest_the_nearest(name, nearest):
    with pytest.raises(InputError, match=f"no problem '{name}'; did you mean") as info:
        problems.get(name)
    assert nearest in str(info.value)


def test_unknown_name_without_a_neighbor():
    with pytest.raises(InputError, match="lists them all"):
        problems.get("qqqq")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("name", "dim", "message"),
    [
        ("ackley", None, "needs a dimension; write 'ackley-10'"),
        ("ackley-D", None, "needs a dimension"),
        ("ackley-10", 5, "contradict"),
        ("ackley", 2.5, "integer"),
        ("ackley-0", None, "at least 1"),
        ("ackley", -3, "at least 1"),
        ("rosenbrock-1", None, "at least 2"),
        ("branin", 3, "has the dimension 2, not 3"),
        ("speed-reducer-6", None, "has the dimension 7, not 6"),
    ],
)
def test_bad_dimensions(name, dim, message):
    with pytest.raises(InputError, match=message):
        problems.get(name, dim)


def test_names_lists_every_problem_once():
    titles = problems.names()
    assert len(titles) == 30
    assert list(titles) == sorted(titles)
    for name, title in titles.items():
        problem = problems.get(name.replace("-D", "-5"))
        assert isinstance(problem, Problem)
        assert problem.title == title
        assert "\n" not in title
        assert len(title) < 70


def test_names_are_told_apart_easily():
    for name in problems.names():
        others = [other for other in problems.names() if other != name]
        assert not difflib.get_close_matches(name, others, cutoff=0.95)


def test_names_is_a_copy():
    problems.names().clear()
    assert problems.names()
