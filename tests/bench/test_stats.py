import itertools
import math

import numpy as np
import pytest
from scipy import integrate
from scipy.special import gamma

from wideopt.bench.stats import (
    benjamini_hochberg,
    mean_ranks,
    normality,
    paired_greater,
    quartiles,
    ranks,
    welch_greater,
)


def test_welch_by_hand():
    a, b = [3.0, 4.0, 5.0, 8.0], [1.0, 2.0, 3.0]
    va, vb = np.var(a, ddof=1) / 4, np.var(b, ddof=1) / 3
    t = (np.mean(a) - np.mean(b)) / math.sqrt(va + vb)
    df = (va + vb) ** 2 / (va**2 / 3 + vb**2 / 2)
    scale = gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * gamma(df / 2))
    tail, _ = integrate.quad(
        lambda u: scale * (1 + u * u / df) ** (-(df + 1) / 2), t, np.inf
    )
    assert welch_greater(a, b) == pytest.approx(tail, rel=1e-8)
    assert welch_greater(b, a) == pytest.approx(1 - tail, rel=1e-8)


@pytest.mark.parametrize(
    ("other", "reference", "p"),
    [([2, 2], [1, 1], 0.0), ([1, 1], [2, 2], 1.0), ([1, 1], [1, 1], 0.5)],
)
def test_welch_without_variance_has_only_the_order(other, reference, p):
    assert welch_greater(other, reference) == p


@pytest.mark.parametrize("sample", [[], [1.0], [1.0, math.inf]])
def test_welch_needs_two_finite_values(sample):
    assert math.isnan(welch_greater(sample, [1.0, 2.0]))


def test_paired_by_hand():
    a, b = np.array([5.0, 7.0, 9.5, 4.0]), np.array([4.0, 6.5, 7.0, 4.5])
    gaps = [1.0, 0.5, 2.5, -0.5]
    mean = sum(gaps) / 4
    sd = math.sqrt(sum((g - mean) ** 2 for g in gaps) / 3)
    t = mean / (sd / 2)
    # the law of t with 3 degrees of freedom in closed form
    x = t / math.sqrt(3)
    tail = 0.5 - (math.atan(x) + x / (1 + x**2)) / math.pi
    assert paired_greater(a, b) == pytest.approx(tail, rel=1e-8)
    assert paired_greater(b, a) == pytest.approx(1 - tail, rel=1e-8)


def test_what_pairs_share_does_not_count():
    a, b = np.array([1.0, 2.0, 1.5, 3.0]), np.array([0.5, 1.8, 1.1, 2.0])
    shared = np.array([100.0, -300.0, 7.0, 50.0])
    expected = paired_greater(a, b)
    assert paired_greater(a + shared, b + shared) == pytest.approx(expected)
    assert welch_greater(a + shared, b + shared) > 0.4


@pytest.mark.parametrize(
    ("other", "p"), [([2.0, 3.0], 0.0), ([1.0, 2.0], 0.5), ([0.0, 1.0], 1.0)]
)
def test_pairs_without_variance_have_only_the_order(other, p):
    assert paired_greater(other, [1.0, 2.0]) == p


@pytest.mark.parametrize("sample", [[], [1.0], [1.0, math.inf], [1.0, math.nan]])
def test_pairs_need_two_finite_values(sample):
    assert math.isnan(paired_greater(sample, [1.0, 2.0][: len(sample)]))


def test_benjamini_hochberg_by_brute_force():
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.2, 0.01])
    known = p[~np.isnan(p)]
    m = len(known)
    # adjusted p_i: the least level at which the step-up rule rejects i
    expected = [
        min(q * m / np.sum(known <= q) for q in known if q >= value) for value in known
    ]
    adjusted = benjamini_hochberg(p)
    assert np.isnan(adjusted[1])
    assert adjusted[~np.isnan(p)] == pytest.approx(expected)


def test_benjamini_hochberg_of_nothing():
    assert np.isnan(benjamini_hochberg([np.nan])).all()


def test_normality_tells_a_normal_sample_from_a_lump():
    rng = np.random.default_rng(0)
    assert normality(rng.normal(5.0, 3.0, 200)) > 0.05
    assert normality([0.0] * 60 + [100.0]) < 1e-6
    assert math.isnan(normality([1.0, 1.0, 1.0]))
    assert math.isnan(normality([1.0, 2.0]))


def test_normality_is_the_largest_distance_of_distributions():
    sample = np.array([-1.0, 0.0, 0.5, 3.0])
    z = np.sort((sample - sample.mean()) / sample.std(ddof=1))
    phi = [0.5 * (1 + math.erf(v / math.sqrt(2))) for v in z]
    D = max(max((i + 1) / 4 - f, f - i / 4) for i, f in enumerate(phi))
    # Birnbaum and Tingey (1951) give the one-sided law; exact two-sided p is <= twice
    one_sided = sum(
        math.comb(4, j) * D * (D + j / 4) ** (j - 1) * (1 - D - j / 4) ** (4 - j)
        for j in range(int(4 * (1 - D)) + 1)
    )
    assert normality(sample) == pytest.approx(min(1, 2 * one_sided), abs=0.15)


def test_quartiles_count_infinity_as_worst():
    low, middle, high = quartiles(np.array([1.0, 2.0, np.inf, np.inf, 3.0]))
    assert (low, middle, high) == (2.0, 3.0, np.inf)
    assert list(quartiles(np.array([1.0, np.inf]))) == [np.inf] * 3
    assert list(quartiles(np.array([np.inf, np.inf]))) == [np.inf] * 3
    values = np.random.default_rng(0).normal(size=(6, 3))
    assert np.allclose(
        quartiles(values), np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    )


def test_ranks_put_infeasible_runs_last_and_share_ties():
    keys = [(0, 2.0), (1, 0.1), (0, 2.0), (0, 1.0), (1, 0.5)]
    assert list(ranks(keys)) == [2.5, 4, 2.5, 1, 5]


def test_ranks_by_brute_force():
    rng = np.random.default_rng(1)
    keys = [(int(a), float(b)) for a, b in rng.integers(0, 3, (12, 2))]
    expected = [
        1 + sum(k < key for k in keys) + (sum(k == key for k in keys) - 1) / 2
        for key in keys
    ]
    assert list(ranks(keys)) == expected


def test_mean_ranks_use_common_seeds_and_common_methods():
    tasks = [
        {
            "a": {0: (0, 1.0), 1: (0, 5.0), 2: (0, 0.0)},
            "b": {0: (0, 2.0), 1: (0, 4.0)},
            "only-here": {0: (0, 0.0)},
        },
        {"a": {0: (1, 9.0)}, "b": {0: (0, 100.0)}},
    ]
    # task 1: seeds 0 and 1 give a the ranks 1 and 2; task 2: a is infeasible
    assert mean_ranks(tasks) == {"b": 1.25, "a": 1.75}
    assert mean_ranks([]) == {}


def test_mean_ranks_of_all_methods_average_to_the_middle():
    rng = np.random.default_rng(2)
    tasks = [
        {m: {s: (0, float(rng.normal())) for s in range(5)} for m in "abcd"}
        for _ in range(3)
    ]
    found = mean_ranks(tasks)
    assert np.mean(list(found.values())) == pytest.approx(2.5)
    assert all(x <= y for x, y in itertools.pairwise(found.values()))
