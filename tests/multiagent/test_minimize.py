"""Whole runs: violations fall, optima are met, seeds repeat, failures are survived."""

import itertools
import math

import numpy as np
import pytest

import wideopt as wo
from wideopt.multiagent import Agent, Truth, minimize
from wideopt.surrogates import GaussianProcess, Tangent

FAST = Tangent(activation="erf", is_tuned=False, noise=1e-3, input_scale=2.0)
QUICK = {"surrogate": FAST, "n_restarts": 0, "n_candidates": 128}


def local(i):
    def fun(x):
        f = (x[0] - 0.8) ** 2 + 0.1 * math.sin(3 * x[0] + i)
        return f, [x[0] - 0.3, 0.3 * math.cos(2 * x[0] + i) - 0.2]

    return fun


def coupled(**options):
    """Three agents, two constraints: the first is active at the optimum."""
    settings = {**QUICK, **options}
    return [Agent(local(i), [(-1, 1)], n_constraints=2, **settings) for i in range(3)]


def grid_values():
    """Sum of objectives and worst sum of constraints at all points of a grid."""
    grid = np.linspace(-1, 1, 41)
    tables = [[local(i)([x]) for x in grid] for i in range(3)]
    F = [np.array([f for f, _ in table]) for table in tables]
    G = [np.array([g for _, g in table]) for table in tables]
    rows = itertools.product(range(41), repeat=3)
    I, J, K = np.array(list(rows)).T  # noqa: E741
    g = G[0][I] + G[1][J] + G[2][K]
    return F[0][I] + F[1][J] + F[2][K], g.max(axis=1)


@pytest.fixture(scope="module")
def runs():
    truth = Truth(0.5)  # not the optimum, but any number will do
    return [minimize(coupled(), n_rounds=30, seed=s, truth=truth) for s in range(3)]


def test_average_violation_falls(runs):
    for result in runs:
        average = result.V_plus / np.arange(1, 31)
        assert average[-1] < 0.75 * average[9]
        late = (result.V_plus[-1] - result.V_plus[14]) / 15
        assert late < 0.5 * average[14]
        assert result.V[-1] / 30 < 0.6 * result.V[9] / 10


def test_best_round_is_better_than_random(runs):
    f, g = grid_values()
    optimum = f[g <= 0].min()  # of the grid; between its points is a little less
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(f), (200, 37))  # as many as evaluations of each agent
    best = np.where(g[draws] <= 0, f[draws], np.inf).min(axis=1)
    random = np.median(best) - optimum
    gaps = [result.fun - optimum for result in runs]
    assert all(result.feasible for result in runs)
    assert np.median(gaps) < 0.5 * random


def test_dcei_keeps_violating(runs):
    # section 5.1: its strong violation grows linearly
    options = {"n_rounds": 16, "method": "dcei"}
    baseline = [minimize(coupled(), seed=seed, **options) for seed in range(2)]
    late = [r.V_plus[15] - r.V_plus[7] for r in baseline]
    ours = [r.V_plus[15] - r.V_plus[7] for r in runs[:2]]
    assert np.mean(ours) < 0.8 * np.mean(late)
    assert baseline[0].lam.size == 0


def test_metrics_are_those_of_equation_4(runs):
    result = runs[0]
    total, strong, regret = np.zeros(2), np.zeros(2), 0.0
    for t in range(30):
        trials = [history[3 + t] for history in result.histories]
        g = np.sum([trial.c for trial in trials], axis=0)
        total, strong = total + g, strong + np.maximum(g, 0)
        regret += sum(trial.y for trial in trials) - 0.5
        assert result.V[t] == pytest.approx(np.linalg.norm(np.maximum(total, 0)))
        assert result.V_plus[t] == pytest.approx(np.linalg.norm(strong))
        assert result.R[t] == pytest.approx(regret)
    assert result.lam.shape == (31, 2)
    assert result.mu.shape == (31, 0)
    assert np.all(result.lam >= 0)
    best = [history[3 + result.round] for history in result.histories]
    assert result.fun == pytest.approx(sum(trial.y for trial in best))
    np.testing.assert_array_equal(np.array(result.x), [trial.x for trial in best])


def test_drift_lowers_the_violation():
    plain = minimize(coupled(), n_rounds=12, seed=0)
    drift = minimize(coupled(), n_rounds=12, seed=0, eps=0.3)
    assert drift.V[-1] < plain.V[-1]


def power(a):
    return lambda x: -math.log(1 + a * x[0])


def shared(**options):
    settings = {**QUICK, **options}
    return [Agent(power(a), [(0, 1)], A=[[1.0]], **settings) for a in (1.0, 3.0, 8.0)]


@pytest.fixture(scope="module")
def allocations():
    return [minimize(shared(), [1.0], n_rounds=25, seed=seed) for seed in range(2)]


def test_power_allocation_meets_the_budget_on_average(allocations):
    # min -Σ log(1 + a_i x_i), Σ x_i = 1. Water filling: x_i = [w - 1/a_i]⁺, and agent
    # 1 gets nothing: 2 w = 1 + 1/3 + 1/8.
    w = (1 + 1 / 3 + 1 / 8) / 2
    optimum = -math.log(3 * w) - math.log(8 * w)
    for result in allocations:
        assert result.feasible
        assert result.fun == pytest.approx(optimum, abs=0.1)
        shifts = np.abs(result.shifts[:, 0])
        assert shifts[-10:].mean() < 0.25 * shifts[:5].mean()
        S = result.S
        assert S[-1] / 25 < 0.5 * S[4] / 5
        # Lemma 10: the price is the sum of shifts.
        assert S[-1] == pytest.approx(abs(result.mu[-1, 0]))
        # In money it is the marginal utility at the optimum, 1/w.
        assert result.eta[-1] * result.mu[-1, 0] == pytest.approx(1 / w, abs=0.25)


def test_penalty_admm_meets_the_budget_but_not_the_optimum(allocations):
    for seed, ours in enumerate(allocations):
        other = minimize(shared(), [1.0], n_rounds=8, seed=seed, method="penalty-admm")
        assert abs(other.shifts[-1, 0]) < 0.05
        assert other.feasible
        assert ours.fun < other.fun - 0.1


def test_same_seed_same_run():
    one, two = (minimize(coupled(), n_rounds=4, seed=5) for _ in range(2))
    other = minimize(coupled(), n_rounds=4, seed=6)
    np.testing.assert_array_equal(one.lam, two.lam)
    np.testing.assert_array_equal(one.objectives, two.objectives)
    assert not np.array_equal(one.objectives, other.objectives)


@pytest.mark.parametrize("surrogate", ["gp", "tangent"])
def test_surrogates_that_learn(surrogate):
    agents = coupled(surrogate=surrogate, n_restarts=1, n_candidates=64)
    result = minimize(agents[:2], n_rounds=2, seed=0)
    assert np.isfinite(result.objectives).all()


def test_constraints_over_subsets_of_agents():
    def first(x):
        return (x[0] - 1) ** 2, [x[0] - 0.5]

    def second(x):
        return (x[0] - 1) ** 2, [x[0] - 0.2, -0.1]  # of constraints 1 and 0

    agents = [
        Agent(first, [(0, 1)], n_constraints=2, constraints=[0], **QUICK),
        Agent(second, [(0, 1)], n_constraints=2, constraints=[1, 0], **QUICK),
    ]
    result = minimize(agents, n_rounds=20, eta=1.0, seed=0)
    x, y = (np.array([t.x[0] for t in h[3:]]) for h in result.histories)
    np.testing.assert_allclose(result.sums, np.stack([x - 0.6, y - 0.2], axis=1))
    assert np.mean(x[10:]) == pytest.approx(0.6, abs=0.15)
    assert np.mean(y[10:]) == pytest.approx(0.2, abs=0.15)


def test_appendix_b_with_models():
    # see test_coordinator.py for the same with known values
    table = {-1: (1.0, [-1.0]), 0: (0.5, [0.0]), 1: (-1.0, [2.0])}
    space = [wo.Integer(-1, 1)]
    agent = Agent(lambda x: table[int(x[0])], space, n_constraints=1, **QUICK)
    result = minimize([agent], n_rounds=40, seed=0)
    x = [int(trial.x[0]) for trial in result.histories[0]]
    assert sorted(x[:3]) == [-1, 0, 1]  # all three are known before the first round
    assert set(x[3:]) == {-1, 1}
    assert np.mean(np.array(x[13:]) == 1) == pytest.approx(1 / 3, abs=0.1)
    assert result.V_plus[-1] > 0.6 * 40
    assert result.x[0] == [-1]


def test_named_mixed_and_high_dimensional_spaces():
    def mixed(p):
        return p["n"] * 0.1 + (p["kind"] == "b"), [1.0 - p["n"] * 0.2]

    def wide(x):
        return float(np.sum((np.asarray(x) - 0.5) ** 2)), [0.2 - x[0]]

    spaces = {"n": wo.Integer(0, 9), "kind": wo.Categorical(["a", "b"])}
    agents = [
        Agent(mixed, spaces, n_constraints=1, **QUICK),
        Agent(wide, [(0, 1)] * 5, n_constraints=1, **{**QUICK, "n_restarts": 2}),
    ]
    result = minimize(agents, n_rounds=4, seed=0)
    assert set(result.x[0]) == {"n", "kind"}
    assert len(result.x[1]) == 5
    assert "x of agent 1" in repr(result)


def test_failures_are_survived():
    calls = itertools.count()

    def crashing(x):
        if next(calls) % 3 == 0:
            raise RuntimeError("no")
        return (math.nan if x[0] > 0.9 else x[0]), [0.1 - x[0]]

    steady = Agent(lambda x: (x[0], [-0.05]), [(0, 1)], n_constraints=1, **QUICK)
    agents = [Agent(crashing, [(0, 1)], n_constraints=1, **QUICK), steady]
    result = minimize(agents, n_rounds=8, seed=0)
    failed = [t for t in result.histories[0] if t.state == "failed"]
    assert failed[0].error == "RuntimeError: no"
    assert np.isnan(result.objectives).any()
    assert np.isfinite(result.fun)
    assert np.isfinite(result.V).all()


def test_an_agent_that_always_fails():
    def never(x):
        raise RuntimeError

    result = minimize([Agent(never, [(0, 1)], **QUICK)], n_rounds=3, seed=0)
    assert result.x is None
    assert not result.feasible
    assert "failed in every round" in repr(result)


def test_doubling():
    result = minimize(coupled(), n_rounds=5, eta="doubling", seed=0)
    assert result.eta == pytest.approx([1, 0.5**0.5, 0.5**0.5, 0.5, 0.5, 0.5])


def test_plot(runs):
    from matplotlib import pyplot as plt

    panels = runs[0].plot()
    assert [len(ax.lines) for ax in panels] == [1, 2, 2]
    plt.close("all")


def test_a_recipe_of_your_own():
    agents = coupled(surrogate=GaussianProcess("matern", max_iter=10))
    assert minimize(agents[:1], n_rounds=1, seed=0).n_rounds == 1


@pytest.mark.parametrize(
    ("agents", "options", "words"),
    [
        ([], {}, "at least one"),
        ([*coupled(), *shared()], {}, "the same n_constraints"),
        (coupled(), {"n_rounds": 0}, "n_rounds must be at least 1, but got 0"),
        (coupled(), {"b": [1.0]}, "b needs 0 finite"),
        (shared(), {"b": [1.0, 2.0]}, "b needs 1 finite"),
        (shared(), {"method": "dcei"}, "no affine constraints"),
        (coupled(), {"method": "penalty-admm"}, "no black-box constraints"),
        (coupled(), {"method": "random"}, "method is one of dmabo"),
        (coupled(), {"eta": "half"}, "eta is a number or 'doubling'"),
        (coupled(), {"seed": -1}, "seed must be at least 0, but got -1"),
        (coupled(), {"tolerance": -1.0}, "tolerance must be at least 0"),
    ],
)
def test_bad_options(agents, options, words, unchecked):
    with pytest.raises(wo.InputError, match=words):
        minimize(agents, **options)


def test_a_wrong_number_of_constraints_is_an_error():
    with pytest.raises(wo.InputError, match=r"Expected 2 constraint value\(s\)"):
        minimize([Agent(lambda x: (0.0, [1.0]), [(0, 1)], n_constraints=2)], n_rounds=1)
