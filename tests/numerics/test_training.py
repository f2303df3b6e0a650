import pytest
import torch
from jaxtyping import TypeCheckError

from wideopt.exceptions import InputError
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.regression import Network, Regression, flattened
from wideopt.numerics.scales import Scales
from wideopt.numerics.training import Training, train

REJECTED = (InputError, TypeCheckError)


@pytest.fixture
def data(uniform):
    X = uniform(15, 2)
    return X, torch.stack([torch.sin(4 * X[:, 0]), X[:, 1] ** 2, X.sum(-1) - 1])


@pytest.fixture
def make_network(generator):
    def make(batch=(3,), **settings):
        arch = Architecture(**{"width": 64, **settings})
        weights = arch.initial_weights(2, generator, batch)
        return Network(arch, Scales.ones(2, batch), weights)

    return make


def retrained(network, fit):
    return Network(network.architecture, network.scales, fit.weights)


RECIPES = {
    "sgd": Training("sgd", lr=0.5, epochs=60, batch_size=5),
    "adam": Training("adam", lr=0.03, epochs=80),
    "lbfgs": Training("lbfgs", epochs=40),
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("readout", ["trained", "fixed"])
@pytest.mark.parametrize("depth", [1, 2])
def test_every_optimizer_learns(name, readout, depth, data, make_network, generator):
    X, Y = data
    network = make_network(readout=readout, depth=depth)
    fit = train(network, X, Y, RECIPES[name], generator=generator)
    residual = (retrained(network, fit)(X) - Y).square().sum(-1)
    assert (residual < 0.2 * Y.square().sum(-1)).all()
    torch.testing.assert_close(fit.losses[0], 0.5 * Y.square().sum(-1))
    assert fit.n_recoveries.tolist() == [0, 0, 0]
    if readout == "fixed":
        assert torch.equal(fit.weights[-1], network.weights[-1])


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
def test_wide_networks_train_to_the_linearized_mean(
    optimizer, data, make_network, uniform
):
    X, Y = data
    network = make_network(width=2048)
    noise = torch.tensor([1e-2, 1e-1, 1e-2]).double()
    kernel = TangentKernel.of(network.architecture, network.weights, network.scales)
    A = uniform(30, 2)
    mean, _ = fit_posterior(kernel, X, Y, noise).marginals(A)
    recipe = {
        "lbfgs": Training("lbfgs", epochs=100, tolerance=1e-7),
        "adam": Training("adam", lr=0.02, epochs=200),
    }
    fit = train(network, X, Y, recipe[optimizer], ridge=noise)
    trained = retrained(network, fit)(A)
    torch.testing.assert_close(trained, mean, rtol=0, atol=0.05)
    assert (mean - trained).abs().max() < 0.05 * mean.abs().max()


def test_one_pass_is_equation_2(data, make_network):
    X, Y = data
    network = make_network(batch=(), activation="relu", readout="fixed", depth=2)
    lr = 0.05
    fit = train(network, X, Y[0], Training.one_pass(lr))
    weights = network.weights
    for x, y in zip(X, Y[0], strict=True):  # W ← W + α (y - a) ∂a/∂W
        trained = [W.clone().requires_grad_() for W in weights[:-1]]
        a = Network(network.architecture, network.scales, (*trained, weights[-1]))
        value = a(x[None])[0]
        grads = torch.autograd.grad(value, trained)
        steps = zip(weights[:-1], grads, strict=True)
        weights = (*[W + lr * (y - value.detach()) * g for W, g in steps], weights[-1])
    for mine, expected in zip(fit.weights, weights, strict=True):
        torch.testing.assert_close(mine, expected)
    assert fit.n_epochs == 1


def test_outputs_do_not_touch_each_other(data, make_network):
    X, Y = data
    network = make_network()
    short = Training("lbfgs", epochs=10)  # before rounding has grown
    for recipe in (RECIPES["adam"], short, Training.one_pass(0.1)):
        together = train(network, X, Y, recipe)
        weights = tuple(W[1] for W in network.weights)
        one = Network(network.architecture, Scales.ones(2), weights)
        alone = train(one, X, Y[1], recipe)
        for W, V in zip(together.weights, alone.weights, strict=True):
            torch.testing.assert_close(W[1], V, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_divergence_is_recovered_per_output(name, data, make_network, generator):
    X, Y = data
    network = make_network()
    Y = torch.cat([1e4 * Y[:1], Y[1:]])
    wild = Training(name, lr=30.0, epochs=60, batch_size=5)
    fit = train(network, X, Y, wild, generator=generator)
    assert (fit.n_recoveries > 0).any()
    assert all(torch.isfinite(W).all() for W in fit.weights)
    assert (fit.n_epochs == 60).all()
    final = Regression.of(
        network, X, Y, network.weights, torch.zeros(()).double()
    ).loss(flattened(network.architecture, fit.weights, (3,)))
    assert (final < fit.losses[0]).all()


def test_hopeless_targets_leave_finite_weights(data, make_network):
    X, Y = data
    network = make_network()
    fit = train(network, X, 1e200 * Y, Training("sgd", lr=1.0, epochs=3))
    assert all(torch.isfinite(W).all() for W in fit.weights)


def test_missing_targets_play_no_part(data, make_network):
    X, Y = data
    network = make_network()
    holes = Y.clone()
    holes[0, ::3] = torch.nan
    holes[2] = torch.nan
    for recipe in (RECIPES["adam"], Training("lbfgs", epochs=10)):
        fit = train(network, X, holes, recipe)
        keep = ~torch.isnan(holes[0])
        one = Network(
            network.architecture, Scales.ones(2), tuple(W[0] for W in network.weights)
        )
        alone = train(one, X[keep], Y[0, keep], recipe)
        for W, V in zip(fit.weights, alone.weights, strict=True):
            torch.testing.assert_close(W[0], V, rtol=1e-6, atol=1e-6)
        for W, V in zip(fit.weights, network.weights, strict=True):
            assert torch.equal(W[2], V[2])


def test_warm_start_and_anchor(data, make_network):
    X, Y = data
    network, recipe = make_network(), RECIPES["lbfgs"]
    first = train(network, X, Y, recipe)
    warm = train(retrained(network, first), X, Y, recipe, anchor=network.weights)
    assert (warm.losses[0] <= first.losses[-1] + 1e-12).all()
    pulled = train(
        retrained(network, first),
        X,
        Y,
        Training("lbfgs", epochs=200, tolerance=1e-12, ridge=1e6),
        anchor=network.weights,
    )
    for W, V in zip(pulled.weights, network.weights, strict=True):
        torch.testing.assert_close(W, V, rtol=0, atol=1e-4)


def test_early_stop(data, make_network):
    X, Y = data
    recipe = Training("adam", lr=0.02, epochs=1_000, patience=5, tolerance=0.1)
    fit = train(make_network(), X, Y, recipe)
    assert (fit.n_epochs < 500).all()
    assert fit.losses.shape == (fit.n_epochs.max() + 1, 3)


def test_same_generator_same_weights(data, make_network):
    X, Y = data
    network = make_network()
    runs = [
        train(network, X, Y, RECIPES["sgd"], generator=torch.Generator().manual_seed(1))
        for _ in range(2)
    ]
    for W, V in zip(runs[0].weights, runs[1].weights, strict=True):
        assert torch.equal(W, V)


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "rmsprop"},
        {"lr": 0.0},
        {"epochs": 0},
        {"batch_size": -1},
        {"patience": 0},
        {"ridge": -1.0},
        {"tolerance": -1.0},
    ],
)
def test_wrong_recipes_raise(settings):
    with pytest.raises(REJECTED, match=next(iter(settings))):
        Training(**settings)


def test_wrong_inputs_raise(data, make_network):
    X, Y = data
    network, recipe = make_network(), Training()
    with pytest.raises(InputError, match="float32"):
        train(network, X.float(), Y, recipe)
    with pytest.raises(REJECTED, match="Y"):
        train(network, X, Y[:, 1:], recipe)
    with pytest.raises(InputError, match="finite"):
        train(network, X, Y / 0, recipe)
    with pytest.raises(InputError, match="generator"):
        train(network, X, Y, RECIPES["sgd"])
