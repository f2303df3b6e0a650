"""A sparing step: what promises most is kept, the rest stays at the center."""

import pytest
import torch
from botorch.acquisition.acquisition import AcquisitionFunction

import wideopt as wo
from wideopt.search.sparing import sparing

SPACE = wo.Space([(0, 1)] * 4)
CENTER = torch.full((4,), 0.5, dtype=torch.float64)
CORNER = torch.tensor([1.0, 0.0, 1.0, 0.0], dtype=torch.float64)


class Linear(AcquisitionFunction):
    """g · x."""

    def __init__(self, slopes):
        super().__init__(model=None)
        self.slopes = torch.tensor(slopes, dtype=torch.float64)

    def forward(self, X):
        return X.squeeze(-2) @ self.slopes


@pytest.mark.parametrize(
    ("share", "moved"),
    [(0.5, [0]), (0.7, [0, 1]), (0.93, [0, 1, 2]), (1.0, [0, 1, 2, 3])],
)
def test_the_changes_that_promise_most_make_up_the_share(share, moved):
    # each change promises half of its slope: 6, 2, 1.5 and 0.5 of 10
    step = sparing(Linear([12.0, -4.0, 3.0, -1.0]), SPACE, CENTER, CORNER, share)
    expected = CENTER.clone()
    expected[moved] = CORNER[moved]
    assert torch.equal(step, expected)


def test_a_share_of_one_is_the_whole_step():
    step = sparing(Linear([1.0, -1.0, 1.0, -1.0]), SPACE, CENTER, CORNER, 1.0)
    assert torch.equal(step, CORNER)


def test_a_step_that_promises_nothing_is_left_alone():
    step = sparing(Linear([-1.0, 1.0, -1.0, 1.0]), SPACE, CENTER, CORNER, 0.5)
    assert torch.equal(step, CORNER)


def test_a_category_moves_as_a_whole():
    space = wo.Space([wo.Real(0, 1), wo.Categorical(["a", "b", "c"])])
    center = torch.from_numpy(space.encode([0.5, "a"]))
    point = torch.from_numpy(space.encode([0.9, "c"]))
    step = sparing(Linear([0.1, -1.0, 0.0, 1.0]), space, center, point, 0.5)
    assert space.decode(step.numpy()) == (0.5, "c")
