"""Runs that two suites share."""

import dataclasses

import pytest

from wideopt import Real, Space
from wideopt.bench.contender import parse
from wideopt.bench.record import record_path, save
from wideopt.bench.report import write_reports
from wideopt.bench.runner import jobs_of, unsettled
from wideopt.bench.single import run_one
from wideopt.bench.suite import Suite, Twin, every_suite, get
from wideopt.bench.task import Task
from wideopt.bench.twins import borrowed_runs


def make(name, is_smoke):
    return Task(
        name=name,
        space=Space([Real(0.0, 1.0)] * 2),
        n_evals=6,
        outputs=lambda x: (float(sum(x)), ()),
        n_init=4,
    )


def twin(task, method):
    return Twin("host", "old", "random") if task == "new" else None


@pytest.fixture
def guest():
    return Suite(
        name="arena",
        title="",
        full=("new", "own"),
        smoke=("new",),
        make=make,
        methods=("random",),
        reference="random",
        twin=twin,
    )


@pytest.fixture
def results(tmp_path):
    """A folder with the record of the twin."""
    record = run_one("random", make("old", False), 0, suite="host")
    save(record, record_path(tmp_path, "host", "old", parse("random"), 0))
    return tmp_path


def test_a_run_whose_twin_is_recorded_is_not_made_again(guest, results):
    jobs = jobs_of(guest, [parse("random")], range(2), results)
    left = [(job.task.name, job.seed) for job in unsettled(jobs)]
    assert left == [("own", 0), ("new", 1), ("own", 1)]


def test_the_smoke_size_and_other_noise_have_no_twins(guest, results):
    smoke = jobs_of(guest, [parse("random")], [0], results, is_smoke=True)
    assert len(unsettled(smoke)) == 1


def test_a_twin_of_another_definition_does_not_count(guest, results):
    longer = dataclasses.replace(
        guest, make=lambda *of: dataclasses.replace(make(*of), n_evals=7)
    )
    jobs = jobs_of(longer, [parse("random")], [0], results)
    assert len(unsettled(jobs)) == 2


def test_borrowed_runs_bear_the_names_of_the_suite(guest, results):
    (run,) = borrowed_runs(guest, results, [])
    assert (run.task, run.method, run.seed) == ("new", "random", 0)
    assert len(run.Y) == 6
    assert borrowed_runs(guest, results, [run]) == []


def test_a_report_of_the_arena_counts_runs_of_other_suites(tmp_path):
    for suite, task, method in (
        ("arena", "mixed--mlp-wdbc", "peer:optuna-tpe"),
        ("go-ucb", "mlp-wdbc-mixed", "auto"),
    ):
        record = run_one("random", make(task, False), 0, suite=suite)
        record["method"] = method
        save(record, record_path(tmp_path, suite, task, parse(method), 0))

    (path,) = write_reports(tmp_path, tmp_path / "report", suite="arena")

    text = path.read_text()
    assert "over 1 pairs" in text
    assert "auto" in text
    assert "mlp-wdbc-mixed" not in text


def test_twins_are_the_same_tasks():
    for suite in every_suite().values():
        for name in suite.full:
            found = suite.twin(name, suite.reference)
            if found is None:
                continue
            own = suite.task(name).to_json()
            other = get(found.suite).task(found.task).to_json()
            assert {**own, "name": ""} == {**other, "name": ""}


def test_auto_goes_by_the_names_of_what_it_chooses():
    arena = get("arena")
    assert arena.twin("constrained--branin-disk", "auto").method == "neural-cbo"
    assert arena.twin("constrained--branin-disk", "scbo").method == "scbo"
    assert arena.twin("mixed--mlp-wdbc", "auto").method == "auto"
    assert arena.twin("constrained--i-beam", "auto") is None
