import math

import pytest
import torch
from jaxtyping import TypeCheckError

from wideopt.exceptions import InputError
from wideopt.numerics.network import Architecture, fold
from wideopt.numerics.scales import Scales

# checked annotations reject some of these before the code does
REJECTED = (InputError, TypeCheckError)
INITS = ["antisymmetric", "zero-last", "gaussian"]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("batch", [(), (2,), (3, 2)])
def test_shapes_and_batches(depth, init, batch, generator, uniform):
    arch = Architecture(depth=depth, width=8, init=init)
    weights = arch.initial_weights(3, generator, batch)
    assert [tuple(W.shape) for W in weights] == [
        (*batch, *shape) for shape in arch.shapes(3)
    ]
    assert arch.forward(weights, uniform(5, 4)).shape == (*batch, 5)
    assert arch.forward(weights, uniform(7, *batch, 5, 4)).shape == (7, *batch, 5)


@pytest.mark.parametrize("init", ["antisymmetric", "zero-last"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_function_is_zero_at_the_start(init, depth, generator, uniform):
    arch = Architecture(depth=depth, width=64, init=init, activation="relu")
    h = arch.forward(arch.initial_weights(4, generator), uniform(9, 5))
    assert h.abs().max() < 1e-14


def test_same_seed_same_weights():
    def make():
        return Architecture().initial_weights(2, torch.Generator().manual_seed(3))

    assert all(torch.equal(a, b) for a, b in zip(make(), make(), strict=True))


def test_fixed_readout_is_plus_minus_one(generator):
    arch = Architecture(width=64, readout="fixed")
    assert set(arch.initial_weights(2, generator)[-1].unique().tolist()) == {-1.0, 1.0}
    assert arch.trained_layers == (0,)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_fold_halves_antisymmetric_weights_only(depth, generator):
    arch = Architecture(depth=depth, width=8)
    weights = arch.initial_weights(2, generator)
    folded, halves = fold(arch, weights)
    assert folded == Architecture(depth=depth, width=4, init="gaussian")
    assert tuple(halves[0].shape) == (4, 3)
    moved = (weights[0] + 1e-3 * torch.randn_like(weights[0]), *weights[1:])
    assert fold(arch, moved) == (arch, moved)


def neural_bo(weights, X):
    """NeuralBO sec. 4, literally: √m W_L φ(... φ(W_1 x)) in the paper's weights."""
    H = X
    for W in weights[:-1]:
        H = torch.relu(H @ W.mT)
    return math.sqrt(weights[0].shape[0]) * (H @ weights[-1].mT).squeeze(-1)


def neural_cbo(weights, X):
    """Neural-CBO eq. 1, literally: q'/√m D W/√m ... D W x with standard normal Ψ."""
    H = X
    for W in weights[:-1]:
        H = torch.relu(H @ W.mT) / math.sqrt(W.shape[0])
    return (H @ weights[-1].mT).squeeze(-1)


def gram(function, weights, X):
    """Inner products of gradients, one matrix per layer."""
    jacobians = torch.func.jacrev(function)(weights, X)
    return [(J.flatten(1) @ J.flatten(1).mT) for J in jacobians]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("init", ["zero-last", "gaussian"])
def test_neural_bo_parametrization(depth, init, generator, uniform):
    m, X = 16, uniform(5, 4)
    arch = Architecture(depth=depth, width=m, activation="relu", init=init)
    weights = arch.initial_weights(3, generator)
    is_he = init == "zero-last"
    std = math.sqrt((2 if is_he else 1) / m)
    theirs = (*[std * W for W in weights[:-1]], weights[-1] / math.sqrt(m))
    factor = 1.0 if is_he else 2.0**-depth
    torch.testing.assert_close(
        neural_bo(theirs, X), math.sqrt(factor) * arch.forward(weights, X)
    )
    k_theirs = sum(gram(neural_bo, theirs, X)) / m
    k_ours = sum(gram(arch.forward, weights, X))
    torch.testing.assert_close(k_theirs, factor * k_ours)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_neural_cbo_parametrization(depth, generator, uniform):
    X = uniform(5, 4)
    arch = Architecture(depth=depth, width=16, activation="relu", readout="fixed")
    weights = arch.initial_weights(3, generator)
    theirs = (weights[0], *[W / math.sqrt(2) for W in weights[1:-1]], weights[-1])
    ours = gram(arch.forward, weights, X)[:depth]
    grams = gram(neural_cbo, theirs, X)[:depth]
    for layer, (mine, paper) in enumerate(zip(ours, grams, strict=True)):
        power = (1 if layer == 0 else 2) - 2 * depth
        torch.testing.assert_close(paper, 2.0**power * mine)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_without_gain_it_is_neural_cbo_as_printed(depth, generator, uniform):
    X = uniform(5, 4)
    settings = {"depth": depth, "activation": "relu", "readout": "fixed"}
    arch = Architecture(**settings, width=16, has_gain=False)
    weights = arch.initial_weights(3, generator)
    moved = (weights[0] + 0.1, *weights[1:])  # zero at θ_0
    torch.testing.assert_close(arch.forward(moved, X), neural_cbo(moved, X))
    ours = gram(arch.forward, weights, X)[:depth]
    for mine, paper in zip(ours, gram(neural_cbo, weights, X), strict=False):
        torch.testing.assert_close(mine, paper)
    folded, halves = fold(arch, weights)
    assert folded.width == 8
    torch.testing.assert_close(sum(gram(folded.forward, halves, X)[:depth]), sum(ours))


def test_without_gain_inner_weights_are_standard_normal(generator):
    arch = Architecture(depth=2, width=400, activation="relu", has_gain=False)
    inner = arch.initial_weights(3, generator)[1]
    assert inner[:200, :200].std() == pytest.approx(1.0, rel=0.02)
    assert not inner[:200, 200:].any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 0}, "depth is 0"),
        ({"width": 0}, "width is 0"),
        ({"width": 7}, "width is 7"),
        ({"init": "orthogonal"}, "orthogonal"),
        ({"readout": "none"}, "none"),
        ({"activation": "gelu"}, "gelu"),
        ({"init": "zero-last", "readout": "fixed"}, "zero function"),
    ],
)
def test_wrong_settings_raise(settings, message):
    with pytest.raises(REJECTED, match=message):
        Architecture(**settings)


def test_wrong_inputs_raise(generator):
    with pytest.raises(InputError, match="d is 0"):
        Architecture().initial_weights(0, generator)
    arch = Architecture(width=4)
    weights = arch.initial_weights(2, generator)
    with pytest.raises(InputError, match="float32"):
        arch.forward(weights, torch.zeros(1, 3))


def test_embedding(uniform):
    scales = Scales(torch.tensor([1.0, 2.0]).double(), *torch.tensor([0.5, 3]).double())
    Z = scales.embed(torch.tensor([[0.0, 1.0], [0.5, 0.75]]).double())
    assert Z.tolist() == [[-1.0, 2.0, 0.5], [0.0, 1.0, 0.5]]
    batched = Scales(uniform(4, 2), uniform(4), uniform(4))
    assert batched.embed(uniform(3, 2)).shape == (4, 3, 3)
    assert batched.embed(uniform(7, 1, 3, 2)).shape == (7, 4, 3, 3)
    with pytest.raises(InputError, match=r"expected \(\.\.\., n, 2\)"):
        scales.embed(uniform(3, 5))
    with pytest.raises(InputError, match="float32"):
        scales.embed(torch.zeros(1, 2))
    with pytest.raises(REJECTED, match="input"):
        Scales(uniform(1).squeeze(), uniform(1), uniform(1))
