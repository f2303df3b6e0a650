"""What the forest is told of the objective."""

import numpy as np
import torch

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods.forest import _capped


def dataset(trials, n_constraints=0):
    space = wo.Space([(0, 1)])
    points = np.linspace(0, 1, len(trials))[:, None]
    return Dataset.of(space, list(zip(points, trials, strict=True)), [], n_constraints)


def test_values_above_the_median_are_cut_off():
    trials = [Trial(None, y) for y in (5.0, 1.0, 1e9, 3.0, 2.0)]
    trials.append(Trial(None, state="failed"))
    y = _capped(dataset(trials)).Y[:, 0]
    assert y[:5].tolist() == [3.0, 1.0, 3.0, 3.0, 2.0]
    assert y[5].isnan()


def test_feasible_values_stay_apart_where_they_are_the_worse_ones():
    outcomes = [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (7.0, -1.0), (8.0, -1.0), (9.0, -1)]
    data = _capped(dataset([Trial(None, y, (c,)) for y, c in outcomes], 1))
    assert data.Y[:, 0].tolist() == [0.0, 1.0, 2.0, 7.0, 8.0, 8.0]
    assert torch.equal(data.is_feasible, torch.tensor([False] * 3 + [True] * 3))
