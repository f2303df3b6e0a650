import json

import numpy as np
import pytest

from wideopt import InputError, WideoptError, bench
from wideopt.bench.applications import documents
from wideopt.bench.suites import documents as suites_documents


def test_suites_of_the_papers_are_there():
    assert set(bench.every_suite()) >= {
        *("neural-bo-synthetic", "neural-cbo", "coco", "sensitive-samples"),
        *("documents", "documents-amazon", "robot-pushing", "robot-pushing-long"),
    }
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


def needs_wordnet(test):
    # The corpus is a Debian package that `.ci/run` installs; elsewhere `make wordnet`
    # does, and a machine without apt can still run all other tests.
    try:
        documents.wordnet_path()
    except WideoptError as error:
        return pytest.mark.skip(reason=str(error))(test)
    return test


@needs_wordnet
@pytest.mark.parametrize("is_smoke", [True, False])
def test_documents_are_candidates(is_smoke):
    suite = bench.get("documents")
    assert set(suite.smoke) <= set(suite.full)
    for name in suite.tasks(is_smoke):
        task = suite.task(name, is_smoke)
        rows = task.space.candidates.rows
        assert rows.shape[1] == (50 if is_smoke else 500)
        values = np.array([task.truth(row)[0] for row in rows])
        assert values.min() == task.optimum == -1
        assert np.median(values) > -0.5  # most documents are far off
        size = len(json.dumps(task.to_json()))
        assert size < 1000  # a record does not hold the corpus


@needs_wordnet
def test_words_tell_of_categories():
    """The 50 documents nearest to a target score higher by 0.1 than all do."""
    corpus = suites_documents._nouns(False)
    for seed in range(3):
        target = corpus.target(seed)
        score = corpus.score(target)
        values = np.array([score(row) for row in corpus.counts])
        gaps = np.abs(corpus.counts - corpus.counts[target]).sum(axis=1)
        near = np.argsort(gaps, kind="stable")[1:51]  # the first is the target
        assert values[near].mean() > values.mean() + 0.1


@pytest.mark.parametrize(
    ("suite_name", "n_evals", "n_init", "n_dims"),
    [
        ("sensitive-samples", 200, None, 49),
        ("robot-pushing", 500, 15, 14),
        ("robot-pushing-long", 6000, 15, 14),
    ],
)
def test_applications_have_the_stated_sizes(suite_name, n_evals, n_init, n_dims):
    suite = bench.get(suite_name)
    assert set(suite.smoke) <= set(suite.full)
    values = set()
    for name in suite.full:
        task = suite.task(name)
        assert (task.name, task.n_evals, task.n_init) == (name, n_evals, n_init)
        assert task.space.n_dims == n_dims
        # in robot pushing, the first hand runs into the first object
        point = np.linspace(0.3, 0.7, n_dims)
        point[:7] = [0.2, 0.7, 0.65, 0.5, 0.5, 0.0, 0.5] if n_dims == 14 else 0.5
        config = task.space.config(task.space.decode(point))
        assert task.truth(config) == task.truth(config)
        values.add(task.truth(config)[0])
    assert len(values) == len(suite.full)
    assert suite.task(suite.smoke[0], is_smoke=True).n_evals <= 12


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
