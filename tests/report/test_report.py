"""The report: one file, nothing fetched, and its figures are there in a browser."""

import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import optuna
import pytest

import wideopt as wo
from wideopt.cli import main
from wideopt.report import Snapshot, write_report
from wideopt.report._model import Surrogate

FIGURES = {
    "progress",
    "feasibility",
    "parallel",
    "slices",
    "importance",
    "calibration",
    "coverage",
    "seconds",
}
SPACE = {
    "rate": wo.Real(1e-3, 1, log=True),
    "layers": wo.Integer(1, 8),
    "kind": wo.Categorical(["a", "b", "c"]),
    "idle": wo.Real(0, 1),
}


def fun(x):
    if x["idle"] > 0.8:
        raise RuntimeError("<diverged>")
    y = np.log10(x["rate"] / 0.03) ** 2 + 0.2 * abs(x["layers"] - 5)
    return 3 - y, [x["layers"] - 7.0]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('study') / 'run.db'}"
    wo.maximize(fun, SPACE, method="random", n_evals=24, seed=0, storage=url)
    return url


@pytest.fixture(scope="module")
def page(url, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(url, path)
    return path


def test_the_page_is_complete_and_fetches_nothing(page):
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r'id="figure-(\w+)"', text)) == FIGURES
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", text)
    assert "&lt;diverged&gt;" in text
    assert "<diverged>" not in text
    assert "maximize" in text


def test_the_figures_are_drawn_in_a_browser(page):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: see .ci/install_packages")
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=20000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    parts = re.split(r'id="figure-(\w+)"', done.stdout)
    drawn = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(drawn) == FIGURES
    for name, html in drawn.items():
        assert "main-svg" in html, name
    assert drawn["importance"].count('class="point"') == len(SPACE)


def test_the_model_of_the_report(url):
    snapshot = Snapshot.of(url)
    model = Surrogate.of(snapshot)
    shares = dict(model.importance())
    assert shares["rate"] > shares["layers"] > shares["idle"]
    _, best = snapshot.best
    assert best.y == max(t.y for _, t in snapshot.complete if t.is_feasible)
    point = snapshot.space.encode(snapshot.values(best))
    for one in model.slices(point):
        assert np.all(one.low <= one.mean + 1e-9)
        assert np.all(one.mean <= one.high + 1e-9)
    found = model.calibration()
    assert np.corrcoef(found.observed, found.mean)[0, 1] > 0.5
    assert found.coverage(0.5) <= found.coverage(0.95) <= 1
    assert found.coverage(0.95) > 0.6


def test_a_study_with_little_in_it(sqlite, tmp_path):
    wo.minimize(lambda x: 1.0, [(0, 1)], method="random", n_evals=2, storage=sqlite)
    write_report(sqlite, tmp_path / "out" / "r.html")
    text = (tmp_path / "out" / "r.html").read_text()
    assert set(re.findall(r'id="figure-(\w+)"', text)) == {
        "progress",
        "parallel",
        "seconds",
    }


def test_all_failed(sqlite, tmp_path):
    def broken(x):
        raise RuntimeError("no")

    with pytest.warns(wo.WideoptWarning):
        wo.minimize(broken, [(0, 1)], method="random", n_evals=5, storage=sqlite)
    write_report(sqlite, tmp_path / "r.html")
    assert "5 of 5 evaluations failed" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["report", "nowhere.db"], "There is no file"),
        (["report", "theirs.db"], "no such study"),
        (["dashboard", "nowhere.db"], "There is no file"),
    ],
)
def test_mistakes(args, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    optuna.create_study(storage="sqlite:///theirs.db", study_name="theirs")
    monkeypatch.setattr(sys, "argv", ["wideopt", *args])
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 1
    assert said in capsys.readouterr().err


def test_the_dashboard_answers_on_this_machine_and_has_our_figures(url):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "from wideopt.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "dashboard", url, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            assert process.poll() is None
            try:
                address = f"http://127.0.0.1:{port}/api/studies"
                with urllib.request.urlopen(address, timeout=5) as answer:
                    assert b"wideopt" in answer.read()
                break
            except OSError:
                time.sleep(0.2)
        else:
            pytest.fail("no answer")
    finally:
        process.kill()
        process.wait()
    study = optuna.load_study(study_name="wideopt", storage=url)
    attrs = study._storage.get_study_system_attrs(study._study_id)
    assert any("wideopt-importance" in key for key in attrs)
