import numpy as np
import pytest
from matplotlib import pyplot as plt

import wideopt as wo
from wideopt.data import Trial


def trial(i, y, c=None, state="complete"):
    return Trial(np.array([float(i), 0.5]), y, c, state, 0.1)


@pytest.fixture
def history():
    return [
        trial(0, 5.0, (-1.0,)),
        trial(1, 1.0, (2.0,)),
        trial(2, None, state="failed"),
        trial(3, 3.25, (-0.5,)),
        trial(4, 4.0, (0.0,)),
    ]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_of(history):
    result = wo.Result.of(history, "random", "hello")
    assert (result.fun, result.constraints, result.feasible) == (3.25, [-0.5], True)
    assert (result.n_evals, result.n_failed, result.n_feasible) == (5, 1, 3)
    assert result.history == history


def test_printed(history):
    text = str(wo.Result.of(history, "random", "hello"))
    assert text.splitlines() == [
        "  best objective: 3.25",
        "     constraints: -0.5 (all satisfied)",
        "               x: [3, 0.5]",
        "     evaluations: 5 (3 feasible, 1 failed)",
        "          method: random",
        "         message: hello",
    ]


def test_printed_when_nothing_is_feasible(history):
    text = str(wo.Result.of([history[1]], "random"))
    assert "1 (not feasible)" in text
    assert "2 (VIOLATED)" in text
    assert "message" not in text


def test_printed_when_nothing_succeeded(history):
    text = str(wo.Result.of([history[2]], "random"))
    assert "none, no evaluation has succeeded" in text
    assert "1 (1 failed)" in text


def test_printed_named_and_long():
    named = Trial({"rate": 0.123456789, "kind": "relu", "n": 3}, 1.0)
    assert "rate=0.123457, kind='relu', n=3" in str(wo.Result.of([named], "random"))
    long = Trial(np.zeros(40), 1.0, (0.0,) * 20)
    assert all(len(line) < 100 for line in str(wo.Result.of([long], "m")).splitlines())


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_plot(history, tmp_path):
    ax = wo.Result.of(history, "random").plot()
    assert labels(ax) == ["best feasible so far", "infeasible", "failed"]
    steps = next(line for line in ax.lines if line.get_label() == labels(ax)[0])
    assert steps.get_xydata().tolist() == [[1, 5], [2, 5], [3, 5], [4, 3.25], [5, 3.25]]
    path = tmp_path / "run.png"
    ax.figure.savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_plot_on_given_axes_and_of_a_maximum():
    result = wo.maximize(
        lambda x: float(x[0]), [(0, 1)], method="random", n_evals=6, seed=0
    )
    _, ax = plt.subplots()
    assert result.plot(ax) is ax
    assert labels(ax) == ["best so far"]
    best = ax.lines[1].get_ydata()
    assert best[-1] == result.fun
    assert np.all(np.diff(best) >= 0)


def test_plot_of_nothing():
    ax = wo.Result.of([], "random").plot()
    assert ax.get_legend() is None
    ax.figure.canvas.draw()


def test_plot_of_many_decades_is_logarithmic():
    ys = [1e6, 1e3, 1.0]
    ax = wo.Result.of([trial(i, y) for i, y in enumerate(ys)], "random").plot()
    assert ax.get_yscale() == "log"
    ax.figure.canvas.draw()


def test_plot_without_matplotlib(history, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(wo.WideoptError, match=r'pip install "wideopt\[report\]"'):
        wo.Result.of(history, "random").plot()
