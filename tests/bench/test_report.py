import pytest

from wideopt import InputError, bench
from wideopt.bench import parse
from wideopt.bench.record import record_path, save
from wideopt.bench.report import write_reports
from wideopt.bench.single import run_one

CASES = {
    "neural-cbo": ("branin-disk", "hartmann-ball"),
    "neural-bo-synthetic": ("levy-10",),
    "coco": ("f01-d02-i1", "f15-d03-i1"),
}
METHODS = ("random", "gp-ei[n_candidates=16,n_restarts=1]")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Small real records: two methods, three seeds; GP on one task only."""
    folder = tmp_path_factory.mktemp("results")
    for name, tasks in CASES.items():
        suite = bench.get(name)
        for task_name in tasks:
            task = suite.task(task_name, is_smoke=True)
            for text in METHODS if task_name == "branin-disk" else METHODS[:1]:
                for seed in range(3 if text == "random" else 2):
                    record = run_one(text, task, seed, suite=suite.folder(True))
                    where = suite.folder(True), task.name, parse(text), seed
                    save(record, record_path(folder, *where))
    failed = run_one("gp-ei[n_restarts=0]", bench.get("coco").task("f01-d02-i1"), 0)
    save(failed, folder / "coco-smoke" / "f01-d02-i1" / "bad" / "0.json")
    return folder


@pytest.fixture(scope="module")
def reports(results, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    paths = write_reports(results, out)
    return {path.stem: path.read_text() for path in paths}, out


def test_every_suite_with_records_has_a_report(reports):
    texts, _ = reports
    assert set(texts) == {f"{name}-smoke" for name in CASES}


def test_every_linked_figure_exists(reports):
    texts, out = reports
    for text in texts.values():
        links = [line.split("(")[-1][:-1] for line in text.splitlines() if "![" in line]
        assert links
        for link in links:
            data = (out / link).read_bytes()
            assert data.startswith(b"\x89PNG")
            assert len(data) > 5000


def test_constrained_tables(reports):
    text = reports[0]["neural-cbo-smoke"]
    for word in ("feasible regret / range", "R⁺", "Noise: none", "Commits: ", "3/3"):
        assert word in text
    assert "(000, table 2)" in text
    assert "## Constrained problems" in text
    lines = text.split("## Tests")[1].splitlines()
    row = next(line for line in lines if line.startswith("| branin-disk"))
    assert row.count("|") == 3  # one other method than the reference
    assert ", F)" in row or ", T)" in row


def test_unconstrained_tables(reports):
    text = reports[0]["neural-bo-synthetic-smoke"]
    assert "simple regret" in text
    assert "sd = 0.1 of the function's sd" in text
    assert "feasible regret" not in text


def test_coco_has_fractions_and_no_task_tables(reports):
    text = reports[0]["coco-smoke"]
    assert "| d = 2 | d = 3 |" in text
    assert "## Tasks" not in text


def test_failures_are_told(reports):
    text = reports[0]["coco-smoke"]
    assert "## Runs that ended early" in text
    assert "failed at 0 of 40" in text
    assert "n_restarts" in text


def test_tables_are_rectangular(reports):
    for text in reports[0].values():
        blocks = [b for b in text.split("\n\n") if b.startswith("|")]
        assert blocks
        for block in blocks:
            assert len({line.count("|") for line in block.splitlines()}) == 1


def test_another_reference_can_be_chosen(results, tmp_path):
    (path,) = write_reports(
        results, tmp_path, suite="neural-cbo-smoke", reference="random"
    )
    assert "reference **random**" in path.read_text()
    with pytest.raises(InputError, match="no runs of the reference"):
        write_reports(results, tmp_path, suite="neural-cbo-smoke", reference="turbo")


def test_no_records_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no records"):
        write_reports(tmp_path, tmp_path)
    with pytest.raises(InputError, match="no records"):
        write_reports(tmp_path, tmp_path, suite="coco")
