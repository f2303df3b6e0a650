import numpy as np
import pytest

from wideopt import InputError, bench


def test_suites_of_the_papers_are_there():
    assert {"neural-bo-synthetic", "neural-cbo", "coco"} <= set(bench.every_suite())
    with pytest.raises(InputError, match="did you mean coco"):
        bench.get("cocoa")


@pytest.mark.parametrize("is_smoke", [True, False])
@pytest.mark.parametrize("name", ["neural-bo-synthetic", "neural-cbo", "coco"])
def test_tasks_can_be_made(name, is_smoke):
    suite = bench.get(name)
    names = suite.tasks(is_smoke)
    for task_name in names if len(names) < 20 else names[:: len(names) // 9]:
        task = suite.task(task_name, is_smoke)
        assert task.name == task_name
        assert set(suite.smoke) <= set(suite.full)
        center = task.space.config(task.space.decode(np.full(task.space.n_dims, 0.5)))
        y, c = task.truth(center)
        assert np.isfinite([y, *c]).all()
        assert len(c) == task.n_constraints
        assert task.optimum is not None
        assert y >= task.optimum - 1e-9 or max(c, default=0) > 0
        if is_smoke:
            assert task.n_evals <= 12


def test_budgets_and_noise_are_those_of_the_papers():
    suite = bench.get("neural-cbo")
    assert len(suite.full) == 12
    assert suite.task("branin-disk").n_evals == 100
    assert suite.task("speed-reducer-noisy").n_evals == 200
    assert suite.task("speed-reducer").noise is None
    assert suite.task("gas-transmission-noisy").noise.label == "sd:0.05"
    synthetic = bench.get("neural-bo-synthetic")
    assert len(synthetic.full) == 12
    assert synthetic.task("levy-100").noise.label == "sd:0.1"
    coco = bench.get("coco")
    assert len(coco.full) == 24 * 4 * 5
    assert coco.task("f08-d05-i2").n_evals == 100


@pytest.mark.filterwarnings("ignore")  # of cma, on import
def test_coco_agrees_with_an_independent_implementation():
    bbob = pytest.importorskip("cma.bbobbenchmarks")
    rng = np.random.default_rng(0)
    for name in ("f01-d02-i1", "f08-d05-i2", "f15-d03-i4", "f21-d10-i5"):
        task = bench.get("coco").task(name)
        function, instance = int(name[1:3]), int(name[-1])
        other, optimum = bbob.instantiate(function, instance)
        assert task.optimum == pytest.approx(optimum)
        x = rng.uniform(-5, 5, len(task.space))
        assert task.truth(x)[0] == pytest.approx(other(x), rel=1e-6)


def test_names_are_unique():
    suite = bench.get("coco")
    with pytest.raises(InputError, match="two suites"):
        bench.register(suite)
