"""A campaign without Python: the commands by hand, and what they say of mistakes."""

import csv
import io
import json
import sys

import pytest

import wideopt as wo
from wideopt.cli import main

ANSWERS = """temperature
real
20
eighty
90
no
time
i
1
100
yes
catalyst
category
A, B, C

maximize
cost

"""


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """The exit code, standard output and standard error of a command."""
    monkeypatch.chdir(tmp_path)

    def run(*args, answers=None):
        monkeypatch.setattr(sys, "argv", ["wideopt", *map(str, args)])
        if answers is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
        with pytest.raises(SystemExit) as exited:
            main()
        out, err = capsys.readouterr()
        return exited.value.code or 0, out, err

    return run


@pytest.fixture
def plan(call, tmp_path):
    code, out, _ = call("new", "resin.json", answers=ANSWERS)
    assert code == 0, out
    path = tmp_path / "resin.json"
    form = json.loads(path.read_text())
    path.write_text(json.dumps({**form, "seed": 0, "method": "random"}))
    return path


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_new_asks(call, plan):
    form = json.loads(plan.read_text())
    assert wo.Space.from_json(form["space"]) == wo.Space(
        {
            "temperature": wo.Real(20, 90),
            "time": wo.Integer(1, 100, log=True),
            "catalyst": wo.Categorical(["A", "B", "C"]),
        }
    )
    assert (form["goal"], form["constraints"]) == ("maximize", ["cost"])


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ("y\nT\n\n0\n1\n\n\n\n", "'y' cannot be a name"),
        ("\nT\n\n0\n1\n\n\n\n", "At least one parameter"),
        ("T\n\n1\n0\nno\n0\n1\n\n\n\n", "low < high"),
        ("T\nfoo\n\n0\n1\n\n\n\n", "not 'foo'"),
    ],
)
def test_new_asks_again(call, answers, said):
    code, out, _ = call("new", "a.json", answers=answers)
    assert code == 0
    assert said in out
    assert "written: a.json" in out


def test_a_campaign(call, plan):
    code, out, err = call("suggest", plan, "-n", 2)
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first.startswith("trial=0  temperature=")
    code, again, _ = call("suggest", plan, "--open")
    assert again == out
    code, out, _ = call("tell", plan, "trial=0", "y=7.5", "cost=-1")
    assert code == 0
    assert "told: trial 0" in out
    assert "best objective: 7.5" in out
    config = second.split()[1:]
    code, out, _ = call("tell", plan, *config, "y=failed")
    assert "told: trial 1" in out  # found by its values
    _, out, _ = call("tell", plan, "temperature=50", "time=10", "catalyst=B",
                     "y=9.25", "c=0.5")  # fmt: skip
    assert "told: trial 2" in out
    assert "best objective: 7.5" in out  # the other one is not feasible
    assert "1 failed" in out
    _, out, _ = call("suggest", plan, "--open")
    assert out == "nothing is open\n"
    _, out, _ = call("suggest", plan)
    assert out.startswith("trial=3")


def test_a_space_that_is_exhausted(call, tmp_path):
    call("new", "tiny.json", answers="n\ni\n1\n3\nno\n\n\n\n")
    _, out, _ = call("suggest", "tiny.json", "-n", 9)
    assert len(out.splitlines()) == 3
    _, out, _ = call("suggest", "tiny.json")
    assert out == "every config has been suggested\n"


def test_tables_there_and_back(call, plan, tmp_path):
    call("suggest", plan, "-n", 3, "--csv", "todo.csv")
    table = rows((tmp_path / "todo.csv").read_text())
    assert [row["trial"] for row in table] == ["0", "1", "2"]
    table[0] |= {"y": "1.5", "cost": "-2"}
    table[2] |= {"y": "failed"}
    with (tmp_path / "done.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)
    code, out, _ = call("import", plan, "done.csv")
    assert code == 0
    assert "told: 2 trials; known before: 0" in out
    _, out, _ = call("import", plan, "done.csv")
    assert "told: 0 trials; known before: 2" in out
    _, out, _ = call("suggest", plan, "--open")
    assert out.startswith("trial=1 ")
    _, text, _ = call("export", plan)
    assert [row["state"] for row in rows(text)] == ["complete", "failed"]
    call("export", plan, "all.csv")
    form = json.loads(plan.read_text())
    (tmp_path / "copy.json").write_text(json.dumps(form))
    code, out, _ = call("import", "copy.json", "all.csv")
    assert "told: 2 trials" in out
    _, copied, _ = call("export", "copy.json")
    keep = [{**row, "trial": "", "error": ""} for row in rows(text)]
    assert [{**row, "trial": "", "error": ""} for row in rows(copied)] == keep


def test_a_storage_of_python(call, sqlite):
    def fun(x):
        return x[0] ** 2

    wo.minimize(fun, [(-1, 1)], method="random", n_evals=3, seed=0, storage=sqlite)
    code, out, _ = call("suggest", sqlite)
    assert code == 0
    assert out.startswith("trial=3  x0=")
    code, out, _ = call("tell", sqlite.removeprefix("sqlite:///"), "trial=3", "y=-5")
    assert "best objective: -5" in out
    more = wo.minimize(fun, [(-1, 1)], method="random", n_evals=5, storage=sqlite)
    assert (more.n_evals, more.fun) == (5, -5)


def test_what_a_person_has_open_is_no_part_of_a_budget(call, sqlite):
    def fun(x):
        return x[0] ** 2

    wo.minimize(fun, [(-1, 1)], method="random", n_evals=2, seed=0, storage=sqlite)
    call("suggest", sqlite, "-n", 2)
    more = wo.minimize(fun, [(-1, 1)], method="random", n_evals=5, storage=sqlite)

    assert more.n_evals == 5
    _, out, _ = call("suggest", sqlite, "--open")
    assert len(out.splitlines()) == 2  # still theirs


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["suggest", "nowhere.json"], "There is no file 'nowhere.json'"),
        (["suggest", "nowhere.db"], "There is no file 'nowhere.db'"),
        (["new", "resin.txt"], "ends in .json"),
        (["new", "resin.json"], "exists already"),
        (["tell", "resin.json", "trial=7", "y=1", "cost=0"], "no open trial 7"),
        (["tell", "resin.json", "trial=x", "y=1", "cost=0"], "'x'"),
        (["tell", "resin.json", "trial=0", "y=much", "cost=0"], "'much'"),
        (["tell", "resin.json", "trial=0", "cost=0"], "y is missing"),
        (["tell", "resin.json", "trial=0", "y=1", "c=1,2"], "Expected 1"),
        (["tell", "resin.json", "trial=0", "y=1", "price=1"], "'price'"),
        (["tell", "resin.json", "time=3", "y=1", "cost=0"], "temperature, catalyst"),
        (["tell", "resin.json", "temperature=95", "time=3", "catalyst=A", "y=1"],
         "95.0, outside"),
        (["tell", "resin.json", "temperature=50", "time=3", "catalyst=D", "y=1"],
         "'D', not one of A, B, C"),
        (["tell", "resin.json", "y"], "NAME=VALUE"),
        (["import", "resin.json", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["import", "resin.json", "bad.csv"], "bad.csv, line 3: Parameter time"),
        (["suggest", "broken.json"], "is not a space file"),
    ],
)  # fmt: skip
def test_mistakes(call, plan, tmp_path, args, said):
    lines = ["temperature,time,catalyst,y,cost", "30,3,A,1,0", "30,0,A,1,0"]
    (tmp_path / "bad.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "broken.json").write_text("{}")
    call("suggest", plan)
    code, _, err = call(*args)
    assert code == 1
    assert said in err
    assert len(err.splitlines()) == 1
    _, text, _ = call("export", plan)
    assert rows(text) == []  # nothing was stored
