"""Problems drawn by chance: always the same, and with the optimum that is stated."""

import numpy as np
import pytest

from wideopt import bench
from wideopt.bench.applications.generated import (
    FAMILIES,
    NAMES,
    OPTIMA,
    fresh,
    generated,
    solved,
)
from wideopt.bench.single import run_one


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_always_the_same_problem(name):
    first, again = generated(name), generated(name)
    x = np.array(first.bounds).mean(axis=1)

    assert first(x) == again(x)
    assert first.box == again.box


@pytest.mark.parametrize("name", ["posynomial-1", "wells-0", "wells-2", "landscape-0"])
def test_the_optimum_is_found_again(name):
    value, x = solved(generated(name), n_starts=20)

    assert value == pytest.approx(OPTIMA[name], rel=1e-6)
    assert (generated(name).constraints(x) <= 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_sampled_point_is_better(name):
    problem = generated(name)
    low, high = np.array(problem.bounds).T
    X = low + (high - low) * np.random.default_rng(1).random((20_000, problem.dim))
    is_feasible = (problem.constraints(X) <= 0).all(axis=-1)

    assert (problem.objective(X)[is_feasible] >= OPTIMA[name] - 1e-9).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_another_number_is_another_function_of_the_same_scale(family):
    X = np.random.default_rng(1).random((4_096, 3))
    first, again, other = (fresh(family, 3, number)(X) for number in (0, 0, 1))

    assert (first == again).all()
    assert np.abs(first - other).max() > 0.1
    assert abs(first.mean()) < 0.3  # of another sample than the one that scaled it
    assert first.std() == pytest.approx(1.0, abs=0.3)


def test_tasks_of_the_suite_drawn_differ_by_seed():
    suite = bench.get("drawn")
    task = suite.task("noisy--valley-3")
    x = np.full(3, 0.3)

    assert (task.n_evals, task.noise.label, task.n_batch) == (60, "sd:0.1", 1)
    assert suite.task("batch--wells-2").n_batch == 4
    assert task.truth(x)[0] == fresh("valley", 3, 0)(x)
    smoke = suite.task("plain--landscape-2", is_smoke=True)
    for seed in (0, 1):
        columns = run_one("random", smoke, seed)["trajectory"]
        expected = [fresh("landscape", 2, seed)(x) for x in np.array(columns["x"])]
        assert columns["y"] == pytest.approx(expected)


def test_mixed_configs_are_places_in_the_cube():
    task = bench.get("drawn").task("mixed--bowl-3")
    plain = fresh("bowl", 3, 1)
    at = {choice: {"x0": 0.3, "x1": choice, "x2": 6} for choice in "abcd"}
    found = {choice: task.seeded(1).truth(x)[0] for choice, x in at.items()}

    expected = [plain([0.3, place / 3, 0.5]) for place in range(4)]
    assert sorted(found.values()) == pytest.approx(sorted(expected))
