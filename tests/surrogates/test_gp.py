"""The GP is BoTorch's: its posterior, learned and restored."""

import json
import math

import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from gpytorch.mlls import ExactMarginalLogLikelihood

import wideopt as wo
from wideopt.surrogates import GaussianProcess, outputs_of


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(12, 3, generator=generator, dtype=torch.float64)
    f = (6 * X).sin().sum(dim=1)
    return X, torch.stack([5 + 3 * f, X[:, 0] - 0.5], dim=1)


@pytest.fixture
def Xs():
    return torch.rand(2, 5, 1, 3, dtype=torch.float64)


def moments(model, X):
    posterior = model.posterior(X)
    return posterior.mean, posterior.variance


def test_equals_botorch(data, Xs):
    X, Y = data
    ours = GaussianProcess().fit(X, Y[:, :1])
    theirs = SingleTaskGP(
        X,
        Y[:, :1],
        covar_module=ours.covar_module,
        likelihood=ours.likelihood,
        mean_module=ours.mean_module,
        outcome_transform=Standardize(m=1),
    ).eval()
    for X_new in (Xs, Xs.squeeze(-2), Xs[0, :, 0], Xs[0, 0]):
        for a, b in zip(moments(ours, X_new), moments(theirs, X_new), strict=True):
            assert a.shape == b.shape
            assert torch.allclose(a, b, rtol=1e-8, atol=1e-12)


def test_gradients_of_batched_marginals(data, Xs):
    model = GaussianProcess().fit(data[0], data[1][:, :1])

    def batched(X):
        return sum(m.sum() for m in moments(model, X))

    def joint(X):
        return sum(m.sum() for m in moments(model, X.reshape(-1, 3)))

    Xs.requires_grad_()
    (a,), (b,) = (torch.autograd.grad(f(Xs), Xs) for f in (batched, joint))
    assert torch.allclose(a, b, rtol=1e-6, atol=1e-10)


def test_interpolates_and_returns_to_the_mean(data):
    X, Y = data
    model = GaussianProcess().fit(X, Y)
    mean, variance = moments(model, X)
    assert mean.shape == (12, 2)
    assert (mean - Y).abs().max() < 0.1
    far = moments(model, X + 100)[1]
    assert bool((far > 10 * variance.max(dim=0).values).all())


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
def test_restored_through_json_is_the_same_model(kernel, data, Xs):
    X, Y = data
    recipe = GaussianProcess(kernel)
    model = recipe.fit(X, Y)
    hyper = json.loads(json.dumps(recipe.hyper(model)))
    again = recipe.restore(X, Y, hyper)
    assert recipe.hyper(again) == hyper
    for a, b in zip(moments(model, Xs), moments(again, Xs), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
def test_fits_as_botorch_does(kernel, data):
    X, Y = data
    ours = GaussianProcess(kernel).fit(X, Y[:, :1])
    theirs = GaussianProcess(kernel)._blank(X, Y[:, 0])
    mll = ExactMarginalLogLikelihood(theirs.likelihood, theirs)
    fit_gpytorch_mll(mll)
    losses = []
    for model in (ours, theirs):
        model.train()
        mll = ExactMarginalLogLikelihood(model.likelihood, model)
        losses.append(-mll(model(X), model.train_targets).item())
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
def test_all_outputs_at_once_are_each_by_itself(kernel, data, Xs):
    model = GaussianProcess(kernel).fit(*data)
    joint = moments(model, Xs)
    for i, output in enumerate(outputs_of(model)):
        for a, b in zip(joint, moments(output, Xs), strict=True):
            assert torch.allclose(a[..., i], b[..., 0], rtol=1e-10)
    second = model.subset_output([1])
    for a, b in zip(joint, moments(second, Xs), strict=True):
        assert torch.allclose(a[..., 1:], b, rtol=1e-10)


def test_new_parameters_give_new_answers(data, Xs):
    model = GaussianProcess().fit(*data)
    before = moments(model, Xs)[1]
    model.train()
    for gp in model.models:
        gp.covar_module.lengthscale = 0.3
    model.eval()
    after, joint = moments(model, Xs)[1], moments(model, Xs[0, :, 0])[1]
    assert not torch.allclose(before, after)
    assert torch.allclose(after[0, :, 0], joint, rtol=1e-8)


def test_missing_values_are_left_out(data, Xs):
    X, Y = data
    Y[3, 0] = Y[5, 0] = math.nan
    model = GaussianProcess().fit(X, Y)
    first, second = outputs_of(model)
    assert first.train_inputs[0].shape == (10, 3)
    assert second.train_inputs[0].shape == (12, 3)
    assert bool(moments(model, Xs)[0].isfinite().all())


@pytest.mark.parametrize(
    "y", [[1.0], [2.0, 2.0], [0.0, 0.0, 0.0], [1e30, -1e30, 0.0], [1e-30, 0.0, 2e-30]]
)
def test_awkward_data(y):
    X = torch.linspace(0, 1, len(y), dtype=torch.float64)[:, None]
    Y = torch.tensor(y, dtype=torch.float64)[:, None]
    mean, variance = moments(GaussianProcess().fit(X, Y), X)
    assert bool(mean.isfinite().all())
    assert bool((variance > 0).all())


def test_repeated_points_with_other_outcomes(data):
    X, Y = data
    model = GaussianProcess().fit(torch.cat([X, X]), torch.cat([Y, Y + 0.5]))
    mean, _ = moments(model, X)
    assert (mean - (Y + 0.25)).abs().mean() < 0.5


@pytest.mark.usefixtures("unchecked")
def test_unknown_kernel():
    with pytest.raises(wo.InputError, match="'cubic'"):
        GaussianProcess("cubic")
