"""The benchmark of several agents: problems, records, statistics, command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from wideopt.bench.dmabo import problems
from wideopt.bench.dmabo.report import exponent
from wideopt.bench.report import write_reports
from wideopt.cli._main import app
from wideopt.exceptions import InputError

pytestmark = pytest.mark.usefixtures("unchecked")


def values(instance, X):
    """Sum of objectives and sums of constraints at joint points (n, agents, d)."""
    f, g = [], []
    for row in X:
        out = [fun(x) for fun, x in zip(instance.truth.functions, row, strict=True)]
        out = [v if isinstance(v, tuple) else (v, []) for v in out]
        f.append(sum(v for v, _ in out))
        g.append(np.sum([c for _, c in out], axis=0))
    return np.array(f), np.array(g)


def test_no_feasible_point_is_below_the_optimum():
    rng = np.random.default_rng(0)
    gp = problems.sampled(3)
    f, g = values(gp, rng.uniform(-1, 1, (4000, 3, 1)))
    best = f[(g <= 0).all(axis=1)].min()
    assert -5e-3 <= best - gp.truth.optimum < 1.0
    power = problems.power(3)
    p = rng.dirichlet(np.ones(5), 4000)[..., None] * 2.0
    p = p[(p <= 1).all(axis=(1, 2))]
    gap = values(power, p)[0] - power.truth.optimum
    assert 0 <= gap.min() < 0.3
    platoon = problems.platoon(3)
    v = np.broadcast_to(rng.uniform(1.5, 3.5, (2000, 1, 1)), (2000, 5, 1))
    gap = values(platoon, v)[0] - platoon.truth.optimum
    assert 0 <= gap.min() < 1e-3


def test_demand_response_has_a_price():
    demand = problems.demand(1)
    rng = np.random.default_rng(0)
    f, g = values(demand, rng.random((200, 20, 2)) * rng.random((200, 1, 1)))
    assert f[g[:, 0] <= 0].min() > demand.truth.optimum > 0
    free = [[fun.wish for fun in demand.truth.functions]]
    assert values(demand, np.array(free))[1] > 0  # so the limit matters


def test_noise_repeats():
    one, two = (problems.power(0).agents[0].fun for _ in range(2))
    assert one([0.3]) == two([0.3])
    assert one([0.3]) != one([0.3])


def test_exponents():
    t = np.arange(1, 101)
    scale = np.linspace(0.5, 1.5, 20)[:, None]
    for power in (0.5, 1.0):
        value, low, high = exponent(scale * t**power)
        assert value == pytest.approx(power, abs=1e-9)
        assert low <= value + 1e-9
        assert high >= value - 1e-9
    assert np.isnan(exponent(-scale * t)[0])


def test_the_command_runs_once_and_reports(tmp_path):
    results, out = tmp_path / "results", tmp_path / "out"
    args = ["bench", "dmabo", "--tasks", "gp,oscillation,power", "--seeds", "1"]
    args += ["--rounds", "4", "--results", str(results), "-o", str(out)]
    first = CliRunner().invoke(app, args)
    assert first.exit_code == 0, first.output
    assert "gp dcei 0:" in first.output
    page = (out / "dmabo.md").read_text()
    assert "growth exponent" in page
    assert "penalty-admm-5 " in page
    for name in ("gp", "oscillation", "power"):
        assert (out / f"dmabo-{name}.png").stat().st_size > 1000
    again = CliRunner().invoke(app, args)
    assert "gp dcei 0:" not in again.output
    record = json.loads(next(results.glob("dmabo/gp/dmabo/*.json")).read_text())
    assert len(record["R"]) == len(record["V_plus"]) == 4
    with pytest.raises(InputError, match="no records"):  # of single runs
        write_reports(results, out)


def test_a_wrong_task_is_named():
    from wideopt.bench.dmabo.runs import chosen_tasks

    with pytest.raises(InputError, match="no task 'powr' in dmabo"):
        chosen_tasks(["powr"])
