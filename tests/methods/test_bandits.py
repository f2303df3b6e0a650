"""Bandits: indices by hand, posteriors in closed form, and regret."""

import math

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods.arms import Arms
from wideopt.methods.bandits import gaussian_posterior, ucb1_index
from wideopt.methods.catalog import create
from wideopt.methods.feature_bandits import KernelBelief, LinearBelief

BANDITS = [m for m in wo.methods() if getattr(create(m), "is_bandit", False)]
ROWS = np.random.default_rng(0).uniform(-1, 1, size=(20, 3))
SPACE = wo.Space.from_candidates(ROWS)
PULLS = [(0, 2.0), (1, 1.0), (0, 4.0), (3, 0.0), (0, 4.0), (1, 1.5)]  # arm, objective


def dataset(pulls=PULLS, pending=()):
    observed = [(SPACE.encode((i,)), Trial(ROWS[i], y)) for i, y in pulls]
    points = [SPACE.encode((i,)) for i in pending]
    return Dataset.of(SPACE, observed, points, 0, keeps_repeats=True)


def rewards(data):
    return (-data.Z[:, 0]).numpy()


def test_arms_are_counted_and_averaged():
    data = dataset(pending=[3, 5, 5])
    arms, r = Arms.of(data), rewards(data)
    assert arms.n_pulls[[0, 1, 3, 5]].tolist() == [3, 2, 1, 0]  # equal outcomes too
    assert arms.n_pending[[0, 3, 5]].tolist() == [0, 1, 2]
    assert arms.mean[0] == pytest.approx(r[[0, 2, 4]].mean())
    within = sum(
        np.square(r[rows] - r[rows].mean()).sum() for rows in ([0, 2, 4], [1, 5])
    )
    assert arms.noise == pytest.approx(within / 3)


def test_infeasible_and_failed_pulls_are_worth_less_than_the_worst_feasible():
    observed = [
        (SPACE.encode((0,)), Trial(ROWS[0], 1.0, (-1.0,))),
        (SPACE.encode((1,)), Trial(ROWS[1], 2.0, (-1.0,))),
        (SPACE.encode((2,)), Trial(ROWS[2], 0.0, (1.0,))),
        (SPACE.encode((3,)), Trial(ROWS[3], state="failed")),
    ]
    arms = Arms.of(Dataset.of(SPACE, observed, [], 1, keeps_repeats=True))
    assert arms.mean[0] > arms.mean[1]
    assert arms.mean[[2, 3]].max() <= arms.mean[1] - 1


def test_ucb1_index_by_hand():
    data = dataset(pending=[3])
    r = rewards(data)
    unit = (r - r.min()) / (r.max() - r.min())
    index = ucb1_index(Arms.of(data))
    t = 7  # six pulls and one under way
    expected = {
        0: unit[[0, 2, 4]].mean() + math.sqrt(2 * math.log(t) / 3),
        1: unit[[1, 5]].mean() + math.sqrt(2 * math.log(t) / 2),
        3: unit[3] + math.sqrt(2 * math.log(t) / 2),
    }
    for arm, value in expected.items():
        assert float(index[arm]) == pytest.approx(value)
    assert index[7].isinf()


def test_gaussian_posterior_by_hand():
    arms = Arms.of(dataset())
    mean, variance = gaussian_posterior(arms)
    precision = 1 + 3 / arms.noise
    assert float(variance[0]) == pytest.approx(1 / precision)
    assert float(mean[0]) == pytest.approx(
        3 * float(arms.mean[0]) / arms.noise / precision
    )
    assert (float(mean[9]), float(variance[9])) == (0.0, 1.0)


def test_linear_belief_in_closed_form():
    data, ridge = dataset(pending=[5]), 0.5
    belief = LinearBelief.of(Arms.of(data), ridge)
    phi = np.hstack([np.ones((20, 1)), 2 * SPACE.every_point() - 1])
    pulls = phi[[i for i, _ in PULLS]]
    A = ridge * np.eye(4) + pulls.T @ pulls
    theta = np.linalg.solve(A, pulls.T @ rewards(data))
    assert np.allclose(belief.mean, phi @ theta)
    A += np.outer(phi[5], phi[5])  # under way: narrows, does not move
    sigma = np.sqrt(np.einsum("ij,jk,ik->i", phi, np.linalg.inv(A), phi))
    assert np.allclose(belief.sigma(), sigma)


def test_kernel_belief_in_closed_form():
    data, ridge, scale = dataset(pending=[5]), 0.3, 0.7
    belief = KernelBelief.of(Arms.of(data), ridge, scale)
    X = SPACE.every_point()
    K = np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2) / scale**2)
    at, r = [i for i, _ in PULLS], rewards(data)
    weights = np.linalg.solve(K[np.ix_(at, at)] + ridge * np.eye(6), r - r.mean())
    assert np.allclose(belief.mean, r.mean() + K[:, at] @ weights)
    at = [*at, 5]
    solved = np.linalg.solve(K[np.ix_(at, at)] + ridge * np.eye(7), K[at])
    assert np.allclose(belief.sigma() ** 2, 1 - np.einsum("ij,ji->i", K[:, at], solved))


@pytest.mark.parametrize("belief", [LinearBelief, KernelBelief])
def test_draws_have_the_moments_of_the_belief(belief):
    believed = belief.of(Arms.of(dataset()), 0.3)
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([believed.deviation(generator) for _ in range(2000)])
    assert draws.mean(dim=0).abs().max() < 0.1
    assert torch.allclose(draws.std(dim=0), believed.sigma(), rtol=0.1, atol=0.02)


FEW = wo.Space.from_candidates(ROWS[:6])
MEANS = ROWS[:6] @ np.array([1.0, -0.5, 0.3])


def regret(method, seed, n):
    """Cumulative regret at n/2 and n pulls of arms with a linear mean."""
    rng = np.random.default_rng(seed)
    opt = wo.Optimizer(FEW, method=method, seed=seed)
    total = [0.0]
    for _ in range(n):
        x = opt.ask()
        (i,) = FEW.values(x)
        opt.tell(x, MEANS[i] + 0.3 * rng.normal())
        total.append(total[-1] + MEANS[i] - MEANS.min())
    return total[n // 2], total[n]


@pytest.mark.parametrize("method", BANDITS)
def test_regret_is_sublinear_and_below_that_of_random_pulls(method):
    n = 100
    half, whole = np.mean([regret(method, seed, n) for seed in range(2)], axis=0)
    random = n * (MEANS.mean() - MEANS.min())
    assert whole < 0.7 * random
    if method != "epsilon-greedy":  # a constant ε costs the same for ever
        assert whole - half < 0.8 * half  # the second half costs less than the first


@pytest.mark.parametrize("method", BANDITS)
def test_categories_and_repeats(method):
    opt = wo.Optimizer([wo.Categorical(["a", "b", "c"])], method=method, seed=0)
    cost = {"a": 0.3, "b": 0.0, "c": 1.0}
    asked = []
    for _ in range(60):
        x = opt.ask()
        asked.append(x[0])
        opt.tell(x, cost[x[0]])  # without noise: equal outcomes are pulls as well
    assert opt.best.x[0] == "b"
    assert asked[-30:].count("b") > 15
    assert opt.best.n_evals == 60


@pytest.mark.parametrize("method", BANDITS)
def test_a_continuous_space_is_refused_at_once(method):
    with pytest.raises(wo.InputError, match="from_candidates"):
        wo.Optimizer([(0, 1), wo.Integer(0, 3)], method=method)


@pytest.mark.parametrize("method", BANDITS)
def test_failures_constraints_and_batches(method):
    opt = wo.Optimizer(SPACE, method=method, n_constraints=1, seed=0)
    for i in range(4):
        for x in opt.ask(3):
            if i % 2:
                opt.tell_failed(x)
            else:
                opt.tell(x, 1.0, [math.nan if i else x[0]])
    assert len(opt.ask(4)) == 4


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("epsilon-greedy", {"epsilon": 1.5}),
        ("ucb1", {"exploration": -1.0}),
        ("lin-ucb", {"ridge": 0.0}),
        ("lin-ucb", {"length_scale": 1.0}),
        ("ucb1", {"epsilon": 0.1}),
        ("kernel-ts", {"length_scale": -1.0}),
    ],
)
def test_bad_options(method, options):
    with pytest.raises(wo.InputError, match=next(iter(options))):
        create(method, options)
