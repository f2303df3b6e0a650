"""The scale of an objective, judged by how smooth it makes a function."""

import math

import torch
from torch.distributions import MultivariateNormal

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.data.warp import Warp
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.search.design import sobol_points
from wideopt.surrogates.tangent import Tangent
from wideopt.surrogates.warp_evidence import scale_evidence


def data_of(X, y, c=None):
    space = wo.Space([(0, 1)] * X.shape[1])
    observed = [
        (
            x.numpy(),
            Trial(x.numpy(), float(v), () if c is None else (float(c[i]),), "complete"),
        )
        for i, (x, v) in enumerate(zip(X, y, strict=True))
    ]
    return Dataset.of(space, observed, [], 0 if c is None else 1)


def test_the_evidence_is_that_of_a_gaussian_process():
    X = sobol_points(2, 20, seed=0)
    w = 3 * torch.sin(4 * X[:, 0]) + X[:, 1]
    found = float(scale_evidence(X, w[None, :]))

    # the density of w itself, at the hyper-parameters that suit it best
    recipe = Tangent(activation="bowl")
    model = recipe.fit(X, w[:, None])
    (member,) = model.members
    hyper = Hyper.from_json(recipe.hyper(model)["runs"][0]["members"][0]["hyper"])
    s = model.standardization
    A = member.kernel.block(X, X) + member.noise[:, None, None] * torch.eye(20)
    normal = MultivariateNormal(s.shift.expand(20), s.scale**2 * A[0])
    prior = Prior()
    z = hyper.vector[0] - prior.center(2)
    of_hyper = -0.5 * float(z @ torch.linalg.solve(prior.covariance(2), z))
    at_best = float(normal.log_prob(w)) + of_hyper
    assert at_best - 3.0 < found < at_best + 1.0  # learned in a few steps only


def test_what_spans_orders_of_magnitude_smoothly_is_put_on_a_log_scale():
    X = sobol_points(3, 50, seed=0)
    y = (6 * X[:, 0] + 4 * X[:, 1] * X[:, 2]).exp()
    warp = Warp.of(data_of(X, y), scale_evidence)

    assert warp.delta < 0.1 * float(y.max() - y.min())


def test_what_is_smooth_as_it_is_stays():
    X = sobol_points(3, 50, seed=0)
    y = torch.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]

    assert Warp.of(data_of(X, y), scale_evidence).delta == math.inf


def test_points_gathered_on_a_slope_do_not_make_a_pit_of_it():
    generator = torch.Generator().manual_seed(0)
    spread = sobol_points(2, 30, seed=0)
    near = 0.4 + 1e-3 * torch.randn(30, 2, generator=generator, dtype=torch.float64)
    X = torch.cat([spread, near])
    y = X.sum(dim=1)  # below 0.8 all is infeasible
    data = data_of(X, y, c=0.8 - y)

    assert Warp.of(data).delta < 1e-2  # values alone: dense near the best
    assert Warp.of(data, scale_evidence).delta > 0.1


def test_points_gathered_in_a_narrow_valley_do_not_make_a_pit_of_it():
    generator = torch.Generator().manual_seed(0)
    spread = sobol_points(2, 15, seed=0)
    along = torch.linspace(0.3, 0.4, 25, dtype=torch.float64)[:, None]
    off = 1e-3 * torch.randn(25, 1, generator=generator, dtype=torch.float64)
    X = torch.cat([spread, torch.cat([along, along + off], dim=1)])
    y = (X.sum(dim=1) - 1) ** 2 + 1e4 * (X[:, 0] - X[:, 1]) ** 2

    assert Warp.of(data_of(X, y), scale_evidence).delta == math.inf
