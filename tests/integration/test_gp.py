"""GP methods reach known optima, and do so sooner than random search."""

import math
from statistics import median

import pytest

import wideopt as wo


def gaps(name, method, n_evals, seeds, **options):
    """Distances to the optimum, seed by seed."""
    problem = wo.problems.get(name)
    return [
        wo.minimize(
            problem,
            problem.space,
            method=method,
            n_evals=n_evals,
            seed=seed,
            options=options,
        ).fun
        - problem.optimum
        for seed in seeds
    ]


QUICK = {"n_candidates": 256, "n_restarts": 2}


@pytest.mark.slow
def test_branin():
    found = gaps("branin", "gp-ei", 25, range(3), **QUICK)
    assert median(found) < 0.05
    assert median(found) < median(gaps("branin", "random", 25, range(3))) / 10


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("gp-pi", marks=pytest.mark.slow),
        pytest.param("gp-ucb", marks=pytest.mark.slow),
        "gp-ts",
    ],
)
def test_the_others_beat_random(method):
    found = gaps("branin", method, 20, [0], **QUICK)
    assert found[0] < median(gaps("branin", "random", 20, range(5)))


def test_crashes_are_kept_away_from():
    """Half of the box crashes; the model learns it."""

    def fun(x):
        if x[0] > 0:
            raise RuntimeError
        return (x[0] + 0.3) ** 2 + (x[1] - 0.2) ** 2

    result = wo.minimize(
        fun, [(-1, 1)] * 2, method="gp-ei", n_evals=20, seed=0, options=QUICK
    )
    assert result.fun < 1e-2
    late = result.history[8:]
    assert sum(t.state == "failed" for t in late) <= 4


@pytest.mark.slow
def test_a_constrained_optimum_on_the_boundary():
    def fun(x):
        return x[0] + x[1], [1.0 - x[0] ** 2 - x[1] ** 2]

    result = wo.minimize(
        fun, [(0, 2)] * 2, method="gp-ei", n_evals=25, seed=0, options=QUICK
    )
    assert result.feasible
    assert result.fun < 1.05  # 1, at (0, 1) and (1, 0)


@pytest.mark.slow
def test_a_mixed_optimum():
    space = {
        "rate": wo.Real(1e-5, 1e-1, log=True),
        "layers": wo.Integer(1, 8),
        "kind": wo.Categorical(["a", "b", "c"]),
    }

    def fun(x):
        y = (math.log10(x["rate"]) + 3) ** 2 + 0.3 * (x["layers"] - 5) ** 2
        return y + {"a": 1.0, "b": 0.0, "c": 2.0}[x["kind"]]

    result = wo.minimize(fun, space, method="gp-ei", n_evals=30, seed=0, options=QUICK)
    assert result.x["kind"] == "b"
    assert result.fun < 0.1


@pytest.mark.slow
def test_branin_within_5e_2_in_40():
    assert median(gaps("branin", "gp-ei", 40, range(10))) < 0.05


@pytest.mark.slow
def test_hartmann_6_within_3e_1_in_80():
    assert median(gaps("hartmann-6", "gp-ei", 80, range(10))) < 0.3
