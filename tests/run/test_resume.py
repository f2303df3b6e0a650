"""A run that was stopped, interrupted or killed goes on as if it had not been."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import optuna
import pytest

import wideopt as wo
from tests.run.objectives import BOX, QUICK, CutAt, bowl, constrained

ROOT = Path(__file__).parents[2]


def points(result):
    return [list(trial.x) for trial in result.history]


def run(fun, storage=None, **settings):
    options = {"n_init": 3}
    if settings.get("method", "gp-ei") == "gp-ei":
        options |= QUICK
    defaults = {"method": "gp-ei", "n_evals": 6, "seed": 5, "options": options}
    return wo.minimize(fun, BOX, storage=storage, **(defaults | settings))


@pytest.fixture(scope="module")
def unbroken():
    return run(constrained)


def test_more_evaluations_continue_the_same_run(sqlite, unbroken):
    first = run(constrained, sqlite, n_evals=4)
    assert first.n_evals == 4
    second = run(constrained, sqlite, n_evals=6)
    assert points(second) == points(unbroken)
    assert [t.y for t in second.history] == [t.y for t in unbroken.history]
    assert [t.c for t in second.history] == [t.c for t in unbroken.history]


def test_six_then_four_are_ten(sqlite):
    whole = run(bowl, method="random", n_evals=10)
    run(bowl, sqlite, method="random", n_evals=6)
    assert points(run(bowl, sqlite, method="random", n_evals=10)) == points(whole)


def test_nothing_is_evaluated_when_the_budget_is_spent(sqlite):
    run(bowl, sqlite, method="random")
    again = run(CutAt(1, AssertionError), sqlite, method="random")
    assert again.n_evals == 6
    assert again.n_failed == 0


def test_interrupted_in_flight(sqlite, unbroken):
    cut = run(CutAt(5, fun=constrained), sqlite)
    assert cut.n_evals == 4
    assert "interrupted after 4" in cut.message
    states = [t.state for t in cut.study.trials]
    assert states.count(optuna.trial.TrialState.RUNNING) == 1
    resumed = run(constrained, sqlite)
    assert points(resumed) == points(unbroken)
    assert all(t.state.is_finished() for t in resumed.study.trials)


def test_interrupted_in_the_first_evaluation(sqlite, unbroken):
    cut = run(CutAt(1), sqlite)
    assert cut.x is None
    assert points(run(constrained, sqlite)) == points(unbroken)


def test_failures_are_remembered(sqlite):
    def half(x):
        if x[0] > 0:
            raise ArithmeticError("too far right")
        return bowl(x)

    whole = run(half, n_evals=5)
    run(half, sqlite, n_evals=3)
    resumed = run(half, sqlite, n_evals=5)
    assert points(resumed) == points(whole)
    assert [t.error for t in resumed.history] == [t.error for t in whole.history]
    assert resumed.n_failed == whole.n_failed > 0


def test_missing_constraints_are_remembered(sqlite):
    def patchy(x):
        return bowl(x), [float("nan") if x[0] > 0 else -1.0]

    first = run(patchy, sqlite, method="random", n_evals=4)
    again = run(patchy, sqlite, method="random", n_evals=4)
    assert repr(again.history) == repr(first.history)
    assert any(t.c != t.c or t.c[0] != t.c[0] for t in again.history)


def test_mixed_space(sqlite):
    space = {
        "a": wo.Real(1e-3, 1, log=True),
        "b": wo.Integer(1, 100, log=True),
        "c": wo.Categorical(["x", None, True]),
        "d": wo.Categorical([1, 2.5]),
    }

    def fun(x):
        return x["a"] + x["b"] + (x["c"] is None) + x["d"]

    settings = {"method": "gp-ei", "n_init": 3, "seed": 0, "options": QUICK}
    whole = wo.minimize(fun, space, n_evals=5, **settings)
    wo.minimize(fun, space, n_evals=4, storage=sqlite, **settings)
    resumed = wo.minimize(fun, space, n_evals=5, storage=sqlite, **settings)
    assert [t.x for t in resumed.history] == [t.x for t in whole.history]


def test_killed_with_sigkill(sqlite, unbroken, tmp_path):
    script = tmp_path / "slow.py"
    flag = tmp_path / "fifth"
    script.write_text(
        f"""
import time
from pathlib import Path
from tests.run.objectives import BOX, QUICK, constrained
import wideopt as wo

calls = 0

def slow(x):
    global calls
    calls += 1
    if calls == 5:
        Path({str(flag)!r}).touch()
        time.sleep(600)
    return constrained(x)

wo.minimize(slow, BOX, method="gp-ei", n_evals=6, seed=5, storage={sqlite!r},
            options={{"n_init": 3}} | QUICK)
"""
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, script], env=env)
    try:
        while not flag.exists():
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    resumed = run(constrained, sqlite)
    assert points(resumed) == points(unbroken)


def test_another_method_takes_the_data_over(sqlite):
    run(bowl, sqlite, method="random", n_evals=5)
    result = run(bowl, sqlite, method="gp-ei", n_evals=6)
    assert result.method == "gp-ei"
    assert result.n_evals == 6


def test_another_seed_is_ignored_with_a_warning(sqlite):
    run(bowl, sqlite, method="random", n_evals=3)
    whole = run(bowl, method="random", n_evals=5)
    with pytest.warns(wo.WideoptWarning, match="seed 6 is ignored"):
        resumed = run(bowl, sqlite, method="random", n_evals=5, seed=6)
    assert points(resumed) == points(whole)


def test_studies_side_by_side(sqlite):
    one = run(bowl, sqlite, method="random", study_name="one", seed=1)
    two = run(bowl, sqlite, method="random", study_name="two", seed=2)
    assert points(one) != points(two)
    assert set(optuna.get_all_study_names(sqlite)) == {"one", "two"}


def test_maximize_resumes(sqlite):
    def settings(n):
        return {"method": "random", "n_evals": n, "seed": 0, "storage": sqlite}

    first = wo.maximize(bowl, BOX, **settings(4))
    second = wo.maximize(bowl, BOX, **settings(6))
    assert [t.y for t in second.history[:4]] == [t.y for t in first.history]
    assert second.fun == max(t.y for t in second.history)
    assert second.study.best_value == second.fun
