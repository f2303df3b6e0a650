"""Several copies of one script on one study: no trial twice, and none lost."""

import time

import optuna
import pytest
from optuna.trial import TrialState

import wideopt as wo
from tests.run import lives
from tests.run.objectives import BOX, CutAt, bowl
from tests.run.test_crash import live
from wideopt.run import _copies
from wideopt.run._copies import Copies


def check_copies(url, log, n_copies, n_evals, method="random"):
    ends = live("copies", url, log, n_copies, n_evals, method)
    assert ends["codes"] == [-9] + [0] * (n_copies - 1)
    storage = optuna.storages.RDBStorage(url)
    study = optuna.load_study(study_name="wideopt", storage=storage)
    trials = study.trials
    storage.engine.dispose()
    kept = [t for t in trials if not t.user_attrs.get("wideopt:freed")]
    assert len(kept) == n_evals  # not one more, not one less
    assert {t.state for t in kept} == {TrialState.COMPLETE}
    points = [tuple(t.params.values()) for t in kept]
    assert len(set(points)) == n_evals
    cut = tuple(map(float, ends["cut"].split()[2:]))
    assert cut in points  # what the dead copy had under way was done by another
    ended = [line.split()[2:] for line in lives.lines(log) if line.startswith("end")]
    assert len(ended) == n_evals  # nothing was evaluated twice
    workers = {line.split()[1] for line in lives.lines(log)}
    assert len(workers) == n_copies


def test_four_copies_on_postgresql(postgresql, tmp_path):
    check_copies(postgresql, tmp_path / "log", 4, 40)


def test_two_copies_on_sqlite(sqlite, tmp_path):
    check_copies(sqlite, tmp_path / "log", 2, 16)


@pytest.fixture
def storage():
    return optuna.storages.RDBStorage("sqlite://")


def copies_of(storage, n=2):
    study = optuna.create_study(storage=storage, study_name="s", load_if_exists=True)
    return [Copies(storage, study._study_id) for _ in range(n)]


def test_a_copy_that_left_is_not_alive(storage):
    one, two = copies_of(storage)
    for copy in (one, two):
        copy.enter()
    assert one.alive() == {two.token}
    two.leave()
    assert one.alive() == set()
    assert one.ended() == {two.token}
    one.leave()


@pytest.mark.parametrize("age", [0.0, 1e4])
def test_a_silent_copy_on_another_machine_dies(storage, monkeypatch, age):
    one, two = copies_of(storage)
    two._card["machine"] = "elsewhere"
    two._sign()
    if age:
        now = time.time()
        monkeypatch.setattr(_copies.time, "time", lambda: now + age)
        assert one.alive() == set()
        return
    assert one.alive() == {two.token}
    monkeypatch.setattr(_copies, "_SILENCE", 0.0)
    assert one.alive() == set()
    two._sign()
    assert one.alive() == {two.token}  # it was only slow


def test_a_number_that_another_process_has_now(storage):
    one, two = copies_of(storage)
    two._card["start"] = "0"
    two._sign()
    assert one.alive() == set()


def test_a_copy_alone_takes_the_trial_up_under_its_number(sqlite):
    settings = {"method": "random", "n_evals": 4, "seed": 0, "storage": sqlite}
    wo.minimize(CutAt(3), BOX, **settings)
    result = wo.minimize(bowl, BOX, **settings)
    assert len(result.study.trials) == 4
