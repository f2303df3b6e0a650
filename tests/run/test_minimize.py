"""`minimize`: what it calls, counts, stores, survives and gives back."""

import math
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import optuna
import pytest

import wideopt as wo
from tests.run.objectives import BOX, CutAt, bowl, constrained, killed_on_the_right


def random(fun, space=BOX, **settings):
    defaults = {"method": "random", "n_evals": 8, "seed": 3}
    return wo.minimize(fun, space, **(defaults | settings))


def test_result(capsys):
    result = random(bowl)
    assert result.fun == min(bowl(t.x) for t in result.history) == bowl(result.x)
    assert result.feasible
    assert result.constraints is None
    assert (result.n_evals, len(result.history)) == (8, 8)
    assert result.method == "random"
    assert isinstance(result.study, optuna.Study)
    for trial in result.history:
        assert (trial.state, trial.c, trial.error) == ("complete", None, None)
        assert trial.seconds >= 0
    assert capsys.readouterr() == ("", "")  # nothing on screen, no bar


def test_the_function_cannot_change_the_record():
    def vandal(x):
        y = bowl(x)
        x[:] = 99.0
        return y

    result = random(vandal)
    assert [list(t.x) for t in result.history] == [
        list(t.x) for t in random(bowl).history
    ]


def test_constraints_are_inferred():
    result = random(constrained, n_evals=12)
    assert len(result.constraints) == 2
    feasible = [t for t in result.history if max(t.c) <= 0]
    assert result.feasible
    assert result.fun == min(t.y for t in feasible)
    assert [t.is_feasible for t in result.history] == [
        max(t.c) <= 0 for t in result.history
    ]


def test_constraints_are_inferred_after_failures():
    def fun(x):
        return constrained(x) if x[0] < 0 else math.nan

    result = random(fun, n_evals=12)
    assert 0 < result.n_failed < 12
    assert len(result.constraints) == 2


@pytest.mark.parametrize(
    "form",
    [
        lambda y, c: (np.float32(y), np.array(c)),
        lambda y, c: [np.array(y), tuple(c)],
        lambda y, c: (np.array([y]), c),
        lambda y, c: (y, c[0]),
    ],
)
def test_forms_of_an_outcome(form):
    result = random(lambda x: form(*constrained(x)), n_evals=4)
    assert result.n_failed == 0
    assert len(result.constraints) in (1, 2)


def test_no_feasible_point():
    result = random(lambda x: (bowl(x), [1.0 + x[0] ** 2]))
    assert not result.feasible
    assert result.constraints[0] == min(t.c[0] for t in result.history)


@pytest.mark.parametrize(
    "bad",
    [
        ZeroDivisionError("by zero"),
        SystemExit(3),
        math.nan,
        math.inf,
        -math.inf,
        (0.0, [math.inf, 0.0]),
        10**400,
    ],
    ids=repr,
)
def test_failed_evaluations_are_observations(bad, sqlite):
    def fun(x):
        if x[0] < 0:
            return constrained(x)
        if isinstance(bad, BaseException):
            raise bad
        return bad

    result = random(fun, storage=sqlite)
    failed = [t for t in result.history if t.state == "failed"]
    assert {t.x[0] >= 0 for t in failed} == {True}
    assert result.n_evals == 8
    assert 0 < len(failed) == result.n_failed < 8
    assert all(t.error and t.y is None for t in failed)
    assert f"{len(failed)} failed" in result.message
    states = [t.state for t in result.study.trials]
    assert states.count(optuna.trial.TrialState.FAIL) == len(failed)


def test_all_failed():
    def fun(x):
        raise RuntimeError("no license")

    with pytest.warns(wo.WideoptWarning, match=r"first 5 .* failed.*no license"):
        result = random(fun)
    assert (result.x, result.fun, result.feasible) == (None, None, False)
    assert result.n_failed == 8
    assert "no license" in result.message
    assert "no evaluation has succeeded" in str(result)


def test_a_later_value_of_a_wrong_kind_is_a_failure():
    values = iter([1.0, 2.0, "three", (4.0, [1.0]), 5.0])
    with pytest.warns(wo.WideoptWarning) as caught:
        result = random(lambda x: next(values), n_evals=5)
    assert len(caught) == 2
    assert "Evaluation 3" in str(caught[0].message)
    assert "'three'" in str(caught[0].message)
    assert "Expected 0 constraint value(s), but got 1: [1.0]" in str(caught[1].message)
    assert [t.state[0] for t in result.history] == list("ccffc")


def test_ctrl_c_returns_what_there_is():
    result = random(CutAt(5))
    assert result.n_evals == 4
    assert "interrupted after 4 evaluations" in result.message


def test_timeout():
    def slow(x):
        time.sleep(0.05)
        return bowl(x)

    result = random(slow, n_evals=10_000, timeout=0.5)
    assert 1 <= result.n_evals < 1000
    assert "timeout" in result.message


def test_timeout_with_an_evaluation_under_way():
    with ThreadPoolExecutor(1) as executor:
        result = random(lambda x: time.sleep(1.0), executor=executor, timeout=0.2)
    assert result.n_evals == 0
    assert "timeout" in result.message


def test_callbacks_see_the_run_and_can_stop_it():
    seen = []

    def watch(result):
        seen.append((result.n_evals, result.fun))

    result = random(bowl, callbacks=[watch, lambda r: r.n_evals == 5])
    assert [n for n, _ in seen] == [1, 2, 3, 4, 5]
    assert [y for _, y in seen] == list(
        np.minimum.accumulate([t.y for t in result.history])
    )
    assert result.n_evals == 5
    assert "callback" in result.message


def test_only_true_stops():
    assert random(bowl, callbacks=[lambda r: r.n_evals]).n_evals == 8


def test_maximize_mirrors_minimize():
    low = random(constrained)

    def turned(x):
        y, c = constrained(x)
        return -y, c

    high = wo.maximize(turned, BOX, method="random", n_evals=8, seed=3)
    assert high.fun == -low.fun
    assert list(high.x) == list(low.x)
    assert high.constraints == low.constraints
    assert [t.y for t in high.history] == [-t.y for t in low.history]
    assert high.study.direction == optuna.study.StudyDirection.MAXIMIZE
    assert [t.value for t in high.study.trials] == [t.y for t in high.history]


def test_constraints_are_visible_to_optuna_and_its_dashboard(sqlite):
    result = random(constrained, storage=sqlite)
    (name,) = optuna.get_all_study_names(sqlite)
    study = optuna.load_study(study_name=name, storage=sqlite)
    for trial, ours in zip(study.trials, result.history, strict=True):
        assert trial.system_attrs["constraints"] == list(ours.c)
        assert list(trial.constraints.values()) == list(ours.c)
        assert trial.params == {"x0": ours.x[0], "x1": ours.x[1]}
        assert trial.value == ours.y
    assert study.best_value == result.fun  # Optuna's own best feasible trial


def test_missing_constraints_are_legal_json_in_the_storage(sqlite):
    result = random(lambda x: (bowl(x), [math.nan]), n_evals=2, storage=sqlite)
    for trial in result.study.trials:
        assert all(map(math.isfinite, trial.system_attrs["constraints"]))
        assert trial.constraints["0"] > 0


@pytest.mark.parametrize("n_workers", [1, 3])
def test_threads(n_workers):
    with ThreadPoolExecutor(3) as executor:
        result = random(bowl, executor=executor, n_workers=n_workers)
    assert result.n_evals == 8
    serial = [list(t.x) for t in random(bowl).history]
    assert sorted(list(t.x) for t in result.history) == sorted(serial)


def test_processes(sqlite):
    result = random(constrained, n_workers=2, storage=sqlite)
    assert result.n_evals == 8
    assert result.n_failed == 0
    assert len(result.constraints) == 2
    resumed = random(constrained, n_evals=9, storage=sqlite)
    assert repr(resumed.history[:8]) == repr(result.history)


def test_a_worker_that_dies_costs_its_own_evaluation_only():
    result = random(killed_on_the_right, n_evals=4, n_workers=2)
    assert result.n_evals == 4
    for trial in result.history:
        assert (trial.state == "failed") == (trial.x[0] > 0)
    assert 0 < result.n_failed < 4


def test_a_script_without_a_guard_is_told_what_to_do(sqlite, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import wideopt as wo

def fun(x):
    return x[0]

wo.minimize(fun, [(0, 1)], method="random", n_workers=2, storage={sqlite!r})
"""
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("wideopt.exceptions.InputError: A worker process cannot")
    assert 'under `if __name__ == "__main__":`' in last
    assert optuna.get_all_study_names(sqlite) == []


def test_progress_bar(capsys):
    random(constrained, progress=True)
    shown = capsys.readouterr().err
    assert "best:" in shown
    assert "8/8" in shown


def test_named_space_and_types():
    space = {
        "r": (0, 1),
        "i": wo.Integer(1, 9),
        "c": wo.Categorical(["a", "b"]),
        "z": wo.Categorical([True, None, 2]),
    }
    seen = []

    def fun(x):
        seen.append(x)
        return x["r"]

    random(fun, space)
    for x in seen:
        assert list(x) == ["r", "i", "c", "z"]
        assert type(x["r"]) is float
        assert type(x["i"]) is int
        assert x["c"] in ("a", "b")
        assert x["z"] in (True, None, 2)


def test_arrays_of_mixed_values_are_objects():
    space = [(0, 1), wo.Integer(1, 9), wo.Categorical(["a", "b"])]
    x = random(lambda x: float(x[0]), space, n_evals=1).x
    assert x.dtype == object
    assert [type(v) for v in x] == [float, int, str]
    assert random(lambda x: x[0], [wo.Integer(1, 9)], n_evals=1).x.dtype == float
