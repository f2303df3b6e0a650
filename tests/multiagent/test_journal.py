"""What is told is on the disk; torn lines, foreign files and other runs."""

import json

import numpy as np
import pytest

import wideopt as wo
from tests.multiagent.sites import assert_same, coupled
from wideopt.multiagent import Agent, Coordinator, Processes, Site, minimize
from wideopt.multiagent.journal import Journal, MovedError

HEADER = {"format": "wideopt agent journal", "seed": 1}


def test_records_come_back_exactly(tmp_path):
    path = tmp_path / "new" / "a.jsonl"
    journal = Journal(path, HEADER)
    values = [0.1 + 0.2, 1e-300, np.nextafter(1.0, 2.0)]
    journal.add({"values": values})
    assert Journal(path, HEADER).records == [{"values": values}]


@pytest.mark.parametrize("n_lost", range(1, 12))
def test_a_torn_line_is_left_out_and_replaced(n_lost, tmp_path):
    path = tmp_path / "a.jsonl"
    journal = Journal(path, HEADER)
    journal.add({"a": 1})
    journal.add({"b": 234})
    path.write_bytes(path.read_bytes()[:-n_lost])
    again = Journal(path, HEADER)
    assert again.records == [{"a": 1}]
    again.add({"c": 3})
    assert Journal(path, HEADER).records == [{"a": 1}, {"c": 3}]


@pytest.mark.parametrize("n_kept", [0, 1, 20])
def test_a_torn_header_is_written_again(n_kept, tmp_path):
    path = tmp_path / "a.jsonl"
    Journal(path, HEADER)
    path.write_bytes(path.read_bytes()[:n_kept])
    Journal(path, HEADER).add({"a": 1})
    assert Journal(path, HEADER).records == [{"a": 1}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"my notes", "is not a wideopt agent journal; nothing was written"),
        (b"a,b\n1,2\n", "is not a wideopt agent journal"),
        (b'{"format": "else"}\n', "is not a wideopt agent journal"),
        (b'{"format": "wideopt agent journal", "seed": 2}\n', "seed 2, not 1"),
        (b'{"format": "wideopt agent journal", "seed": 1}\n{"a": 1\n{}\n', "Line 2"),
    ],
)
def test_what_is_not_ours_is_left_alone(content, words, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(wo.StorageError, match=words):
        Journal(path, HEADER)
    assert path.read_bytes() == content


def test_two_writers_do_not_mix(tmp_path):
    one, two = (Journal(tmp_path / "a.jsonl", HEADER) for _ in range(2))
    one.add({"a": 1})
    assert not two.is_current
    with pytest.raises(MovedError, match="another process"):
        two.add({"b": 1})
    assert Journal(tmp_path / "a.jsonl", HEADER).records == [{"a": 1}]


def test_every_prefix_of_a_journal_goes_on_to_the_same_run(tmp_path):
    agent, rule = coupled(1)[0], Coordinator(2, eta=0.4)

    def rounds(site, n):
        signals = [rule.first()]
        for _ in range(n):
            signals.append(rule.update(signals[-1], [site.choose(signals[-1])]))
            site.evaluate()
        return signals

    path = tmp_path / "a.jsonl"
    whole = Site(agent, 5, path)
    expected = rounds(whole, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    for n in range(1, len(lines)):
        path.write_bytes(b"".join(lines[:n]) + lines[n][:7])
        site = Site(agent, 5, path)
        assert rounds(site, 3) == expected
        assert [t.y for t in site.trials] == [t.y for t in whole.trials]


def test_a_run_resumes_and_goes_on(tmp_path):
    settings = {"seed": 4, "eta": 0.5}
    folder = tmp_path / "run"
    minimize(coupled(), n_rounds=3, storage=folder, **settings)
    on = minimize(coupled(), n_rounds=6, storage=folder, eta=0.5)  # the seed is known
    assert_same(on, minimize(coupled(), n_rounds=6, **settings))
    again = minimize(coupled(), n_rounds=6, storage=folder, **settings)
    assert_same(again, on)


def test_learned_scales_resume(tmp_path):
    agents = coupled(2, surrogate="gp")
    minimize(agents, n_rounds=4, seed=1, eta=0.5, storage=tmp_path)
    on = minimize(agents, n_rounds=7, seed=1, eta=0.5, storage=tmp_path)
    assert_same(on, minimize(agents, n_rounds=7, seed=1, eta=0.5))


def test_a_run_of_other_settings_is_refused(tmp_path):
    minimize(coupled(), n_rounds=2, seed=4, storage=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for options, words in [
        ({"seed": 5}, "seed 4, not 5"),
        ({"seed": 4, "n_rounds": 3}, "eta 0.70"),
        ({"seed": 4, "method": "dcei"}, "'Coordinator', not 'SumOfConstraints'"),
    ]:
        with pytest.raises(wo.StorageError, match=words):
            minimize(coupled(), storage=tmp_path, **{"n_rounds": 2, **options})
    with pytest.raises(wo.StorageError, match="search"):
        minimize(coupled(n_candidates=32), n_rounds=2, seed=4, storage=tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_lost_coordinator_is_rebuilt_from_its_agents(tmp_path):
    whole = minimize(coupled(), n_rounds=4, seed=4, storage=tmp_path)
    (tmp_path / "coordinator.jsonl").unlink()
    n_before = sum(path.stat().st_size for path in tmp_path.glob("agent*"))
    assert_same(minimize(coupled(), n_rounds=4, seed=4, storage=tmp_path), whole)
    assert sum(path.stat().st_size for path in tmp_path.glob("agent*")) == n_before


def test_an_agent_of_another_run_says_so(tmp_path):
    site = Site(coupled(1)[0], 0, tmp_path / "a.jsonl")
    site.choose(Coordinator(2, eta=0.4).first())
    with pytest.raises(wo.StorageError, match="another signal in round 1"):
        site.choose(Coordinator(2, eta=0.3).first())


def test_journals_hold_no_pickles(tmp_path):
    minimize(coupled(1), n_rounds=2, seed=0, storage=tmp_path, executor=Processes(1))
    for path in tmp_path.iterdir():
        for line in path.read_text().splitlines():
            json.loads(line)


def test_failures_are_kept(tmp_path):
    def failing(x):
        if x[0] > 0.3:
            raise RuntimeError("no")
        return x[0]

    agent = Agent(failing, [(0, 1)], n_candidates=16)
    one = minimize([agent], n_rounds=2, seed=0, eta=1.0, storage=tmp_path)
    two = minimize([agent], n_rounds=2, seed=0, eta=1.0, storage=tmp_path)
    assert [t.error for t in one.histories[0]] == [t.error for t in two.histories[0]]
    assert "RuntimeError: no" in [t.error for t in two.histories[0]]
