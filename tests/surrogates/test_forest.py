"""The moments of a forest against those computed by hand from its trees."""

import sys

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement

import wideopt as wo
from wideopt.surrogates.forest import RandomForest


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(30, 3, generator=generator, dtype=torch.float64)
    y = (X - 0.5).square().sum(dim=1)
    return X, torch.stack([y, X[:, 0] - X[:, 1]], dim=1)


@pytest.fixture
def points():
    return torch.rand(7, 3, generator=torch.Generator().manual_seed(1)).double()


def by_hand(recipe, X, y, points):
    """Mean and variance of the targets that share a leaf, for each tree."""
    forest = recipe.grown(X.numpy(), y.numpy(), recipe.seed)
    mean, variance = np.zeros((2, recipe.n_trees, len(points)))
    samples = forest.estimators_samples_
    for b, (tree, sample) in enumerate(zip(forest.estimators_, samples, strict=True)):
        homes = tree.apply(X.numpy()[sample])
        for j, leaf in enumerate(tree.apply(points.numpy())):
            targets = y.numpy()[sample][homes == leaf]
            mean[b, j], variance[b, j] = targets.mean(), targets.var()
    return mean, variance


def test_moments_are_those_of_the_trees(data, points):
    X, Y = data
    recipe = RandomForest(n_trees=8, seed=3)
    posterior = recipe.fit(X, Y).posterior(points.unsqueeze(-2))
    for output in range(2):
        mu, var = by_hand(recipe, X, Y[:, output], points)
        mean, variance = mu.mean(axis=0), mu.var(axis=0) + var.mean(axis=0)
        assert np.allclose(posterior.mean[:, 0, output], mean)
        assert np.allclose(posterior.variance[:, 0, output], variance)


def test_splits_move_between_the_points_that_they_separate(data):
    X, Y = data
    points, y = X.numpy(), Y[:, 0].numpy()
    recipe = RandomForest(n_trees=8)
    halfway, moved = recipe._blank(3).fit(points, y), recipe.grown(points, y, 3)
    for i, sample in enumerate(moved.estimators_samples_):
        before, after = halfway.estimators_[i], moved.estimators_[i]
        assert np.array_equal(before.apply(points[sample]), after.apply(points[sample]))
        is_split = before.tree_.children_left >= 0
        thresholds = [t.tree_.threshold[is_split] for t in (before, after)]
        assert not np.isclose(*thresholds).any()


def test_uncertainty_grows_away_from_the_observations():
    X = torch.tensor([[0.0], [0.1], [0.9], [1.0]]).double().repeat(3, 1)
    model = RandomForest(n_trees=200).fit(X, X)
    at = torch.tensor([[0.1], [0.3], [0.5], [0.9]]).double()
    posterior = model.posterior(at.unsqueeze(-2))
    assert posterior.variance[2] > 4 * posterior.variance[[0, 3]].max()
    assert posterior.mean[1] < posterior.mean[2] < posterior.mean[3]  # interpolates


def test_joint_and_marginal_moments_agree(data, points):
    X, Y = data
    model = RandomForest(n_trees=8).fit(X, Y[:, :1])
    joint, single = model.posterior(points), model.posterior(points.unsqueeze(-2))
    assert torch.allclose(joint.mean, single.mean.squeeze(-2))
    assert torch.allclose(joint.variance, single.variance.squeeze(-2))


def test_restored_equals_fitted(data, points):
    X, Y = data
    recipe = RandomForest(n_trees=8, seed=5)
    model = recipe.fit(X, Y)
    again = RandomForest(n_trees=8).restore(X, Y, recipe.hyper(model))
    assert torch.equal(model.posterior(points).mean, again.posterior(points).mean)


def test_missing_values_are_left_out(data, points):
    X, Y = data
    Y = Y.clone()
    Y[::2, 1] = torch.nan
    model = RandomForest(n_trees=8).fit(X, Y).subset_output([1])
    alone = RandomForest(n_trees=8).fit(X[1::2], Y[1::2, 1:])
    assert torch.equal(model.posterior(points).mean, alone.posterior(points).mean)


def test_it_serves_as_a_botorch_model(data, points):
    X, Y = data
    model = RandomForest(n_trees=8).fit(X, Y[:, :1])
    values = LogExpectedImprovement(model, best_f=0.1, maximize=False)(
        points.unsqueeze(-2)
    )
    assert values.shape == (7,)
    assert values.isfinite().all()
    assert model.noise.shape == (1,)


@pytest.mark.parametrize(
    "settings", [{"n_trees": 1}, {"min_split": 1}, {"share": 0.0}, {"share": 1.5}]
)
def test_bad_settings(settings):
    with pytest.raises(wo.InputError, match=next(iter(settings))):
        RandomForest(**settings)


def test_without_scikit_learn_the_error_names_the_extra(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(wo.InputError, match=r"wideopt\[bench\]"):
        RandomForest().fit(*data)
