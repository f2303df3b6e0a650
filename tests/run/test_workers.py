"""Workers that die, hang or come from elsewhere."""

import math
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import wideopt as wo
from tests.run import objectives
from tests.run.objectives import BOX, QUICK, bowl, takes_a_moment
from wideopt.run._executor import Workers

pytestmark = pytest.mark.usefixtures("unchecked")


def random(fun, **settings):
    defaults = {"method": "random", "n_evals": 6, "seed": 3}
    return wo.minimize(fun, BOX, **(defaults | settings))


@pytest.fixture
def flags(tmp_path, monkeypatch):
    monkeypatch.setenv("WIDEOPT_TEST_FLAGS", str(tmp_path))
    return tmp_path


def test_an_accident_is_tried_once_more(flags):
    result = random(objectives.killed_once, n_workers=2)
    assert (result.n_evals, result.n_failed) == (6, 0)
    assert len(list(flags.iterdir())) > 0


@pytest.mark.parametrize(
    ("fun", "settings", "error"),
    [
        ("hangs_on_the_right", {"eval_timeout": 2.0, "n_workers": 2}, "Timeout"),
        ("segfaults_on_the_right", {"n_workers": 2}, "ProcessExpired"),
    ],
)
def test_hanging_and_crashing_cost_that_evaluation_only(fun, settings, error):
    result = random(getattr(objectives, fun), n_evals=4, **settings)
    assert 0 < result.n_failed < 4
    for trial in result.history:
        assert (trial.state == "failed") == (trial.x[0] > 0)
        assert trial.state == "complete" or error in trial.error


def test_eight_workers_never_evaluate_the_same():
    with ThreadPoolExecutor(8) as pool:
        result = wo.minimize(
            takes_a_moment,
            BOX,
            method="gp-ei",
            n_evals=24,
            seed=0,
            executor=pool,
            options=QUICK,
        )
    points = np.array([t.x for t in result.history])
    gaps = np.abs(points[:, None] - points[None]).max(axis=2)
    assert gaps[~np.eye(24, dtype=bool)].min() > 1e-9
    assert result.n_failed == 0


def test_a_small_space_is_evaluated_once_each():
    space = {"a": wo.Integer(0, 2), "b": wo.Categorical(["x", "y"])}
    seen = []

    def fun(x):
        seen.append((x["a"], x["b"]))
        return x["a"]

    with ThreadPoolExecutor(3) as pool:
        result = wo.minimize(
            fun, space, method="random", n_evals=50, seed=0, executor=pool
        )
    assert len(seen) == len(set(seen)) == result.n_evals == 6
    assert "every config" in result.message


def test_an_executor_is_given_as_much_as_it_can_do():
    class Unknown(Executor):
        pass

    class Dask(Executor):
        class _client:  # noqa: N801
            nthreads = staticmethod(lambda: {"a": 2, "b": 3})

    sizes = [
        Workers.of(executor, n, None, bowl).n
        for executor, n in [
            (ThreadPoolExecutor(5), None),
            (ThreadPoolExecutor(5), 2),
            (Dask(), None),
            (None, None),
            (None, 4),
        ]
    ]
    assert sizes == [5, 2, 5, 1, 4]
    assert Workers.of(Unknown(), None, None, bowl).n >= 1


def test_an_executor_that_breaks_ends_the_run_with_what_there_is(sqlite):
    settings = {"n_evals": 12, "storage": sqlite}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = random(objectives.killed_on_the_right, executor=pool, **settings)
    assert result.n_evals < 12
    assert "executor" in result.message
    assert result.n_failed == 0  # it was not the fault of the one that was under way
    assert random(bowl, **settings).n_evals == 12


@pytest.mark.parametrize("seconds", [0, -1, "1h", math.nan])
def test_a_bad_limit(seconds):
    with pytest.raises(wo.InputError, match="eval_timeout"):
        random(bowl, eval_timeout=seconds)


def test_a_limit_for_an_executor_of_the_user():
    with ThreadPoolExecutor(1) as pool, pytest.raises(wo.InputError, match="leave"):
        random(bowl, eval_timeout=1.0, executor=pool)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed")
def test_dask_with_workers_that_are_killed(flags):
    """A killed worker costs one re-run, which Dask does by itself."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster) as client:
        executor = client.get_executor(pure=False, retries=0)
        result = random(objectives.killed_once, executor=executor)
    assert (result.n_evals, result.n_failed) == (6, 0)
    killed = [t for t in result.history if t.x[0] > 0]
    assert len(list(flags.iterdir())) == len(killed) > 0
