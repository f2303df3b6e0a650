import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.data.units import Units

SPACES = {
    "real": [(-3, 5), wo.Real(1e-3, 1e3, log=True)],
    "integer": [wo.Integer(-2, 9), wo.Integer(1, 1000, log=True)],
    "huge": [(0, 1e6), wo.Real(1e-9, 1.0, log=True)],
}


@pytest.mark.parametrize("name", SPACES)
def test_columns_are_the_values_that_a_user_sees(name):
    space = wo.Space(SPACES[name])
    U = np.random.default_rng(0).uniform(size=(50, space.n_dims))
    legal = space.snap(U)
    X = Units.of(space)(torch.from_numpy(legal)).numpy()
    expected = np.array([space.decode(u) for u in legal], dtype=float)
    np.testing.assert_allclose(X, expected, rtol=1e-9)


def test_categories_stay_encoded_and_candidates_become_rows():
    space = wo.Space([wo.Categorical(["a", "b", "c"]), wo.Categorical([True, False])])
    u = torch.from_numpy(space.encode(("b", False)))
    assert Units.of(space)(u).tolist() == [0.0, 1.0, 0.0, 1.0]
    rows = np.array([[1.0, 20.0], [3.0, 50.0], [2.0, 10.0]])
    space = wo.Space.from_candidates(rows)
    X = Units.of(space)(torch.from_numpy(space.every_point()))
    assert X.numpy() == pytest.approx(rows)


def test_gradients_are_finite_beside_columns_that_would_overflow():
    units = Units.of(wo.Space(SPACES["huge"]))
    u = torch.tensor([0.9, 0.5], dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(units(u).sum(), u)
    assert torch.isfinite(grad).all()
    assert float(grad[0]) == pytest.approx(1e6)
