"""Bent axes: the map itself, its gradient, and when evidence asks for it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.scales import Scales, bent
from wideopt.search.design import sobol_points
from wideopt.surrogates.tangent import Tangent


@given(st.floats(-6, 6))
def test_the_ends_stay_and_order_is_kept(t):
    X = torch.linspace(0, 1, 101, dtype=torch.float64)[:, None]
    w = bent(X, torch.tensor([t], dtype=torch.float64))

    assert float(w[0]) == pytest.approx(0.0, abs=1e-12)
    assert float(w[-1]) == pytest.approx(1.0)
    assert bool((w.diff(dim=0) > 0).all())


@given(st.floats(-6, 6), st.floats(0, 1))
def test_it_is_the_inverse_of_an_exponential(t, x):
    w = bent(torch.tensor([x]).double(), torch.tensor([t]).double())
    back = torch.expm1(t * w) / torch.expm1(torch.tensor(t)) if abs(t) > 1e-3 else w
    assert float(back) == pytest.approx(x, abs=1e-3 if abs(t) <= 1e-3 else 1e-5)


@pytest.mark.parametrize("t", [-3.0, -2e-4, 0.0, 5e-5, 1.1e-4, 2.0])
def test_gradients(t):
    X = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)
    bend = torch.tensor([t, 0.7], dtype=torch.float64, requires_grad=True)
    # finite differences of the series and of the curve agree with autograd
    assert torch.autograd.gradcheck(bent, (X, bend), eps=1e-7, atol=1e-5)


def test_a_kernel_of_bent_axes_is_that_of_bent_points():
    t = torch.tensor([2.0, -1.0], dtype=torch.float64)
    X = torch.rand(6, 2, dtype=torch.float64)
    straight = Scales.ones(2)
    bend = Scales(straight.input, straight.bias, straight.output, t)

    torch.testing.assert_close(bend.embed(X), straight.embed(bent(X, t)))


def test_vectors_and_json_go_there_and_back():
    prior = Prior(bend_spread=1.0)
    hyper = prior.typical(3, (2,))
    again = Hyper.from_vector(hyper.vector + 0.1, 3)

    assert hyper.vector.shape == (2, prior.n_hyper(3)) == (2, 9)
    torch.testing.assert_close(again.bend, torch.full((2, 3), 0.1).double())
    restored = Hyper.from_json(again.to_json())
    assert torch.equal(restored.vector, again.vector)


def targets(X):
    """One output that is smooth on a logarithmic axis, one that is as it is."""
    steep = (X[:, 0] + 0.01).log() + X[:, 1]
    even = torch.sin(3 * X[:, 0]) + X[:, 1].square()
    return torch.stack([steep, even], dim=1)


def test_axes_are_bent_where_evidence_asks_for_it_and_only_there():
    X = sobol_points(2, 60, seed=3)
    # a little noise: the evidence of what is explained to the last digit is rounding
    noise = np.random.default_rng(0).normal(size=(60, 2))
    Y = targets(X) + 1e-3 * torch.from_numpy(noise)
    recipe = Tangent(activation="erf", bend_spread=1.0)
    model = recipe.fit(X, Y)
    (run,) = recipe.hyper(model)["runs"]
    steep, even = run["members"][0]["hyper"]["bend"]

    assert steep[0] > 1.5
    assert even == [0.0, 0.0]
    warm = recipe.fit(X, Y, warm=recipe.hyper(model))
    (run,) = recipe.hyper(warm)["runs"]
    assert run["members"][0]["hyper"]["bend"][1] == [0.0, 0.0]  # stays straight


def test_a_bent_model_predicts_better():
    X, new = sobol_points(2, 60, seed=3), sobol_points(2, 200, seed=4)
    errors = []
    for spread in (0.0, 1.0):
        model = Tangent(activation="erf", bend_spread=spread).fit(X, targets(X))
        with torch.no_grad():
            mean = model.posterior(new[:, None, :]).mean[:, 0]
        errors.append(float((mean - targets(new))[:, 0].square().mean().sqrt()))
    assert errors[1] < 0.3 * errors[0]
