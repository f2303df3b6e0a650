"""The outlook: when it is asked for, what it sees, and that it leads elsewhere."""

import json

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods.neural_cbo import NeuralCBO
from wideopt.methods.outlook import is_staying, outlook, thinned
from wideopt.surrogates import Tangent

SPACE = wo.Space([(0, 1), (0, 1)])
CENTER = np.array([0.2, 0.7])
NEAR = 0.05


def data_with_a_stay(noise_sd, n_stay=16):
    """A bowl with one constraint: 15 points all over, then many next to CENTER."""
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.random((15, 2)), CENTER + 0.01 * rng.normal(size=(n_stay, 2))]
    )
    f = ((X - 0.5) ** 2).sum(axis=1) - 0.5 * np.exp(
        -50 * ((X - CENTER) ** 2).sum(axis=1)
    )
    f = f + noise_sd * rng.normal(size=len(X))
    trials = [(x, Trial(x, y, (x[0] - 0.9,))) for x, y in zip(X, f, strict=True)]
    return Dataset.of(SPACE, trials, [], 1)


def model_of(data):
    return Tangent(activation="erf").fit(data.X, data.Z)


def test_a_search_stays_only_amid_noise_and_next_to_its_best_point():
    noisy, clean = data_with_a_stay(0.05), data_with_a_stay(0.0)
    assert is_staying(model_of(noisy), noisy)
    assert not is_staying(model_of(clean), clean)
    before = noisy.selected(torch.arange(15))
    assert not is_staying(model_of(before), before)


def test_a_search_without_a_feasible_point_stays_nowhere():
    data = data_with_a_stay(0.05)
    data.Y[:, 1] = 1.0
    assert not is_staying(model_of(data), data)


def test_thinned_rows_are_apart_and_leave_no_gap():
    data = data_with_a_stay(0.05)
    X, rows = data.X, thinned(data)
    gaps = (X[:, None, :] - X[None, rows, :]).abs().amax(dim=-1)
    assert bool((gaps.min(dim=1).values <= 0.03).all())
    apart = gaps[rows] + torch.eye(len(rows))
    assert float(apart.min()) > 0.03
    # what has been chosen stays chosen when more comes
    first = data.selected(torch.arange(20))
    assert thinned(first).tolist() == [i for i in rows.tolist() if i < 20]


def test_a_failure_next_to_a_success_stays_in_sight():
    points = [np.array(x) for x in ([0.5, 0.5], [0.51, 0.5], [0.52, 0.5], [0.1, 0.1])]
    trials = [
        (x, Trial(x, state="failed") if i in (1, 2) else Trial(x, float(i)))
        for i, x in enumerate(points)
    ]
    data = Dataset.of(SPACE, trials, [], 0)
    rows = thinned(data)
    assert rows.tolist() == [0, 1, 3]
    assert data.selected(rows).Z.shape == (3, 2)  # with the constraint of crashes


def test_the_outlook_takes_ripples_for_noise():
    rng = np.random.default_rng(1)
    X = rng.random((60, 2))
    trend = ((X - 0.4) ** 2).sum(axis=1)
    f = trend + 0.1 * np.cos(2 * np.pi * (11 * X[:, 0] + 13 * X[:, 1]))
    trials = [(x, Trial(x, y)) for x, y in zip(X, f, strict=True)]
    data = Dataset.of(SPACE, trials, [], 0)
    model, _ = outlook(data, {}, 0.0)
    U = torch.as_tensor(rng.random((200, 2)))
    with torch.no_grad():
        mean = model.posterior(U.unsqueeze(-2)).mean.flatten()
    truth = ((U - 0.4) ** 2).sum(dim=1)
    assert float(np.corrcoef(mean, truth)[0, 1]) > 0.9


@pytest.mark.parametrize(("noise_sd", "is_elsewhere"), [(0.05, True), (0.0, False)])
def test_about_half_of_the_points_lie_elsewhere_once_a_search_stays(
    noise_sd, is_elsewhere
):
    data = data_with_a_stay(noise_sd)
    method = NeuralCBO(draw_share=0.01, n_candidates=256, n_restarts=1)
    _, state = method.propose(data, 1, {}, torch.Generator().manual_seed(0))
    n_outlook = 0
    for seed in range(12):
        generator = torch.Generator().manual_seed(seed)
        _, after = method.propose(data, 1, {**state, "outlook": {}}, generator)
        n_outlook += bool(after["outlook"])
        json.dumps(after)
    assert (2 <= n_outlook <= 10) if is_elsewhere else n_outlook == 0


def test_points_of_the_outlook_lie_away_from_the_stay():
    data = data_with_a_stay(0.05)
    method = NeuralCBO(n_candidates=256, n_restarts=1)
    points = []
    for seed in range(8):
        point, _ = method._far(data, {}, torch.Generator().manual_seed(seed))
        points.append(point.numpy())
    distances = np.abs(np.array(points) - CENTER).max(axis=1)
    assert (distances > NEAR).mean() >= 0.5


def test_a_restored_optimizer_looks_where_the_lost_one_would_have():
    data = data_with_a_stay(0.05)
    options = {"n_init": 1, "n_candidates": 128, "n_restarts": 1}
    lost = wo.Optimizer(
        SPACE, method="neural-cbo", n_constraints=1, seed=3, options=options
    )
    for x, (y, c) in zip(data.X.numpy(), data.Y.tolist(), strict=True):
        lost.tell(x, y, [c])
    for _ in range(6):
        x = lost.ask()
        lost.tell(CENTER + 0.001 * (x - CENTER), -0.45, [-0.7])  # it stays
    assert lost.method_state["outlook"]
    kept = json.loads(json.dumps(lost.state_dict()))
    restored = wo.Optimizer.from_state_dict(kept)
    for _ in range(4):
        x = lost.ask()
        assert np.array_equal(x, restored.ask())
        for optimizer in (lost, restored):
            optimizer.tell(x, float(((x - 0.5) ** 2).sum()), [x[0] - 0.9])
