"""The report of constrained problems, against values by hand."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from wideopt.bench.constrained import (
    constrained_section,
    feasibility_section,
    first_feasible,
    n_declared_infeasible,
)
from wideopt.bench.figures import _draw_curves
from wideopt.bench.record import assemble
from wideopt.methods.feasibility import NO_POINT


@pytest.fixture
def runs(make_run):
    """Two methods of one task: `a` has feasible points in both seeds, `b` in none."""
    return [
        make_run([5.0, 2.0, 1.0], [[1.0], [-1.0], [-1.0]], method="a", n_init=1),
        make_run([5.0, 4.0, 3.0], [[1.0], [1.0], [-1.0]], method="a", seed=1, n_init=1),
        make_run([0.0, -1.0, 2.0], [[0.01], [2.0], [1.0]], method="b", n_init=1),
    ]


def rows(text, title):
    """The cells of the table below a title."""
    part = text.split(f"### {title}")[1].split("\n###")[0]
    lines = [line for line in part.splitlines() if line.startswith("| t ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_first_feasible_evaluation(runs):
    assert [first_feasible(run) for run in runs] == [2, 3, np.inf]


def test_tables_by_hand(runs, tmp_path):
    text = constrained_section(runs, tmp_path)
    assert rows(text, "Feasible points") == [["t", "2/2, 2.5", "0/1, -"]]
    # the range is 10, the median of 1 and 3 is 2
    assert rows(text, "Best feasible regret") == [["t", "0.2 (2)", "- (-)"]]
    # log10 of 1 and of 3; for b the violation 0.01 at a regret of 0
    headline = f"{np.log10(3) / 2:.3g}"
    assert rows(text, "Best positive regret") == [["t", headline, "-2"]]
    assert rows(text, "Cumulative") == [["t", "10; 1.5", "2; 3.01"]]
    # seconds are 0, 1, 2, the first of them of the initial design; on the wall twice
    expected = "1.5 ± 0 (3 ± 0; 6 ± 0)"
    assert rows(text, "Time") == [["t", expected, expected]]


def test_the_headline_credits_what_the_feasible_regret_does_not(runs, tmp_path):
    """An infeasible method leads by the one and has nothing by the other."""
    text = constrained_section(runs, tmp_path)
    a, b = rows(text, "Best positive regret")[0][1:]
    assert float(b) < float(a)
    assert rows(text, "Best feasible regret")[0][2] == "- (-)"


def test_figures_of_the_paper_are_linked_and_drawn(runs, tmp_path):
    text = constrained_section(runs, tmp_path)
    for number in (2, 4, 5, 6):
        assert f"(000, figure {number})](" in text
    names = {path.name for path in tmp_path.glob("constrained-*.png")}
    assert len(names) == 4
    assert all(f"{tmp_path.name}/{name}" in text for name in names)


def test_a_method_has_one_color_also_where_others_have_no_run(runs):
    (both, alone) = Figure().subplots(1, 2)
    _draw_curves(both, runs, "headline", ["a", "b"])
    _draw_curves(alone, runs[2:], "headline", ["a", "b"])
    assert [line.get_label() for line in both.lines] == ["a", "b"]
    assert alone.lines[0].get_color() == both.lines[1].get_color()
    assert both.lines[0].get_color() != both.lines[1].get_color()


def test_runs_without_constraints_or_evaluations(make_run, tmp_path, runs):
    more = [make_run([1.0], method="free"), make_run([], np.zeros((0, 1)), method="c")]
    text = constrained_section([*runs, *more], tmp_path)
    assert "free" not in text
    assert rows(text, "Feasible points")[0][3] == "0/1, -"
    assert rows(text, "Time")[0][3] == "-"


def test_false_declarations_are_told(make_run, tmp_path):
    C = [[1.0], [-1.0]]
    known = make_run([1.0, 2.0], C)
    said = make_run([1.0, 2.0], C, seed=1)
    said.info["messages"] = [[1, NO_POINT], [2, ""]]
    other = make_run([1.0, 2.0], C, seed=2)
    other.info["messages"] = [[1, "No candidate is within the bounds."]]
    assert n_declared_infeasible([known, said, other]) == 1
    assert "- t, m: 1 of 2 runs" in constrained_section([known, said], tmp_path)
    assert "called infeasible\n\nNone." in constrained_section([known], tmp_path)
    hopeless = make_run([1.0], [[1.0]], optimum=None)
    hopeless.info["messages"] = [[1, NO_POINT]]
    assert "called infeasible\n\nNone." in constrained_section([hopeless], tmp_path)


def test_values_without_a_known_optimum(make_run):
    runs = [make_run([-3.0, -9.0], [[-1.0], [1.0]], optimum=None)]
    text = feasibility_section(runs)
    assert "| t | 1/1, 1 |" in text
    assert "| t | -3 |" in text


def test_messages_are_kept_where_they_change():
    cost = dict.fromkeys(("ask_cpu", "ask_wall", "tell_cpu", "tell_wall"), 0.0)
    values = {"x": [0.0], "y": 1.0, "c": [1.0], "y_observed": 1.0, "c_observed": [1.0]}
    step = {**cost, **values, "memory_mb": 1.0}
    texts = ["", "A", "A", "B", ""]
    steps = [{**step, "message": text} for text in texts]
    head = {"memory_mb": {"baseline": 1.0}}
    record = assemble(head, steps, "complete")
    assert record["messages"] == [[1, "A"], [3, "B"], [4, ""]]
    assert assemble(head, [step], "complete")["messages"] == []  # an older journal
