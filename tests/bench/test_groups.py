"""Ranks in groups of tasks: by hand, and in the report of the arena."""

import dataclasses

import numpy as np
import pytest

from wideopt import bench
from wideopt.bench.groups import groups_section
from wideopt.bench.ranking import ranks_of_all, ranks_present
from wideopt.bench.single import run_one


@pytest.fixture
def runs(make_run):
    def run(task, method, seed, best):
        return dataclasses.replace(
            make_run(Y=[9.0, best]), task=task, method=method, seed=seed
        )

    return [
        run(f"{group}--{task}", method, seed, best + 0.01 * seed)
        for group, order in (("easy", (1.0, 2.0, 3.0)), ("hard", (2.0, 1.0, 3.0)))
        for task in "abcd"
        for method, best in zip(("auto", "other", "random"), order, strict=True)
        for seed in range(3)
    ]


def test_ranks_by_hand(runs):
    methods, table = ranks_present([r for r in runs if r.task.startswith("easy")])

    assert methods == ["auto", "other", "random"]
    assert table.shape == (12, 3)
    assert np.array_equal(table.mean(axis=0), [1, 2, 3])


def test_a_run_that_a_method_lacks_is_no_rank(runs):
    some = [r for r in runs if not (r.method == "other" and r.seed == 2)]
    methods, table = ranks_present([r for r in some if r.task == "easy--a"])
    covered, common = ranks_of_all(methods, table, "auto")

    assert np.array_equal(table[2], [1, np.nan, 2], equal_nan=True)
    assert covered == methods
    assert np.array_equal(common, [[1, 2, 3]] * 2)


def test_a_method_with_few_runs_is_tested_but_not_ranked(runs, tmp_path):
    some = [r for r in runs if not (r.method == "other" and r.task[-1] in "bcd")]
    easy = groups_section(some, tmp_path, "auto").split("### ")[1]

    assert "over 12 pairs" in easy
    assert "| random | 2.00 | 12 | 12 | 0 | (0.000" in easy
    assert "| other | - | 3 | 3 | 0 | (0.125, F) |" in easy


def test_runs_of_the_reference_alone_count_for_nothing(runs, tmp_path):
    more = [dataclasses.replace(r, seed=s) for r in runs for s in range(3, 9)]
    alone = [run for run in more if run.method == "auto"]
    easy = groups_section(runs + alone, tmp_path, "auto").split("### ")[1]

    assert "over 12 pairs" in easy
    assert "| other | 2.00 | 12 | 12 | 0 |" in easy
    assert "| auto | - | 24 |" in groups_section(alone, tmp_path, "auto")


def test_the_section_says_where_the_reference_is_ahead(runs, tmp_path):
    text = groups_section(runs, tmp_path, "auto")
    easy, hard = text.split("### ")[1:]

    assert "12 pairs" in easy
    assert easy.index("| auto | 1.00 |") < easy.index("| other | 2.00 | 12 | 12 | 0 |")
    assert "| other | 1.00 | 12 | 0 | 12 | (1, B) |" in hard
    assert ", T) |" in hard.split("random")[1].splitlines()[0]


def test_all_groups_in_one_table(runs, tmp_path):
    some = [r for r in runs if r.task[:4] == "easy" or r.method != "random"]
    more = [r for r in runs if r.task == "hard--a" and r.method == "random"]
    overview = groups_section(some + more, tmp_path, "auto").split("###")[0]
    rows = [line for line in overview.splitlines() if line.startswith("|")]

    assert rows[0] == "| method | easy | hard |"
    assert rows[2:] == [
        "| auto | **1.00** | 2.00 |",
        "| other | 2.00 † | **1.00** ‡ |",
        "| random | 3.00 † | (3 : 0) |",
    ]


def test_dimensions_and_the_tasks_where_another_is_ahead(runs, tmp_path):
    def sized(run):
        space = {"parameters": [0] * (2 if run.task[-1] == "a" else 5)}
        return dataclasses.replace(run, info={"task": {"space": space}})

    easy, hard = groups_section([*map(sized, runs)], tmp_path, "auto").split("### ")[1:]

    assert "| parameters | pairs | auto | other | random |" in easy
    assert "| 2 | 3 | 1.00 | 2.00 | 3.00 |\n| 5 | 9 | 1.00 | 2.00 | 3.00 |" in easy
    assert "| 2 | 3 | 1.00 | 2.00 | 3.00 |\n| 5 | 9 | 1.00" in hard  # other comes first
    assert "| best |" not in easy
    assert "| hard--c | other | 1.00 | 2.00 | 3 |" in hard


def test_three_pairs_are_too_few_to_be_behind(runs, tmp_path):
    few = [run for run in runs if run.task == "hard--a"]
    hard = groups_section(few, tmp_path, "auto")

    assert "3 pairs" in hard
    assert "| other | 1.00 | 3 | 0 | 3 | (1, F) |" in hard  # of three, 1/8 at the least


@pytest.mark.parametrize("name", ["random", "peer:optuna-tpe", "peer:cma"])
def test_batches(name):
    task = bench.get("arena").task("batch--branin", is_smoke=True)
    record = run_one(name, task, seed=0)

    assert task.n_batch == 4
    assert record["status"] == "complete", record["error"]
    assert len(record["trajectory"]["y"]) == task.n_evals
    assert record["task"]["n_batch"] == 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.BotorchWarning")
def test_botorch_in_batches_with_constraints():
    task = bench.get("arena").task("constrained--three-bar-truss", is_smoke=True)
    record = run_one(
        "peer:botorch-logei[num_restarts=2,raw_samples=16]",
        dataclasses.replace(task, n_batch=2, n_evals=6),
        seed=0,
    )
    assert record["status"] == "complete", record["error"]
    assert len(record["trajectory"]["y"]) == 6


def test_every_task_of_the_arena_can_be_made():
    suite = bench.get("arena")
    for name in suite.full:
        if name.startswith(("noisy", "large", "batch", "constrained")):
            assert suite.task(name).name == name
    assert suite.task("noisy--levy-6-10%").noise.share == pytest.approx(0.1)
    assert suite.task("mixed--mlp-wdbc").optimum is None
    assert suite.task("bbob--f01-d05-i1").n_evals == 100
