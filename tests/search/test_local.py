"""The search without gradients finds what there is to find."""

import numpy as np
import pytest
import torch
from botorch.acquisition.acquisition import AcquisitionFunction

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.search.local import maximize_locally
from wideopt.search.maximize import Search
from wideopt.surrogates import GaussianProcess


class Steps(AcquisitionFunction):
    """A staircase up to a point: constant between its steps."""

    def __init__(self, model, top):
        super().__init__(model=model)
        self.top = top

    def forward(self, X):
        return -(100 * (X.squeeze(-2) - self.top).abs().sum(dim=-1)).floor()


@pytest.mark.parametrize(
    ("space", "top", "expected"),
    [
        ([(0, 1)] * 3, (0.2, 0.9, 0.5), (0.2, 0.9, 0.5)),
        ([wo.Integer(0, 99), wo.Categorical(["a", "b", "c"])], (70, "b"), (70, "b")),
    ],
)
def test_the_top_of_a_staircase_is_found(space, top, expected):
    space = wo.Space(space)
    start = np.full(space.n_dims, 0.5)
    start = space.snap(start[None, :])[0]
    data = Dataset.of(space, [(start, Trial(start, 1.0))], [], 0)
    X = torch.rand(4, space.n_dims).double()
    model = GaussianProcess(max_iter=1).fit(X, X[:, :1])
    goal = torch.from_numpy(space.encode(top))
    point = maximize_locally(
        Steps(model, goal),
        data,
        torch.Generator().manual_seed(0),
        Search(n_global=64, n_local=16, n_restarts=3, max_iter=30),
    )
    assert (point - goal).abs().sum() <= 0.05
