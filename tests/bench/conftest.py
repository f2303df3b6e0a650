import numpy as np
import pytest

from wideopt import bench
from wideopt.bench.run_data import Run
from wideopt.bench.task import Task
from wideopt.space import Space

CENTER = "python:tests.bench.contenders:Center"


@pytest.fixture
def parabola():
    """f = |x - 0.25|², feasible where the first coordinate is >= 0.5; f* = 1/16."""

    def outputs(x):
        return float(np.sum((x - 0.25) ** 2)), [0.5 - float(x[0])]

    return Task(
        name="parabola",
        space=Space([(0.0, 1.0), (0.0, 1.0)]),
        n_evals=8,
        outputs=outputs,
        n_constraints=1,
        optimum=1 / 16,
        n_init=5,
    )


@pytest.fixture
def smoke():
    """A task of a suite in its smoke size."""
    return lambda suite, task: bench.get(suite).task(task, is_smoke=True)


@pytest.fixture
def make_run():
    """A run with given true values."""

    def make(Y, C=None, *, method="m", seed=0, n_evals=None, optimum=0.0, **more):
        Y = np.array(Y, dtype=float)
        C = np.zeros((len(Y), 0)) if C is None else np.array(C, dtype=float)
        return Run(
            task="t",
            method=method,
            seed=seed,
            status="complete",
            n_evals=n_evals or len(Y),
            n_init=more.pop("n_init", 0),
            optimum=optimum,
            objective_range=10.0,
            Y=Y,
            C=C,
            suggest_cpu=np.arange(len(Y), dtype=float),
            suggest_wall=2.0 * np.arange(len(Y), dtype=float),
            memory_mb=100.0,
            info={"task": {"space": {"parameters": [0, 1]}}},
            **more,
        )

    return make
