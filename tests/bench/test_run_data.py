import numpy as np
import pytest

from wideopt.bench.figures import times
from wideopt.bench.run_data import padded
from wideopt.bench.tables import scores
from wideopt.bench.targets import TARGETS, fraction_solved

INF = np.inf


def test_curves_by_hand(make_run):
    Y = [5.0, 1.0, 3.0, -1.0, 2.0]
    C = [[1.0, -1.0], [2.0, 3.0], [-1.0, 0.0], [0.1, 0.0], [0.0, -2.0]]
    run = make_run(Y, C, optimum=1.0)
    assert list(run.violation) == [1.0, 5.0, 0.0, 0.1, 0.0]
    assert list(run.gap) == [INF, INF, 2.0, 2.0, 1.0]
    assert list(run.scaled_gap) == [INF, INF, 0.2, 0.2, 0.1]
    assert list(run.positive_regret) == [4.0, 0.0, 2.0, 0.0, 1.0]
    expected = np.log10([5.0, 5.0, 2.0, 0.1, 0.1])
    assert run.headline == pytest.approx(expected)  # credits the infeasible fourth
    assert list(run.cumulative_regret) == [4.0, 4.0, 6.0, 6.0, 7.0]
    assert run.cumulative_violation == pytest.approx([1.0, 6.0, 6.0, 6.1, 6.1])
    assert run.rank_key == (0, 1.0)


def test_missing_values_are_never_good(make_run):
    run = make_run([np.nan, 3.0], [[-1.0], [np.nan]])
    assert list(run.gap) == [INF, INF]
    assert run.rank_key == (1, 0.0)
    assert make_run([2.0], [[3.0]]).rank_key == (1, 3.0)
    assert make_run([]).rank_key == (2, 0.0)


def test_optimum_reached_has_a_finite_logarithm(make_run):
    run = make_run([0.0], [[-1.0]])
    assert run.headline[-1] == run.log_scaled_gap[-1] == -16


def test_padded_runs_stay_where_they_stopped():
    rows = padded([np.array([3.0, 1.0]), np.array([])], 4)
    assert rows.tolist() == [[3.0, 1.0, 1.0, 1.0], [INF] * 4]


def test_scores_of_infeasible_runs_are_the_worst_of_the_task(make_run):
    runs = {
        "good": [make_run([1.0], [[-1.0]]), make_run([1.0], [[1.0]])],
        "bad": [make_run([200.0], [[-1.0]])],
    }
    worst = np.log10(20.0)
    found = scores(runs, "log_scaled_gap")
    assert found["good"] == pytest.approx([-1.0, worst])
    assert found["bad"] == pytest.approx([worst])


def test_times_leave_out_the_design(make_run):
    n, seconds = times([make_run([1.0] * 5, n_init=2), make_run([1.0] * 4, n_init=2)])
    assert n.tolist() == [2, 3, 4]
    assert seconds.tolist() == [2.0, 3.0, 4.0]


def test_fraction_of_targets_by_brute_force(make_run):
    assert len(TARGETS) == 51
    assert TARGETS[0] == 100
    assert TARGETS[-1] == pytest.approx(1e-8)
    runs = [make_run([50.0, 2.0, 3.0, 1e-9], n_evals=4), make_run([1e3, 0.5])]
    best = [[50.0, 2.0, 2.0, 1e-9], [1e3, 0.5, 0.5, 0.5]]
    for t in range(4):
        solved = sum(row[t] <= target for row in best for target in TARGETS)
        assert fraction_solved(runs, 4)[t] == pytest.approx(solved / 102)
