from dataclasses import replace

import numpy as np
import pytest

from tests.bench import contenders
from tests.bench.conftest import CENTER
from wideopt import InputError
from wideopt.bench import parse
from wideopt.bench.contender import PEERS, initial_design, parse_all
from wideopt.bench.single import run_one


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("gp-ei", "gp-ei", {}),
        (" gp-ei[] ", "gp-ei", {}),
        (
            "gp-ei[n_restarts=2, kernel=rbf]",
            "gp-ei",
            {"n_restarts": 2, "kernel": "rbf"},
        ),
        ("random[flag=true]", "random", {"flag": True}),
        ("peer:cma[sigma=0.5]", "peer:cma", {"sigma": 0.5}),
    ],
)
def test_parse(text, name, options):
    contender = parse(text)
    assert (contender.name, contender.options) == (name, options)
    assert parse(contender.label) == contender
    assert "/" not in contender.slug
    assert ":" not in contender.slug


def test_several_by_commas_or_repetition():
    found = parse_all(["gp-ei[n_restarts=1,beta=2],random", "random", "peer:cma,"])
    labels = [contender.label for contender in found]
    assert labels == ["gp-ei[beta=2,n_restarts=1]", "random", "peer:cma"]


@pytest.mark.parametrize("text", ["gp-e", "peer:nobody", "", "gp-ei[x", "gp-ei[x]"])
def test_bad_contenders_are_named(text):
    with pytest.raises(InputError):
        parse(text)


def test_different_options_have_different_folders():
    slugs = {parse(t).slug for t in ("gp-ei", "gp-ei[beta=1]", "gp-ei[beta=2]")}
    assert len(slugs) == 3


@pytest.mark.parametrize("n_init", [None, 3])
def test_every_contender_begins_with_the_same_points(smoke, n_init):
    task = replace(smoke("neural-cbo", "simionescu-noisy"), n_init=n_init)
    design = initial_design(task, seed=7)
    assert len(design) == (n_init or 5)
    seen = []
    for text in ("random", CENTER):
        columns = run_one(text, task, 7)["trajectory"]
        assert columns["x"][: len(design)] == [list(x) for x in design]
        assert columns["x"][len(design)] != columns["x"][0]
        seen.append(columns["y_observed"][: len(design)])
    assert seen[0] == seen[1]  # and the same noise
    assert not np.allclose(initial_design(task, seed=8), design)


def test_an_external_contender_is_told_the_design(parabola, monkeypatch):
    told = []

    def spy(task, seed, initial):
        told.extend(initial)
        return contenders.Center(task, seed, initial)

    monkeypatch.setattr(contenders, "Spy", spy, raising=False)
    run_one("python:tests.bench.contenders:Spy", parabola, 0)
    assert len(told) == 5
    for x, y, c in told:
        assert (y, c) == parabola.truth(x)


def test_peers_say_what_they_are():
    for peer in PEERS.values():
        assert peer.summary
        assert peer.package
