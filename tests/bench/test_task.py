import numpy as np
import pytest

from wideopt import InputError, problems
from wideopt.bench import Noise, from_problem
from wideopt.bench.task import PAPERS, Scales, Task, parse_noise
from wideopt.space import Space


def test_truth_is_the_problem(smoke):
    task = smoke("neural-cbo", "branin-disk")
    x = np.array([1.0, 2.0])
    assert task.truth(x) == problems.get("branin-disk")(x)
    assert task.evaluate(x, np.random.default_rng(0)) == task.truth(x)


def test_without_constraints_a_number_is_seen(smoke):
    y = smoke("coco", "f01-d02-i1").evaluate(np.zeros(2), np.random.default_rng(0))
    assert isinstance(y, float)


def test_noise_has_the_stated_share_on_every_output():
    problem = problems.get("branin-disk")
    task = from_problem(problem, 10, noise=Noise("sd", 0.05))
    x = np.array([3.0, 3.0])
    rng = np.random.default_rng(0)
    seen = np.array([[y, *c] for y, c in (task.evaluate(x, rng) for _ in range(4000))])
    y, c = task.truth(x)
    low, high = np.array(problem.bounds).T
    X = low + (high - low) * np.random.default_rng(1).random((20000, 2))
    sds = [problem.objective(X).std(), problem.constraints(X).std()]
    assert seen.mean(axis=0) == pytest.approx([y, *c], abs=0.2)
    assert seen.std(axis=0) == pytest.approx(0.05 * np.array(sds), rel=0.06)


def test_the_papers_rule_is_a_variance():
    scales = Scales(sds=(1.0,), ranges=(25.0,))
    assert PAPERS.sds(scales) == pytest.approx([0.5])


def test_noise_is_the_same_for_the_same_stream(smoke):
    task = smoke("neural-cbo", "simionescu-noisy")
    a, b = (task.evaluate(np.zeros(2), np.random.default_rng([3, 1])) for _ in "ab")
    assert a == b != task.truth(np.zeros(2))


def test_range_reaches_down_to_the_optimum():
    problem = problems.get("hartmann-ball")
    task = from_problem(problem, 10)
    assert task.scales is not None
    assert task.scales.ranges[0] == pytest.approx(-problem.optimum, rel=1e-3)


def test_other_noise_is_another_task(smoke):
    task = smoke("neural-cbo", "branin-disk")
    noisy = task.with_noise(parse_noise("paper"))
    assert noisy.name == "branin-disk--noise-range-0.01"
    assert noisy.to_json()["noise"]["rule"] == "range:0.01"
    assert task.with_noise(None) is task


@pytest.mark.parametrize("text", ["much", "sd", "sd:0", "sd:-1", "sd:x", "other:1"])
def test_bad_noise_is_named(text):
    with pytest.raises(InputError, match=r"Noise is"):
        parse_noise(text)


def test_noise_labels_are_read_back():
    for rule in (Noise("sd", 0.1), PAPERS):
        assert parse_noise(rule.label) == rule
    assert parse_noise("none") is None


def test_impossible_tasks_are_refused():
    def task(**settings):
        return Task("t", Space([(0, 1)]), 5, lambda x: (0.0, ()), **settings)

    with pytest.raises(InputError, match="n_init=5"):
        task(n_init=5)
    with pytest.raises(InputError, match="needs its scales"):
        task(noise=PAPERS)
