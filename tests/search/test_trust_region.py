"""The box, the counters and the candidates of a trust region."""

import pytest
import torch
from botorch.acquisition.acquisition import AcquisitionFunction

import wideopt as wo
from wideopt.data.dataset import Dataset
from wideopt.search.mixed import improve_mixed
from wideopt.search.trust_region import Region, Rules, box, perturbed, with_steps

RULES = Rules(n_failure=4)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def run(region, outcomes, n=1):
    for outcome in outcomes:
        region = region.after(n, RULES, is_success=outcome == "+")
    return region


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ("", Region(0.8)),
        ("+", Region(0.8, 1, 0)),
        ("++-", Region(0.8, 0, 1)),
        ("---+", Region(0.8, 1, 0)),
        ("+++", Region(1.6)),
        ("++++++", Region(1.6)),  # no larger than length_max
        ("----", Region(0.4)),
        ("-------", Region(0.4, 0, 3)),
        ("----+++", Region(0.8)),
    ],
)
def test_counters(outcomes, expected):
    assert run(Region(0.8), outcomes) == expected


def test_failures_are_counted_by_evaluation_successes_by_batch():
    assert run(Region(0.8), "-", n=3) == Region(0.8, 0, 3)
    assert run(Region(0.8), "--", n=3) == Region(0.4)
    assert run(Region(0.8), "++", n=3) == Region(0.8, 2, 0)


def test_seven_halvings_of_one_end_at_the_smallest_length():
    region = run(Region(1.0), "----" * 7)
    assert region.length == Rules().length_min
    assert run(region, "----").length < Rules().length_min


def test_box_is_scaled_by_length_scales_and_keeps_its_volume():
    center, scales = tensor(0.5, 0.5, 0.5), tensor(1.0, 2.0, 4.0)
    lower, upper = box(center, 0.1, scales)
    sides = upper - lower
    assert torch.allclose(sides, 0.1 * scales / 2.0)  # 2 is the geometric mean
    assert torch.isclose(sides.prod(), tensor(0.1) ** 3)
    assert torch.allclose((upper + lower) / 2, center)


def test_box_is_cut_off_at_the_cube():
    lower, upper = box(tensor(0.05, 0.9), 0.4, tensor(1.0, 1.0))
    assert torch.allclose(lower, tensor(0.0, 0.7))
    assert torch.allclose(upper, tensor(0.25, 1.0))


def test_candidates_lie_in_the_box_and_move_about_twenty_coordinates(generator):
    d, n = 100, 400
    center = torch.full((d,), 0.5, dtype=torch.float64)
    bounds = torch.stack([center - 0.1, center + 0.2])
    X = perturbed(wo.Space([(0, 1)] * d), center, bounds, n, generator)
    assert ((bounds[0] <= X) & (bounds[1] >= X)).all()
    moved = (center != X).sum(dim=1)
    assert moved.min() >= 1
    assert 17 < moved.double().mean() < 23


def test_in_few_dimensions_every_coordinate_moves(generator):
    center = tensor(0.5, 0.5)
    bounds = torch.stack([center - 0.1, center + 0.1])
    X = perturbed(wo.Space([(0, 1)] * 2), center, bounds, 64, generator)
    assert (center != X).all()


def test_a_category_moves_to_any_choice(generator):
    space = wo.Space([(0, 1), wo.Categorical(["abc", "d", "e"])])
    center = torch.from_numpy(space.encode((0.5, "d")))
    X = perturbed(
        space, center, box(center, 0.01, torch.ones_like(center)), 64, generator
    )
    choices = {space.decode(x.numpy())[1] for x in X}
    assert choices == {"abc", "d", "e"}
    assert (X[:, 0] - 0.5).abs().max() <= 0.005


def test_the_next_integers_are_always_in_reach():
    space = wo.Space([wo.Integer(1, 10), wo.Real(0, 1), wo.Integer(1, 1000, log=True)])
    center = torch.from_numpy(space.encode([1, 0.5, 30]))
    limits = with_steps(space, center, box(center, 1e-3, torch.ones_like(center)))
    reached = [space.decode(end.numpy()) for end in limits]
    assert [(x[0], x[2]) for x in reached] == [(1, 29), (2, 31)]
    assert limits[:, 1].tolist() == pytest.approx([0.4995, 0.5005])


def test_walks_over_integers_stay_within_limits():
    space = wo.Space([wo.Integer(0, 100), wo.Integer(0, 100)])

    class Sum(AcquisitionFunction):
        def forward(self, X):
            return X.squeeze(-2).sum(dim=-1)

    data = Dataset.of(space, [], [], 0)
    start = torch.from_numpy(space.encode([50, 50]))
    limits = with_steps(space, start, box(start, 0.2, torch.ones_like(start)))
    for some, end in ((limits, (60, 60)), (None, (100, 100))):
        found = improve_mixed(Sum(model=None), data, start[None, :], some)
        assert space.decode(found[0].numpy()) == end
