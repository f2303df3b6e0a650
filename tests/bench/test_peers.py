import sys
from dataclasses import replace

import numpy as np
import pytest

from wideopt import Categorical, Integer, Optimizer, Real, Space
from wideopt.bench.contender import PEERS, Observation
from wideopt.bench.peers._cube import KindPoints, penalized
from wideopt.bench.single import run_one

# their own, and those of the libraries below them
pytestmark = pytest.mark.filterwarnings("ignore")

SHRUNK = {
    "botorch-logei": "[num_restarts=1,raw_samples=16]",
    "botorch-qlognei": "[num_restarts=1,raw_samples=16]",
    "optuna-gp": "",
    "optuna-tpe": "",
    "cma": "",
}


def free(task):
    """The task without its constraint."""
    return replace(
        task, n_constraints=0, outputs=lambda x: (float(np.sum((x - 0.25) ** 2)), ())
    )


@pytest.mark.parametrize("has_constraints", [True, False])
@pytest.mark.parametrize("name", SHRUNK)
def test_peers_run_and_repeat_themselves(parabola, name, has_constraints):
    task = replace(parabola if has_constraints else free(parabola), n_evals=7)
    a = run_one(f"peer:{name}{SHRUNK[name]}", task, 4)
    assert (a["status"], a["error"]) == ("complete", None)
    if has_constraints:
        b = run_one(f"peer:{name}{SHRUNK[name]}", task, 4)
        assert a["trajectory"]["x"] == b["trajectory"]["x"]
    assert PEERS[name].package in a["versions"]
    random = run_one("random", task, 4)["trajectory"]["x"]
    assert a["trajectory"]["x"][:5] == random[:5]
    assert a["trajectory"]["x"][5:] != random[5:]


def test_smac_runs(parabola):
    pytest.importorskip("smac")
    record = run_one("peer:smac", replace(parabola, n_evals=6), 0)
    assert (record["status"], record["error"]) == ("complete", None)


@pytest.mark.parametrize("has_constraints", [True, False])
def test_hebo_runs(parabola, has_constraints):
    pytest.importorskip("hebo")  # `make` installs it, the extra `bench` does not
    task = replace(parabola if has_constraints else free(parabola), n_evals=6)
    record = run_one("peer:hebo", task, 0)
    assert (record["status"], record["error"]) == ("complete", None)


@pytest.fixture
def mixed(parabola):
    """A task with a logarithmic real, integers and choices."""
    space = Space(
        {
            "rate": Real(1e-4, 1.0, log=True),
            "depth": Integer(1, 7),
            "width": Integer(2, 500, log=True),
            "kind": Categorical(["a", "b", "c"]),
            "is_wide": Categorical([True, False]),
        }
    )

    def outputs(x):
        far = abs(np.log10(x["rate"]) + 2) + abs(x["depth"] - 3) + (x["kind"] != "b")
        return float(far + abs(np.log(x["width"] / 30)) + x["is_wide"]), ()

    return replace(parabola, space=space, n_constraints=0, outputs=outputs, n_evals=14)


def test_parameters_go_to_peers_in_their_kind_and_come_back(mixed):
    points = KindPoints(mixed.space)
    assert [name for name, _ in points.items] == [
        "u000",
        "u001",
        "u002",
        "u003",
        "u006",
    ]
    optimizer = Optimizer(mixed.space, method="random", seed=3)
    for x in optimizer.ask(20):
        found = points.encode(x)
        assert (found["u001"], found["u002"]) == (x["depth"], x["width"])
        assert found["u003"].endswith(x["kind"])
        back = points.decode(found)
        assert back == {**x, "rate": pytest.approx(x["rate"])}
    beyond = {"u000": 1.2, "u001": 9, "u002": 1, "u003": "2:c", "u006": "1:False"}
    edge = {"rate": 1.0, "depth": 7, "width": 2, "kind": "c", "is_wide": False}
    assert points.decode(beyond) == edge


@pytest.mark.parametrize("name", ["hebo", "smac"])
def test_mixed_spaces_run_as_they_are(mixed, name):
    pytest.importorskip(name)
    record = run_one(f"peer:{name}", mixed, 0)
    assert (record["status"], record["error"]) == ("complete", None)
    columns = record["trajectory"]
    assert len(columns["y"]) == 14
    random = run_one("random", mixed, 0)["trajectory"]
    assert columns["x"][:5] == random["x"][:5]
    assert columns["x"][10:] != random["x"][10:]


def test_a_missing_peer_says_what_to_install(parabola, monkeypatch):
    monkeypatch.setitem(sys.modules, "hebo", None)
    for name in [name for name in sys.modules if name.startswith("hebo.")]:
        monkeypatch.delitem(sys.modules, name)
    record = run_one("peer:hebo", replace(parabola, n_evals=6), 0)
    assert record["status"] == "failed"
    assert "pip install --no-deps HEBO" in record["error"]


def test_peers_find_the_feasible_minimum(parabola):
    task = replace(parabola, n_evals=60)
    record = run_one("peer:cma", task, 0)
    columns = record["trajectory"]
    feasible = [y for y, c in zip(columns["y"], columns["c"], strict=True) if c[0] <= 0]
    assert min(feasible) - task.optimum < 0.02


def test_penalty_orders_as_it_says():
    design = [Observation(0, 1.0, [-1.0]), Observation(1, 3.0, [3.0])]
    assert penalized(design, 0.5, [0.0]) == 0.5
    slight, gross = (penalized(design, 0.5, [c]) for c in (0.1, 2.0))
    assert 3.0 < slight < gross
    assert gross == pytest.approx(3.0 + 1.0 * 2.0 / 2.0)  # sd of y is 1, of c is 2
