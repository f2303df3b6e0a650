"""Candidates, climbs and discrete walks on functions whose maximum is known."""

import numpy as np
import pytest
import torch
from botorch.acquisition.acquisition import AcquisitionFunction

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.search.candidates import (
    candidates,
    distinct,
    leaders,
    on_faces,
    snapped,
)
from wideopt.search.design import generator_for
from wideopt.search.maximize import Search, best_new, maximize, score
from wideopt.search.mixed import neighbors, real_dims

MIXED = wo.Space(
    {
        "r": (0, 1),
        "i": wo.Integer(0, 40),
        "c": wo.Categorical(["a", "b", "c"]),
        "t": wo.Categorical([False, True]),
    }
)


class Known(AcquisitionFunction):
    """An acquisition that is a plain function of the points (n, d)."""

    def __init__(self, fun):
        super().__init__(model=None)
        self.fun = fun

    def forward(self, X):
        return self.fun(X.squeeze(-2))


def dataset(space, configs=(), ys=()):
    observed = [
        (space.encode(space.values(x)), Trial(x, y, None, "complete"))
        for x, y in zip(configs, ys, strict=True)
    ]
    return Dataset.of(space, observed, [], 0)


def towards(target):
    return Known(lambda X: -((X - target) ** 2).sum(dim=-1))


def test_a_smooth_maximum_is_climbed():
    space = wo.Space([(0, 1)] * 3)
    target = torch.tensor([0.123456, 0.9, 0.0], dtype=torch.float64)
    data = dataset(space, [[0.5] * 3], [1.0])
    found = maximize(towards(target), data, generator_for(0, 0))
    assert (found - target).abs().max() < 1e-3


def test_a_mixed_maximum_is_reached():
    target = torch.from_numpy(MIXED.encode([0.3, 29, "c", True]))
    data = dataset(MIXED, [{"r": 0.9, "i": 3, "c": "a", "t": False}], [1.0])
    search = Search(n_global=16, n_local=8, n_restarts=2)
    found = maximize(towards(target), data, generator_for(0, 0), search)
    assert MIXED.decode(found.numpy())[1:] == (29, "c", True)
    assert found[0] == pytest.approx(0.3, abs=1e-3)


def test_the_same_generator_finds_the_same_point():
    data = dataset(MIXED, [{"r": 0.9, "i": 3, "c": "a", "t": False}], [1.0])
    acqf = Known(lambda X: (9 * X).sin().sum(dim=-1))
    search = Search(n_global=16, n_local=8, n_restarts=2)
    first, second = (
        maximize(acqf, data, generator_for(0, 7), search) for _ in range(2)
    )
    assert torch.equal(first, second)


def test_global_stream_and_default_arguments():
    before = torch.random.get_rng_state()
    data = dataset(wo.Space([(0, 1)]), [[0.5]], [1.0])
    maximize(Known(lambda X: X[:, 0]), data, generator_for(0, 0))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_what_is_known_is_not_found_again():
    space = wo.Space([wo.Integer(0, 3)])
    data = dataset(space, [[3.0], [2.0]], [1.0, 2.0])
    acqf = Known(lambda X: X[:, 0])
    assert space.decode(maximize(acqf, data, generator_for(0, 0)).numpy()) == (1,)
    pending = data.with_pending(torch.from_numpy(space.encode([1]))[None, :])
    assert space.decode(maximize(acqf, pending, generator_for(0, 0)).numpy()) == (0,)


def test_trouble_inside_an_acquisition_is_survived():
    def nan_on_the_right(X):
        return torch.where(X[:, 0] > 0.5, torch.nan, X[:, 0])

    data = dataset(wo.Space([(0, 1)]), [[0.1]], [1.0])
    found = maximize(Known(nan_on_the_right), data, generator_for(0, 0))
    assert 0.45 < found.item() <= 0.5
    nothing = Known(lambda X: X[:, 0] * torch.nan)
    assert 0 <= maximize(nothing, data, generator_for(0, 0)).item() <= 1


def test_score_takes_nan_as_worst():
    X = torch.linspace(0, 1, 5, dtype=torch.float64)[:, None]
    values = score(Known(lambda X: torch.where(X[:, 0] < 0.3, torch.nan, X[:, 0])), X)
    assert values.tolist() == [-np.inf, -np.inf, 0.5, 0.75, 1.0]


def test_best_new_when_all_are_known():
    pool = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    values = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert best_new(pool, values, pool[:0]).tolist() == [1.0]
    assert best_new(pool, values, pool[1:]).tolist() == [0.0]
    assert best_new(pool, values, pool).tolist() == [1.0]


def test_candidates_are_legal_and_some_are_near_the_leaders():
    best = {"r": 0.5, "i": 20, "c": "b", "t": True}
    data = dataset(MIXED, [best, best | {"r": 0.9}], [0.0, 5.0])
    X = candidates(data, 32, 32, generator_for(0, 0))
    assert X.shape == (64, MIXED.n_dims)
    assert torch.equal(snapped(MIXED, X), X)
    assert torch.equal(leaders(data, 1)[0], data.X[0])
    near = (X[32:] - data.X[0]).abs().max(dim=1).values < 0.1
    assert int(near.sum()) > 5


def test_a_small_space_is_scored_whole():
    space = wo.Space([wo.Integer(0, 4), wo.Categorical(["a", "b"])])
    X = candidates(dataset(space), 8, 8, generator_for(0, 0))
    assert len({space.decode(x) for x in X.numpy()}) == X.shape[0] == 10


def test_distinct():
    space = wo.Space([wo.Integer(0, 4)])
    every = torch.from_numpy(space.every_point())
    X = every[[1, 1, 2]]
    found = distinct(space, X, every[[2, 3]], generator_for(0, 0))
    values = [space.decode(x)[0] for x in found.numpy()]
    assert values[0] == 1
    assert set(values) == {0, 1, 4}
    exhausted = distinct(space, X, every, generator_for(0, 0))
    assert torch.equal(exhausted, X)


def test_leaders_are_feasible_first():
    space = wo.Space([(0, 1)])
    rows = [(0.1, 0.0, 2.0), (0.2, 5.0, -1.0), (0.3, 1.0, 0.5), (0.4, 9.0, -1.0)]
    observed = [
        (np.array([u]), Trial(np.array([u]), y, (c,), "complete")) for u, y, c in rows
    ]
    failed = (np.array([0.5]), Trial(np.array([0.5]), state="failed"))
    data = Dataset.of(space, [*observed, failed], [], 1)
    assert leaders(data, 9)[:, 0].tolist() == [0.2, 0.4, 0.3, 0.1]


def test_neighbors_differ_in_one_discrete_parameter():
    point = torch.from_numpy(MIXED.encode([0.123, 10, "b", False]))
    found = neighbors(MIXED, point)
    values = [MIXED.decode(row.numpy()) for row in found]
    assert all(v[0] == 0.123 for v in values)
    start = (0.123, 10, "b", False)
    for v in values:
        assert sum(a != b for a, b in zip(v, start, strict=True)) == 1
    assert {v[1] for v in values} >= {9, 11, 8, 12, 6, 14, 2, 18, 26}
    assert {v[2] for v in values} == {"a", "b", "c"}
    assert real_dims(MIXED) == [0]
    assert neighbors(wo.Space([(0, 1)]), point[:1]).shape == (0, 1)


def test_points_are_moved_to_every_face_and_no_further():
    X = torch.rand(24, 3, generator=generator_for(0, 0), dtype=torch.float64)
    moved = on_faces(X)
    is_moved = moved != X
    assert (is_moved.sum(dim=1) == 1).all()
    faces = {(int(i), float(moved[n, i])) for n, i in is_moved.nonzero().tolist()}
    assert faces == {(i, end) for i in range(3) for end in (0.0, 1.0)}


@pytest.mark.parametrize("n_faces", [0, 16])
def test_faces_are_searched_where_asked(n_faces):
    space = wo.Space([(0.0, 1.0)] * 3)
    X = Search(32, 0, n_faces=n_faces).candidates(dataset(space), generator_for(1, 0))
    on_one = ((X == 0.0) | (X == 1.0)).any(dim=1)
    assert int(on_one.sum()) == n_faces
