import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.data.warp import Warp


def data_of(values, constraints=None):
    space = wo.Space([(0, 1)])
    n = len(values)
    observed = []
    for i, y in enumerate(values):
        c = () if constraints is None else (constraints[i],)
        point = torch.tensor([(i + 0.5) / n], dtype=torch.float64).numpy()
        is_failed = math.isnan(y)
        state = "failed" if is_failed else "complete"
        trial = Trial(point, None if is_failed else y, None if is_failed else c, state)
        observed.append((point, trial))
    return Dataset.of(space, observed, [], 0 if constraints is None else 1)


def sample(distribution, n=60):
    """Quantiles of a distribution: a sample without chance."""
    return distribution.ppf((torch.arange(n) + 0.5).numpy() / n).tolist()


@pytest.mark.parametrize(
    "distribution",
    [stats.norm(3, 2), stats.uniform(0, 1), stats.gumbel_l(), stats.skewnorm(-8)],
)
def test_what_is_not_skewed_to_bad_values_is_left_alone(distribution):
    assert Warp.of(data_of(sample(distribution))).delta == math.inf


def test_what_spans_orders_of_magnitude_becomes_normal():
    values = sample(stats.lognorm(3.0))
    data = data_of(values)
    scaled = Warp.of(data).applied(data).Y[:, 0]
    before, after = (stats.skew(y.numpy()) for y in (data.Y[:, 0], scaled))
    assert before > 3
    assert abs(after) < 1


@pytest.mark.parametrize("shape", [0.8, 1.0, 2.0, 3.0])
def test_delta_is_the_most_likely_shift_of_box_and_cox(shape):
    values = sample(stats.lognorm(shape))
    gaps = sorted(v - min(values) for v in values)
    delta = Warp.of(data_of(values)).delta

    def likelihood(delta):
        return stats.boxcox_llf(0.0, [gap + delta for gap in gaps])

    least = float(torch.tensor(gaps[1:]).quantile(0.1))
    others = [delta * 10 ** (k / 4) for k in range(-12, 13) if k != 0]
    assert delta >= least
    assert likelihood(delta) > max(likelihood(o) for o in others if o >= least)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=30, unique=True),
    st.floats(1e-6, 1e6),
    st.floats(-1e6, 1e6),
)
def test_order_is_kept_and_units_do_not_matter(values, scale, shift):
    data = data_of(values)
    w = Warp.of(data).applied(data).Y[:, 0]
    order = torch.argsort(data.Y[:, 0])
    assert bool((w[order].diff() >= 0).all())
    assert bool(w.isfinite().all())
    one, other = Warp.of(data), Warp.of(data_of([scale * v for v in values]))
    if math.isfinite(one.delta) and math.isfinite(other.delta):
        assert other.delta == pytest.approx(scale * one.delta, rel=1e-6)
    moved = Warp.of(data_of([v + shift for v in values]))
    if math.isfinite(one.delta) and math.isfinite(moved.delta):
        assert 0.05 < moved.delta / one.delta < 20  # rounding may take another step


def test_distances_are_from_the_best_feasible_value():
    values = sample(stats.lognorm(3.0))
    constraints = [1.0 if i < 10 else -1.0 for i in range(len(values))]
    warp = Warp.of(data_of(values, constraints))
    assert warp.origin == values[10]
    y = torch.tensor([values[0], values[10], values[-1]], dtype=torch.float64)
    low, zero, high = warp(y)
    assert low < zero == 0.0 < high


def test_failures_constants_few_and_wild_values_are_survived():
    values = [math.nan, *sample(stats.lognorm(3.0)), math.nan]
    data = data_of(values)
    assert torch.equal(Warp.of(data).applied(data).is_failed, data.is_failed)
    for values in ([1.0] * 20, [1.0, 100.0], [-1e300, 1e300, *range(20)]):
        data = data_of(values)
        assert torch.equal(Warp.of(data).applied(data).Y, data.Y)
