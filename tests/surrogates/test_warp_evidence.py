"""The scale of an objective, judged by how smooth it makes a function."""

import math

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.data.warp import Warp
from wideopt.search.design import sobol_points
from wideopt.surrogates.tangent import Tangent
from wideopt.surrogates.warp_evidence import judge_of

RECIPE = Tangent(activation="erf")


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
    w = torch.sin(4 * X[:, 0]) + X[:, 1]
    hyper = RECIPE.hyper(RECIPE.fit(X, w[:, None]))
    found = float(judge_of(RECIPE, hyper)(X, w[None, :]))

    # the most likely of many factors of the kernel, by brute force, at most a typical
    model = RECIPE.restore(X, w[:, None], hyper)
    (member,) = model.members
    A = (member.kernel.block(X, X) + member.noise[:, None, None] * torch.eye(20))[0]
    z = (w - w.mean()).numpy()
    logs = []
    for log_s in np.linspace(-12, 12, 2001):
        cov = math.exp(log_s) * A.detach().numpy()
        _, logdet = np.linalg.slogdet(cov)
        logs.append(-0.5 * z @ np.linalg.solve(cov, z) - 0.5 * logdet)
    assert found == pytest.approx(max(logs) + 10.0, abs=1e-2)  # without its constant


def test_what_spans_orders_of_magnitude_smoothly_is_put_on_a_log_scale():
    X = sobol_points(3, 50, seed=0)
    y = (6 * X[:, 0] + 4 * X[:, 1] * X[:, 2]).exp()
    warp = Warp.of(data_of(X, y), judge_of(RECIPE, None))

    assert warp.delta < 0.1 * float(y.max() - y.min())


def test_what_is_smooth_as_it_is_stays():
    X = sobol_points(3, 50, seed=0)
    y = torch.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]

    assert Warp.of(data_of(X, y), judge_of(RECIPE, None)).delta == math.inf


def test_points_gathered_on_a_slope_do_not_make_a_pit_of_it():
    generator = torch.Generator().manual_seed(0)
    spread = sobol_points(2, 30, seed=0)
    near = 0.4 + 1e-3 * torch.randn(30, 2, generator=generator, dtype=torch.float64)
    X = torch.cat([spread, near])
    y = X.sum(dim=1)  # below 0.8 all is infeasible
    data = data_of(X, y, c=0.8 - y)

    assert Warp.of(data).delta < 1e-2  # values alone: dense near the best
    assert Warp.of(data, judge_of(RECIPE, None)).delta > 0.1
