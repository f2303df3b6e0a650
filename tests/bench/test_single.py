import json
import math

import pytest

from tests.bench.conftest import CENTER
from wideopt.bench import parse
from wideopt.bench.record import (
    COLUMNS,
    Journal,
    assemble,
    fingerprint,
    fingerprint_of,
    is_settled,
    load,
    save,
)
from wideopt.bench.single import run_one

SHRUNK = "gp-ei[n_candidates=16,n_restarts=1]"


@pytest.fixture(scope="module")
def record():
    from wideopt import bench

    task = bench.get("neural-cbo").task("simionescu-noisy", is_smoke=True)
    return run_one(SHRUNK, task, 1, suite="neural-cbo-smoke")


def test_record_has_everything(record):
    assert record["status"] == "complete"
    assert record["error"] is None
    assert record["method"] == SHRUNK
    assert record["options"] == {"n_candidates": 16, "n_restarts": 1}
    assert (record["suite"], record["seed"], record["n_done"]) == (
        "neural-cbo-smoke",
        1,
        8,
    )
    assert record["task"]["noise"]["rule"] == "sd:0.05"
    assert {"python", "wideopt", "torch", "botorch"} <= set(record["versions"])
    assert {"cpu", "threads"} <= set(record["machine"])
    assert record["memory_mb"]["peak"] >= record["memory_mb"]["baseline"] > 10
    columns = record["trajectory"]
    assert set(columns) == set(COLUMNS)
    assert {len(column) for column in columns.values()} == {8}
    assert all(len(x) == 2 for x in columns["x"])
    assert all(len(c) == 1 for c in columns["c"] + columns["c_observed"])
    assert sum(columns["ask_cpu"]) > 0
    assert record["seconds"]["cpu"] == pytest.approx(
        sum(columns["ask_cpu"]) + sum(columns["tell_cpu"])
    )


def test_truth_and_observation_are_told_apart(record, smoke):
    task, columns = smoke("neural-cbo", "simionescu-noisy"), record["trajectory"]
    for x, y, c in zip(columns["x"], columns["y"], columns["c"], strict=True):
        assert task.truth(x) == (y, c)
    assert columns["y"] != columns["y_observed"]
    assert columns["c"] != columns["c_observed"]


def test_commit_is_recorded_from_the_source_tree(record):
    commit = record["commit"]
    assert commit is None or (len(commit["id"]) == 40 and "is_dirty" in commit)


def test_saved_records_are_read_back(record, tmp_path):
    path = tmp_path / "a" / "1.json"
    save(record, path)
    assert load(path) == json.loads(json.dumps(record))
    assert [p.name for p in path.parent.iterdir()] == ["1.json"]


def test_what_is_not_finite_is_null(record, tmp_path):
    odd = {**record, "trajectory": {"y": [math.nan, 1.0, math.inf]}}
    save(odd, tmp_path / "r.json")
    assert load(tmp_path / "r.json")["trajectory"] == {"y": [None, 1.0, None]}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}'])
def test_what_is_not_a_record_is_none(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    assert load(path) is None
    assert load(tmp_path / "absent.json") is None


def test_a_failed_save_leaves_the_old_record(record, tmp_path):
    path = tmp_path / "r.json"
    save(record, path)
    with pytest.raises(TypeError):
        save({**record, "seed": object()}, path)
    assert load(path)["seed"] == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_same_seed_same_run_and_fingerprint(parabola):
    a, b = (run_one("random", parabola, 3) for _ in "ab")
    assert a["trajectory"]["x"] == b["trajectory"]["x"]
    assert fingerprint_of(a) == fingerprint_of(b)
    assert fingerprint_of(a) == fingerprint(parse("random"), parabola, 3)
    marks = {
        fingerprint(parse(text), task, seed)
        for text in ("random", SHRUNK)
        for task in (parabola, parabola.__class__(**{**vars(parabola), "n_evals": 9}))
        for seed in (0, 1)
    }
    assert len(marks) == 8


@pytest.mark.parametrize(("factor", "is_same"), [(1 + 1e-15, True), (1.001, False)])
def test_another_processor_makes_no_other_run(record, factor, is_same):
    moved = record["task"]["objective_range"] * factor
    other = {**record, "task": {**record["task"], "objective_range": moved}}
    assert moved != record["task"]["objective_range"]
    assert (fingerprint_of(other) == fingerprint_of(record)) is is_same


def test_a_crash_keeps_what_was_done(parabola, tmp_path):
    journal = tmp_path / "j"
    record = run_one(f"{CENTER}[ending=crash]", parabola, 0, journal=journal)
    assert (record["status"], record["n_done"]) == ("failed", 7)
    assert "ArithmeticError: singular matrix" in record["error"]
    assert len(record["trajectory"]["y"]) == 7


def test_a_bad_option_is_a_failed_run(parabola):
    record = run_one("gp-ei[n_restarts=0]", parabola, 0)
    assert (record["status"], record["n_done"]) == ("failed", 0)
    assert "n_restarts" in record["error"]


def test_out_of_time_between_evaluations(parabola):
    record = run_one("random", parabola, 0, max_seconds=1e-9)
    assert (record["status"], record["n_done"]) == ("timeout", 1)


def test_a_journal_is_the_record_so_far(parabola, tmp_path):
    path = tmp_path / "j"
    record = run_one("random", parabola, 0, journal=path)
    header, steps = Journal.read(path)
    again = assemble(header, steps, "complete")
    assert again == json.loads(json.dumps(record))
    text = path.read_text()
    path.write_text(text[: len(text) - 20])  # a last line torn by a kill
    assert len(Journal.read(path)[1]) == 7
    assert Journal.read(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("change", "max_seconds", "expected"),
    [
        ({}, None, True),
        ({"seed": 2}, None, False),
        ({"method": "gp-ei"}, None, False),
        ({"status": "failed"}, None, False),
        ({"status": "killed"}, None, False),
        ({"status": "timeout", "max_seconds": 9.0}, 9.0, True),
        ({"status": "timeout", "max_seconds": 9.0}, 10.0, False),
        ({"status": "timeout", "max_seconds": 9.0}, None, False),
    ],
)
def test_what_need_not_run_again(record, change, max_seconds, expected):
    mark = fingerprint_of(record)
    assert is_settled({**record, **change}, mark, max_seconds) is expected
    assert is_settled(None, mark, max_seconds) is False
