"""Bad input is one sentence with the offending value, and nothing is stored."""

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import optuna
import pytest

import wideopt as wo
from tests.run.objectives import BOX, CutAt, bowl, constrained

pytestmark = pytest.mark.usefixtures("unchecked")


def is_one_sentence(text):
    return text.endswith((".", "?")) and "\n" not in text


def must_not_run(x):
    raise AssertionError("evaluated")


def studies(url):
    path = Path(url.removeprefix("sqlite:///"))
    return optuna.get_all_study_names(url) if path.exists() else []


@pytest.mark.parametrize(
    ("space", "value"),
    [
        ([], "none"),
        ({}, "none"),
        (None, "None"),
        ("ab", "'ab'"),
        (3, "3"),
        ([(1, 0)], "low=1, high=0"),
        ([(0, 1), (2, 2)], "low=2, high=2"),
        ([(0, math.nan)], "high is nan"),
        ([(math.nan, 1)], "low is nan"),
        ([(-math.inf, 1)], "low is -inf"),
        ([("a", 1)], "low is 'a'"),
        ([(0, 1, 2)], "(0, 1, 2)"),
        ([5], "5"),
        ({1: (0, 1)}, "1"),
        ({"": (0, 1)}, "''"),
        ({"lr": (1, 0)}, "lr"),
        ([(-1e308, 1e308)], "1e+308"),
    ],
)
def test_spaces(space, value, sqlite):
    with pytest.raises(wo.SpaceError) as caught:
        wo.minimize(must_not_run, space, storage=sqlite)
    assert value in str(caught.value)
    assert is_one_sentence(str(caught.value))
    assert studies(sqlite) == []


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda: wo.Real(0, 1, log=True), "low=0"),
        (lambda: wo.Real(-1, 1, log=True), "low=-1"),
        (lambda: wo.Real(0, 1, log=1), "1"),
        (lambda: wo.Real(1, 1), "low=1, high=1"),
        (lambda: wo.Real(True, 2), "True"),
        (lambda: wo.Integer(0, 8, log=True), "low=0"),
        (lambda: wo.Integer(0.5, 8), "0.5"),
        (lambda: wo.Integer(3, 3), "low=3, high=3"),
        (lambda: wo.Integer(0, 2**41), str(2**41)),
        (lambda: wo.Integer(0, math.inf), "inf"),
        (lambda: wo.Categorical("abc"), "'abc'"),
        (lambda: wo.Categorical(["a"]), "['a']"),
        (lambda: wo.Categorical([]), "[]"),
        (lambda: wo.Categorical(["a", "a"]), "['a', 'a']"),
        (lambda: wo.Categorical([1, 1.0]), "[1, 1.0]"),
        (lambda: wo.Categorical([True, 1]), "[True, 1]"),
        (lambda: wo.Categorical([1, math.nan]), "nan"),
        (lambda: wo.Categorical([1, (2, 3)]), "(2, 3)"),
        (lambda: wo.Categorical(5), "5"),
    ],
)
def test_parameters(make, value):
    with pytest.raises(wo.SpaceError) as caught:
        make()
    assert value in str(caught.value)
    assert is_one_sentence(str(caught.value))


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"method": "gp-ie"}, "gp-ei"),
        ({"method": "bayes"}, "'bayes'"),
        ({"method": None}, "None"),
        ({"n_evals": 0}, "0"),
        ({"n_evals": 2.5}, "2.5"),
        ({"n_init": 0}, "0"),
        ({"n_constraints": -1}, "-1"),
        ({"seed": -1}, "-1"),
        ({"seed": "x"}, "'x'"),
        ({"n_workers": 0}, "0"),
        ({"n_workers": "2"}, "'2'"),
        ({"executor": "threads"}, "'threads'"),
        ({"timeout": 0}, "0"),
        ({"timeout": "1h"}, "'1h'"),
        ({"timeout": math.nan}, "nan"),
        ({"callbacks": [3]}, "3"),
        ({"pde": 3}, "PDE"),
        ({"options": 3}, "3"),
        ({"options": {"n_restart": 3}, "method": "gp-ei"}, "did you mean n_restarts"),
        ({"options": {"n_init": "many"}}, "'many'"),
        ({"options": {"kernel": "cubic"}, "method": "gp-ei"}, "'cubic'"),
        ({"options": {"n_candidates": 0}, "method": "gp-ei"}, "0"),
        ({"options": {"beta": -1}, "method": "gp-ucb"}, "-1"),
        ({"options": {"beta": "a"}, "method": "gp-ucb"}, "a"),
        ({"options": {"x": object()}}, "object"),
        ({"options": {"device": "toaster"}}, "'toaster'"),
    ],
)
def test_settings(settings, value, sqlite):
    with pytest.raises(wo.InputError) as caught:
        wo.minimize(must_not_run, BOX, storage=sqlite, **settings)
    assert value in str(caught.value)
    assert is_one_sentence(str(caught.value))
    assert studies(sqlite) == []


def test_a_function_is_needed(sqlite):
    for minimize in (wo.minimize, wo.maximize):
        with pytest.raises(wo.InputError, match=r"must be a function, but got 3\."):
            minimize(3, BOX, storage=sqlite)
    assert studies(sqlite) == []


def test_a_function_that_cannot_be_sent(sqlite):
    with pytest.raises(wo.InputError, match="ThreadPoolExecutor"):
        wo.minimize(lambda x: 1.0, BOX, n_workers=2, storage=sqlite)
    assert studies(sqlite) == []


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        ("1", "'1'"),
        (True, "True"),
        (1j, "1j"),
        (np.zeros(3), "array"),
        ((1.0, "c"), "'c'"),
        ((1.0, [None]), "None"),
        ((1.0, 2.0, 3.0), "(1.0, 2.0, 3.0)"),
        ({"y": 1}, "{'y': 1}"),
    ],
    ids=repr,
)
def test_a_first_value_that_is_no_number(value, shown, sqlite):
    with pytest.raises(wo.InputError) as caught:
        wo.minimize(lambda x: value, BOX, method="random", storage=sqlite)
    assert shown in str(caught.value)
    assert studies(sqlite) == []


def test_a_wrong_number_of_constraints(sqlite):
    with pytest.raises(wo.InputError, match=r"Expected 3 .*but got 2: \["):
        wo.minimize(constrained, BOX, n_constraints=3, storage=sqlite)
    assert studies(sqlite) == []


def test_an_error_in_threads_ends_the_run_and_stores_nothing(sqlite):
    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(wo.InputError, match="None"),
    ):
        wo.minimize(lambda x: None, BOX, executor=executor, n_workers=2, storage=sqlite)
    assert studies(sqlite) == []


@pytest.mark.parametrize(
    "storage",
    [
        "sqlite:////nowhere/at/all.db",
        "run.db",
        "gopher://run",
        "mysql://localhost/x",
        3,
    ],
)
def test_a_storage_that_cannot_be_opened(storage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(wo.StorageError) as caught:
        wo.minimize(must_not_run, BOX, storage=storage)
    assert is_one_sentence(str(caught.value))
    assert str(storage) in str(caught.value) or not isinstance(storage, str)
    assert list(tmp_path.iterdir()) == []


def test_a_storage_that_is_no_database(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 200)
    with pytest.raises(wo.StorageError, match="not a database") as caught:
        wo.minimize(must_not_run, BOX, storage=f"sqlite:///{path}")
    assert is_one_sentence(str(caught.value))
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize(
    "settings",
    [
        {"space": [(-1, 1), (-2, 3)]},
        {"space": [(-1, 1)]},
        {"space": {"a": (-1, 1), "b": (-2, 2)}},
        {"n_constraints": 2},
        {"maximize": True},
    ],
    ids=repr,
)
def test_a_storage_that_holds_something_else(settings, sqlite):
    wo.minimize(bowl, BOX, method="random", n_evals=2, seed=0, storage=sqlite)
    (before,) = optuna.get_all_study_summaries(sqlite)
    settings = {"space": BOX, "storage": sqlite} | settings
    run = wo.maximize if settings.pop("maximize", False) else wo.minimize
    with pytest.raises(wo.StorageError, match="use another study_name") as caught:
        run(must_not_run, **settings)
    assert is_one_sentence(str(caught.value))
    (after,) = optuna.get_all_study_summaries(sqlite)
    assert after.n_trials == before.n_trials
    assert after.user_attrs == before.user_attrs


def test_a_study_of_someone_else(sqlite):
    study = optuna.create_study(storage=sqlite, study_name="theirs")
    study.add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(wo.StorageError, match=r"'theirs' .*did not make"):
        wo.minimize(must_not_run, BOX, storage=sqlite, study_name="theirs")
    assert study.user_attrs == {}


def test_resuming_with_a_function_that_is_wrong_keeps_what_there_was(sqlite):
    wo.minimize(CutAt(4), BOX, method="random", seed=0, storage=sqlite)
    with pytest.warns(wo.WideoptWarning, match="None"):
        result = wo.minimize(
            lambda x: None, BOX, method="random", n_evals=4, storage=sqlite
        )
    assert [t.state for t in result.history] == ["complete"] * 3 + ["failed"]
