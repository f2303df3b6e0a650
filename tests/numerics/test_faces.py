"""Solutions with smooth values on each face: they solve, and reach inside."""

import numpy as np
import pytest
import torch
from scipy.sparse import diags, eye, kron
from scipy.sparse.linalg import spsolve

import wideopt as wo
from wideopt.numerics.faces import FaceFeatures, FaceKernel, Plate
from wideopt.numerics.smooth import Functionals

F64 = torch.float64
MARGIN = 0.002  # of the module


def tensor(values):
    return torch.tensor(values, dtype=F64)


def kernel_of(ratio=1.0):
    sizes = tensor([0.3, -0.5, 0.0, 1.0])
    return FaceKernel(Plate(ratio), tensor([14.0, 6.0]), tensor(1.3), sizes, beta=0.8)


def points(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, 2, generator=generator, dtype=F64)


def rows(features, T, alpha):
    return features.rows(Functionals(T, T.new_ones(len(T), 1), (alpha,)))[:, :-1]


@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5])
def test_every_feature_solves_the_equation(ratio):
    features, T = FaceFeatures(kernel_of(ratio)), points(20)
    across, along = rows(features, T, (2, 0)), rows(features, T, (0, 2))
    residual = ratio**2 * across + along
    assert residual.abs().max() <= 1e-12 * across.abs().max()


@pytest.mark.parametrize("alpha", [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)])
def test_derivatives_are_those_of_values(alpha):
    features = FaceFeatures(kernel_of(1.7))
    T = 0.1 + 0.8 * points(8)
    axis = 0 if alpha[0] else 1
    lower = tuple(n - (i == axis) for i, n in enumerate(alpha))
    step = torch.zeros(2, dtype=F64)
    step[axis] = 1e-5
    slopes = (rows(features, T + step, lower) - rows(features, T - step, lower)) / 2e-5
    exact = rows(features, T, alpha)
    assert (slopes - exact).abs().max() <= 1e-6 * exact.abs().max()


def test_what_is_given_on_a_face_reaches_inside_as_by_finite_differences():
    """The feature of 1 - s on the face y = 1, against a grid of 200 x 200 cells."""
    n = 200
    h = 1.0 / n
    inner = np.arange(1, n) * h
    one = diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n - 1, n - 1))
    same = eye(n - 1)
    b = np.zeros((n - 1, n - 1))
    b[:, -1] = -(1.0 - inner)  # x first, then y
    u = spsolve((kron(one, same) + kron(same, one)).tocsc(), b.ravel()).reshape(
        n - 1, n - 1
    )
    spots = [(49, 149), (99, 99), (149, 179), (19, 59)]
    xi = tensor([[inner[i], inner[j]] for i, j in spots])
    T = xi * (1.0 + 2.0 * MARGIN) - MARGIN
    kernel = FaceKernel(Plate(1.0), tensor([14.0] * 2), tensor(1.0), tensor([0.0] * 4))
    found = rows(FaceFeatures(kernel), T, (0, 0))[:, -2]  # ends of the last face
    wanted = tensor([u[i, j] for i, j in spots])
    assert (found - wanted).abs().max() < 1e-3


def test_jumps_do_not_overshoot_on_the_faces_of_the_box():
    kernel = FaceKernel(Plate(1.0), tensor([14.0] * 2), tensor(1.0), tensor([0.0] * 4))
    s = torch.linspace(0.0, 1.0, 2001, dtype=F64)
    T = torch.stack([s, torch.ones_like(s)], dim=1)
    found = rows(FaceFeatures(kernel), T, (0, 0))[:, -2]  # 1 - s on the face y = 1
    assert found.max() < 1.0
    assert found.min() > 0.0
    falls = found[torch.argmax(found) :].diff()
    assert (falls < 0).all()


def test_draws_have_the_covariance_of_the_kernel():
    kernel, T = kernel_of(), points(5)
    values = Functionals.values(T)
    Phi = kernel.features(64, torch.Generator().manual_seed(0)).rows(values)
    w = torch.randn(
        Phi.shape[1], 40_000, generator=torch.Generator().manual_seed(1), dtype=F64
    )
    K = kernel.block(values, values)
    found = torch.cov(Phi @ w)
    assert (found - K).abs().max() < 0.05 * K.diagonal().max()
    assert torch.allclose(kernel.diagonal(values), K.diagonal())


def test_only_elliptic_equations_of_second_order_have_a_plate():
    laplace = ((2, 0), (0, 2))
    assert Plate.of(tensor([4.0, 1.0]), laplace).ratio == 2.0
    assert Plate.of(tensor([-1.0, -1.0]), laplace).ratio == 1.0
    assert Plate.of(tensor([1.0, -1.0]), laplace) is None
    assert Plate.of(tensor([1.0, -1.0]), ((1, 0), (0, 2))) is None
    assert Plate.of(tensor([1.0, 1.0, 1.0]), (*laplace, (1, 0))) is None
    three = ((2, 0, 0), (0, 2, 0), (0, 0, 2))
    assert Plate.of(tensor([1.0, 1.0, 1.0]), three) is None


def test_values_that_jump_at_a_corner_are_believed_to_be_of_faces():
    """2/π times the angle at a corner just outside: harmonic, 0 and 1 on two faces."""

    def angle(X):
        return torch.atan2(X[:, 1] + 0.004, X[:, 0] + 0.004) * 2.0 / torch.pi

    s = torch.linspace(0.0, 1.0, 7, dtype=F64)[:-1] + 0.05
    zero = torch.zeros_like(s)
    X = torch.cat([torch.stack([s, zero], 1), torch.stack([zero, s], 1)])
    surrogate = wo.surrogates.Physics(wo.PDE(wo.pde.laplacian), [(0.0, 1.0)] * 2)
    model = surrogate.fit(X, angle(X).unsqueeze(1))
    assert model.shares_by_kind["faces"] > 0.9
    assert model.held_share > 0.99
    T = torch.cat([0.1 + 0.5 * points(30, seed=3), tensor([[0.0, 0.4], [0.4, 0.0]])])
    with torch.no_grad():
        error = model.posterior(T).mean[:, 0] - angle(T)
    assert error.abs().max() < 0.05
    again = surrogate.restore(X, angle(X).unsqueeze(1), surrogate.hyper(model))
    with torch.no_grad():
        assert torch.equal(again.posterior(T).mean, model.posterior(T).mean)
