"""TuRBO: what a scripted run leaves in its state, and that it restarts."""

import json

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods import turbo
from wideopt.methods.region_life import center_of
from wideopt.methods.turbo import Turbo
from wideopt.surrogates import GaussianProcess

QUICK = Turbo(n_candidates=32, n_design=3)
SPACE = wo.Space([(0, 1), (0, 1)])


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Counters do not depend on how well the GP is fitted."""
    recipe = GaussianProcess(max_iter=2)
    monkeypatch.setattr(turbo, "GaussianProcess", lambda kernel: recipe)


class Script:
    """Tells a method one scripted outcome after the other, wherever it asks."""

    def __init__(self, method, initial=(5.0, 3.0, 4.0)):
        self.method, self.state, self.number = method, {}, 0
        points = np.random.default_rng(0).random((len(initial), 2))
        self.observed = [(x, Trial(x, y)) for x, y in zip(points, initial, strict=True)]

    def data(self, pending=()):
        return Dataset.of(SPACE, self.observed, list(pending), 0)

    def ask(self, n=1, pending=()):
        generator = torch.Generator().manual_seed(self.number)
        self.number += 1
        points, state = self.method.propose(
            self.data(pending), n, self.state, generator
        )
        self.state = json.loads(json.dumps(state))
        return points.numpy()

    def tell(self, points, values):
        self.observed += [(x, Trial(x, y)) for x, y in zip(points, values, strict=True)]

    def counters(self):
        return tuple(self.state[k] for k in ("length", "successes", "failures"))


def test_counters_follow_the_script():
    script = Script(QUICK)
    points = script.ask()
    assert script.counters() == (0.8, 0, 0)
    assert script.state["center"] == pytest.approx(script.observed[1][0])
    expected = [
        (2.9, (0.8, 1, 0)),
        (2.8, (0.8, 2, 0)),
        (2.7, (1.6, 0, 0)),  # third success in a row: doubled
        (2.7, (1.6, 0, 1)),  # equal is no improvement
        (9.0, (1.6, 0, 2)),
        (2.6, (1.6, 1, 0)),
        (9.0, (1.6, 0, 1)),
        (9.0, (1.6, 0, 2)),
        (9.0, (1.6, 0, 3)),
        (9.0, (0.8, 0, 0)),  # max(4, d) failures in a row: halved
    ]
    for value, counters in expected:
        script.tell(points, [value])
        points = script.ask()
        assert script.counters() == counters


def test_a_batch_is_one_success_or_as_many_failures():
    script = Script(QUICK)
    points = script.ask(3)
    assert len({p.tobytes() for p in points}) == 3
    script.tell(points, [9.0, 1.0, 9.0])
    points = script.ask(3)
    assert script.counters() == (0.8, 1, 0)
    script.tell(points, [9.0, 9.0, 9.0])
    script.ask(3)
    assert script.counters() == (0.8, 0, 3)


def test_a_collapsed_region_begins_anew_without_its_rows():
    script = Script(Turbo(length=0.8, length_min=0.3, n_candidates=32, n_design=3))
    points = script.ask()
    for _ in range(7):
        script.tell(points, [9.0])
        points = script.ask()
    assert script.state["restart"] == 0
    stray = np.array([0.123, 0.456])
    script.tell(points, [9.0])
    points = script.ask(pending=[stray])  # the eighth failure: 0.8 → 0.4 → 0.2
    assert script.state["restart"] == 1
    assert script.state["begin"] == 11
    assert script.counters() == (0.8, 0, 0)
    script.tell([stray], [0.0])  # told late, and far better than anything
    for i in range(3):  # the design counts neither as success nor as failure
        script.tell(points, [8.0 - i])
        points = script.ask()
        assert script.counters() == (0.8, 0, 0)
    assert script.state["center"] == pytest.approx(script.observed[-1][0])
    script.tell(points, [5.0])  # better than the region's own rows
    script.ask()
    assert script.counters() == (0.8, 1, 0)


def test_suggestions_lie_in_the_box():
    script = Script(Turbo(length=0.1, n_candidates=64))
    points = script.ask(4)
    gap = np.abs(points - np.array(script.state["center"]))
    # Two sides of area 0.1², of which the hyper-parameters decide the shape.
    assert np.prod(2 * gap, axis=1).max() <= 0.1**2 + 1e-9


@pytest.mark.parametrize(
    "options",
    [{"length": 2.0}, {"length_min": 0.9}, {"n_success": 0}, {"n_candidates": -1}],
)
def test_bad_options(options):
    with pytest.raises(wo.InputError, match=next(iter(options))):
        Turbo(**options)


def test_the_center_has_the_least_mean():
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    noisy = ((X - 0.4) ** 2).sum(axis=1) + 0.3 * rng.normal(size=60)
    noisy[np.abs(X[:, 0] - 0.9).argmin()] = noisy.min() - 0.1
    observed = [(x, Trial(x, float(y), ())) for x, y in zip(X, noisy, strict=True)]
    data = Dataset.of(wo.Space([(0, 1)]), observed, [], 0)
    model = GaussianProcess("matern").fit(data.X, data.Z)
    with torch.no_grad():
        means = model.posterior(data.X).mean[:, 0]  # of all points together
    center = center_of(model, data)
    assert torch.equal(center, data.X[means.argmin()])
    assert means.argmin() != data.Z[:, 0].argmin()  # the best was lucky
