"""What holds for every problem, and for `Problem` and `Noisy` themselves."""

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wideopt import problems
from wideopt.exceptions import InputError
from wideopt.problems import Noisy, Problem


def feasible(problem, X, tolerance=0.0):
    return np.all(problem.constraints(X) <= tolerance, axis=-1)


def test_fields_agree(problem):
    assert problem.dim == len(problem.bounds) == len(problem.box)
    assert problem.title
    assert problem.source
    assert problem.x_optimum.shape[1] == problem.dim
    assert isinstance(problem.bounds, list)


def test_optimum_is_attained_at_every_minimizer(problem):
    X = problem.x_optimum
    scale = max(1.0, abs(problem.optimum))
    assert np.allclose(
        problem.objective(X), problem.optimum, rtol=0, atol=1e-12 * scale
    )
    assert np.all(feasible(problem, X, tolerance=1e-10))
    low, high = np.array(problem.bounds).T
    assert np.all((low <= X) & (high >= X))


def test_no_feasible_point_of_a_sample_is_below_the_optimum(problem, draw):
    X = draw(problem, 50_000)
    low, high = np.array(problem.bounds).T
    rng = np.random.default_rng(1)
    scales = 10.0 ** rng.uniform(-6, 0, (20_000, 1)) * (high - low)
    near = problem.x_optimum[0] + scales * rng.standard_normal((20_000, problem.dim))
    X = np.concatenate([X, np.clip(near, low, high)])
    values = problem.objective(X)[feasible(problem, X)]
    assert values.min() >= problem.optimum - 1e-12 * max(1.0, abs(problem.optimum))


def test_local_descent_does_not_beat_the_optimum(problem, draw, descend):
    tolerance = 1e-7 * max(1.0, abs(problem.optimum))
    for x in np.concatenate([problem.x_optimum[:1], draw(problem, 5)]):
        found = descend(problem, x)
        if feasible(problem, found, tolerance=1e-9):
            assert problem.objective(found) >= problem.optimum - tolerance


def test_batch_equals_single(problem, draw):
    X = draw(problem, 6).reshape(2, 3, problem.dim)
    f, c = problem.objective(X), problem.constraints(X)
    assert f.shape == (2, 3)
    assert c.shape == (2, 3, problem.n_constraints)
    for index in np.ndindex(2, 3):
        outcome = problem(X[index])
        y, limits = outcome if problem.n_constraints else (outcome, [])
        assert type(y) is float
        assert all(type(value) is float for value in limits)
        assert y == pytest.approx(f[index], rel=1e-13, abs=1e-13)
        assert limits == pytest.approx(c[index].tolist(), rel=1e-13, abs=1e-13)
    assert problem.objective(X[:0]).shape == (0, 3)
    assert problem.constraints(X[:0]).shape == (0, 3, problem.n_constraints)


def test_torch_equals_numpy(problem, draw):
    X = draw(problem, 20)
    T = torch.as_tensor(X)
    f, c = problem.objective(T), problem.constraints(T)
    assert f.dtype == c.dtype == torch.float64
    np.testing.assert_allclose(f.numpy(), problem.objective(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        c.numpy(), problem.constraints(X), rtol=1e-12, atol=1e-12
    )
    assert problem.objective(T.float()).dtype == torch.float32
    assert problem.constraints(T.float()).dtype == torch.float32


def test_torch_gradients_equal_finite_differences(problem, draw):
    X = draw(problem, 5)
    low, high = np.array(problem.bounds).T
    steps = 1e-6 * np.diag(high - low)  # (d, d), one step in each row

    def outputs(X):
        f, c = problem.objective(X), problem.constraints(X)
        if isinstance(X, torch.Tensor):
            return torch.cat([f[..., None], c], dim=-1)
        return np.concatenate([f[..., None], c], axis=-1)

    ahead, behind = (outputs(X[:, None] + sign * steps) for sign in (1, -1))
    expected = (ahead - behind) / 2  # (n, d, 1 + k), change over one step
    J = torch.func.vmap(torch.func.jacrev(outputs))(torch.as_tensor(X)).numpy()
    got = np.swapaxes(J, 1, 2) * np.diag(steps)[:, None]
    scale = np.abs(outputs(X)).max(axis=0)
    np.testing.assert_allclose(got / scale, expected / scale, rtol=1e-4, atol=1e-10)


@pytest.mark.parametrize("name", ["ackley-3", "drop-wave", "hartmann-ball"])
def test_gradients_are_finite_at_zero(name):
    problem = problems.get(name)
    x = torch.zeros(problem.dim, dtype=torch.float64)
    assert torch.func.grad(problem.objective)(x).isfinite().all()
    assert torch.func.jacrev(problem.constraints)(x).isfinite().all()


def test_pickle_round_trip(problem):
    copy = pickle.loads(pickle.dumps(problem))
    assert copy == problem
    assert hash(copy) == hash(problem)
    assert copy(problem.x_optimum[0]) == problem(problem.x_optimum[0])


def test_every_problem_has_a_space(problem):
    space = pytest.importorskip("wideopt.space")
    assert isinstance(problem.space, space.Space)
    assert problem.space == space.Space(
        [space.Real(low, high) for low, high in problem.bounds]
    )


@given(x=arrays(float, 6, elements=st.floats(0, 1)))
def test_one_constraint_problem_at_any_point(x):
    y, c = problems.get("hartmann-ball")(x)
    assert problems.get("hartmann-6").optimum <= y <= 0
    assert c == pytest.approx([np.linalg.norm(x) - 1])


@pytest.mark.parametrize("x", [[1.0], [1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]], []])
def test_wrong_length(x):
    with pytest.raises(InputError, match=r"'branin' takes one point of length 2"):
        problems.get("branin")(x)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("x", ["ab", {"x": 1}, [None, object()], [[1.0], [1.0, 2.0]]])
def test_not_numbers(x):
    with pytest.raises(InputError, match=r"'branin' takes 2 numbers"):
        problems.get("branin")(x)


@pytest.mark.parametrize("X", [np.zeros((4, 3)), torch.zeros(2, 4, 1), np.float64(1)])
def test_wrong_batch(X):
    problem = problems.get("branin-disk")
    for formula in (problem.objective, problem.constraints):
        with pytest.raises(InputError, match="points of length 2"):
            formula(X)


def test_integers_and_lists_are_taken_as_floats():
    problem = problems.get("gas-transmission")
    x = [30, 5, 30, 10]
    expected = problem.objective(np.array(x, dtype=float))
    assert problem.objective(np.array(x)) == expected
    assert problem.objective(x) == expected
    assert float(problem.objective(torch.tensor(x))) == pytest.approx(float(expected))


def test_box_can_be_replaced():
    problem = dataclasses.replace(problems.get("rastrigin-20"), box=((-5.0, 5.0),) * 20)
    assert problem.bounds == [(-5.0, 5.0)] * 20
    assert problem(np.zeros(20)) == 0


def test_unknown_optimum_is_none():
    problem = Problem(name="mine", title="", box=((0.0, 1.0),), f=np.sum)
    assert problem.optimum is None
    assert problem.x_optimum is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"box": ()}, "at least one coordinate"),
        ({"box": ((1.0, 1.0),)}, r"bounds \(1.0, 1.0\)"),
        ({"box": ((0.0, np.inf),)}, "finite"),
        ({"n_constraints": 2}, "n_constraints=2"),
        ({"c": np.sum}, "n_constraints=0"),
    ],
)
def test_bad_definitions(changes, message):
    fields = {"name": "mine", "title": "", "box": ((0.0, 1.0),), "f": np.sum}
    with pytest.raises(InputError, match=message):
        Problem(**(fields | changes))


def test_torch_is_not_imported():
    code = (
        "import sys; from wideopt import problems; problems.get('speed-reducer');"
        "problems.get('hartmann-6')([0.5] * 6); problems.names();"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


class TestNoisy:
    def test_mean_and_deviation(self):
        problem = problems.get("branin-disk")
        noisy = Noisy(problem, sd=2.0, seed=0, constraint_sd=0.5)
        y, c = problem([1.0, 2.0])
        draws = [noisy([1.0, 2.0]) for _ in range(4000)]
        ys = np.array([draw[0] for draw in draws]) - y
        cs = np.array([draw[1][0] for draw in draws]) - c[0]
        assert abs(ys.mean()) < 0.1
        assert ys.std() == pytest.approx(2, rel=0.05)
        assert cs.std() == pytest.approx(0.5, rel=0.05)
        assert abs(np.corrcoef(ys, cs)[0, 1]) < 0.06

    def test_same_seed_same_noise(self):
        one, two = (Noisy(problems.get("branin"), 1.0, seed=3) for _ in range(2))
        assert [one([0, 0]) for _ in range(3)] == [two([0, 0]) for _ in range(3)]

    def test_constraints_are_exact_unless_asked(self):
        problem = problems.get("branin-disk")
        assert Noisy(problem, 1.0, seed=0)([0, 0])[1] == problem([0, 0])[1]

    def test_pickled_copies_have_streams_of_their_own(self):
        def copies():
            noisy = Noisy(problems.get("branin"), 1.0, seed=3)
            return [pickle.loads(pickle.dumps(noisy))([0, 0]) for _ in range(3)]

        assert len(set(copies())) == 3
        assert copies() == copies()

    def test_a_refused_point_does_not_use_noise(self):
        one, two = (Noisy(problems.get("branin"), 1.0, seed=3) for _ in range(2))
        with pytest.raises(InputError):
            one([0])
        assert one([0, 0]) == two([0, 0])

    @pytest.mark.parametrize("sd", [-1.0, np.nan, np.inf])
    def test_bad_level(self, sd):
        with pytest.raises(InputError, match="noise level"):
            Noisy(problems.get("branin"), sd)
