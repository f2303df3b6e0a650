"""The command: what it prints, its exit codes, and errors in one line."""

import subprocess
import sys

import optuna
import pytest

import wideopt as wo
from wideopt.cli import main

FILE = """
import wideopt as wo

space = {"a": (0, 1), "b": wo.Integer(1, 5)}

def fun(x):
    return x["a"] + x["b"], [0.2 - x["a"]]

def other(x):
    return -x["a"]

def broken(x):
    raise RuntimeError("out of steam")
"""


@pytest.fixture
def call(monkeypatch, capsys):
    """The exit code, standard output and standard error of a command."""

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["wideopt", *map(str, args)])
        with pytest.raises(SystemExit) as exited:
            main()
        out, err = capsys.readouterr()
        return exited.value.code or 0, out, err

    return run


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "my_function.py"
    path.write_text(FILE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield path
    sys.modules.pop("my_function", None)


def test_run_a_problem(call):
    code, out, err = call(
        "run", "branin", "--method", "random", "--n-evals", 7, "--seed", 0
    )
    assert (code, err) == (0, "")
    assert "best objective:" in out
    assert "evaluations: 7" in out
    assert "known optimum: 0.39788" in out


def test_run_a_file(call, file):
    code, out, err = call("run", file, "--method", "random", "--n-evals", 6)
    assert (code, err) == (0, "")
    assert "constraints:" in out
    assert "a=" in out
    assert "known optimum" not in out


def test_run_a_named_function_to_its_maximum(call, file):
    settings = ("--method", "random", "--n-evals", 6, "--seed", 1)
    _, low, _ = call("run", f"{file}:other", *settings)
    _, high, _ = call("run", f"{file}:other", *settings, "--maximize")
    assert low != high


def test_run_in_two_processes(call, file):
    code, out, _ = call(
        "run", file, "--method", "random", "--n-evals", 4, "--workers", 2
    )
    assert code == 0
    assert "failed" not in out


def test_run_resumes(call, file, sqlite):
    settings = ("--method", "random", "--storage", sqlite, "--study", "mine")
    call("run", file, "--n-evals", 3, *settings)
    code, out, _ = call("run", file, "--n-evals", 5, *settings)
    assert code == 0
    assert "evaluations: 5" in out
    assert len(optuna.load_study(study_name="mine", storage=sqlite).trials) == 5


def test_run_saves_a_plot(call, file, tmp_path):
    path = tmp_path / "deep" / "run.png"
    code, out, _ = call(
        "run", file, "--method", "random", "--n-evals", 3, "--plot", path
    )
    assert code == 0
    assert str(path) in out
    assert path.stat().st_size > 0


def test_a_run_in_which_all_failed_exits_with_one(call, file):
    with pytest.warns(wo.WideoptWarning, match="out of steam"):
        code, out, _ = call(
            "run", f"{file}:broken", "--method", "random", "--n-evals", 5
        )
    assert code == 1
    assert "out of steam" in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "brannin"), "branin"),
        (("run", "nowhere.py"), "'nowhere.py'"),
        (("run", "branin", "--method", "gp-eii"), "gp-ei"),
        (("run", "branin", "--storage", "run.db"), "sqlite:///run.db"),
        (("run", "branin", "--method", "random", "--plot", "x.xyz"), "x.xyz"),
    ],
)
def test_errors_are_one_line(call, args, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(*args)
    assert code == 1
    assert err.startswith("wideopt: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (FILE, "fan", "must define 'fan'"),
        ("def fun(x): return 1", "", "must define 'space'"),
        ("1 / 0", "", "ZeroDivisionError: division by zero"),
        ("def fun(x) return 1", "", "SyntaxError"),
        ("space = [(1, 0)]\ndef fun(x): return 1", "", "low=1, high=0"),
        ("space = [(0, 1)]\nfun = 3", "", "must be a function, but got 3"),
        ("space = [(0, 1)]\ndef fun(x): return None", "", "None"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_errors_in_a_file_are_one_line(call, file, text, name, said):
    file.write_text(text)
    code, _, err = call("run", f"{file}:{name}" if name else file)
    assert code == 1
    assert err.startswith("wideopt: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    "args",
    [
        ("run",),
        ("run", "branin", "--n-evals", "0"),
        ("run", "branin", "--seed", "-1"),
        ("run", "branin", "--n-evals", "many"),
        ("run", "branin", "--speed", "1"),
        ("walk",),
    ],
)
def test_usage_errors_exit_with_two(call, args):
    code, out, err = call(*args)
    assert code == 2
    assert out == ""
    assert "Traceback" not in err


def test_methods(call):
    code, out, _ = call("methods")
    assert code == 0
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert lines == wo.methods()


def test_problems(call):
    code, out, _ = call("problems")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(wo.problems.names())


def test_version(call):
    assert call("--version") == (0, f"wideopt {wo.__version__}\n", "")


@pytest.mark.parametrize(
    "args", [["--help"], ["run", "--help"], ["problems", "--help"]]
)
def test_help(call, args):
    code, out, err = call(*args)
    assert (code, err) == (0, "")
    assert "Usage:" in out


SCRIPT = """
import sys
sys.argv = ["wideopt", *sys.argv[1:]]
try:
    from wideopt.cli import main
    main()
except SystemExit as exited:
    assert not exited.code
heavy = {"torch", "botorch", "gpytorch", "optuna", "scipy", "matplotlib"}
print("HEAVY", sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "args", ["--help", "--version", "run --help", "methods", "problems"]
)
def test_nothing_heavy_is_imported(args):
    command = [sys.executable, "-c", SCRIPT, *args.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout


def test_the_installed_command_shows_no_traceback():
    code = "from wideopt.cli import main; main()"
    command = [sys.executable, "-c", code, "run", "nothing-at-all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
