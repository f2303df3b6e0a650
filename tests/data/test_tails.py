"""Which outputs keep their tails."""

import torch

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.data.robust import log_slope, robust_constraint, robust_objective
from wideopt.data.tails import whole_columns
from wideopt.search.design import sobol_points
from wideopt.surrogates.warp_evidence import scale_evidence


def data_of(X, y, c=()):
    space = wo.Space([(0, 1)] * X.shape[1])
    rows = torch.stack([y, *c], dim=1).tolist()
    observed = [
        (x.numpy(), Trial(x.numpy(), row[0], tuple(row[1:]), "complete"))
        for x, row in zip(X, rows, strict=True)
    ]
    return Dataset.of(space, observed, [], len(c))


def searched(d=2):
    """Points all over the cube, and more of them near (0.6, ..., 0.6)."""
    generator = torch.Generator().manual_seed(0)
    near = 0.6 + 0.03 * torch.randn(25, d, generator=generator, dtype=torch.float64)
    return torch.cat([sobol_points(d, 15, seed=0), near])


def test_a_parabola_searched_near_its_minimum_stays_whole():
    X = searched()
    y = ((X - 0.6) ** 2).sum(dim=1)
    data = data_of(X, y, [100 * y - 1])
    assert float(data.Z[:, 0].max()) < 10 < float(y.max() / y.median())

    assert whole_columns(data, scale_evidence) == (0, 1)


def test_a_wild_value_is_compressed():
    X = searched()
    y = torch.sin(3 * X[:, 0]) + X[:, 1]
    y[3] = 1e12

    assert whole_columns(data_of(X, y), scale_evidence) == ()


def test_nothing_is_decided_where_there_are_no_tails():
    X = sobol_points(2, 20, seed=0)

    assert whole_columns(data_of(X, X.sum(dim=1)), scale_evidence) == ()


def test_the_slope_is_that_of_the_compression():
    y = torch.linspace(-400, 400, 41, dtype=torch.float64)
    y = torch.cat([y, torch.linspace(-1, 1, 60, dtype=torch.float64)])
    for robust, is_objective in ((robust_objective, True), (robust_constraint, False)):
        h = 1e-5
        whole = robust(y, is_whole=True)
        # the median and the spread do not change where a tail does
        steps = []
        far = [i for i in range(41) if abs(float(y[i])) > 50]
        for i in far:
            moved = y.clone()
            moved[i] += h
            by_one = robust(moved)[i] - robust(y)[i]
            steps.append(by_one / (robust(moved, is_whole=True)[i] - whole[i]))
        found = float(log_slope(whole[far], is_objective=is_objective))
        expected = float(torch.stack(steps).abs().log().sum())
        assert abs(found - expected) < 1e-2 * abs(expected)
