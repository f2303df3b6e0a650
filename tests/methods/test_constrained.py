"""cEI, CONFIG, UCB-C and ADMMBO: their rules on small data, and what they find."""

import math
from functools import cache
from statistics import median

import numpy as np
import pytest
import torch

import wideopt as wo
from wideopt.data import Trial
from wideopt.data.dataset import Dataset
from wideopt.methods.admmbo import ADMMBO
from wideopt.methods.configopt import INFEASIBLE, ConfidenceBounds, information_gain
from wideopt.surrogates import GaussianProcess, outputs_of

QUICK = {"n_candidates": 128, "n_restarts": 1}
SQUARE = wo.Space([(0, 1), (0, 1)])


def data_of(points, fun, space=SQUARE):
    """A data set of these points of the unit cube; fun gives objective, constraints."""
    rows = [(np.array(x), Trial(np.array(x), *fun(np.array(x)))) for x in points]
    return Dataset.of(space, rows, [], len(fun(np.array(points[0]))[1]))


def propose(method, data, n=1, state=None):
    generator = torch.Generator().manual_seed(0)
    return method.propose(data, n, state or {}, generator)


def scattered(n, seed=0):
    return np.random.default_rng(seed).random((n, 2))


def wave(x):
    return math.sin(5 * x[0]) + x[1], (x[0] + x[1] - 0.8, 0.1 - x[1])


def disks(x):
    """Two disks that do not meet."""
    near, far = np.array([0.2, 0.2]), np.array([0.8, 0.8])
    return x.sum(), tuple(float((x - a) @ (x - a)) - 0.04 for a in (near, far))


def test_cei_is_gp_ei():
    points = []
    for name in ("cei", "gp-ei"):
        opt = wo.Optimizer(
            [(0, 1)] * 2, method=name, n_constraints=2, seed=0, options=QUICK
        )
        for x in scattered(6):
            opt.tell(x, *wave(x))
        points.append(opt.ask())
    assert list(points[0]) == list(points[1])


class TestBounds:
    @pytest.mark.parametrize("rule", ["configopt", "ucb-c"])
    @pytest.mark.parametrize("beta", [0.5, None])
    def test_the_point_is_that_of_an_exhaustive_search(self, rule, beta):
        """Over a finite list of points there is nothing to approximate."""
        rows = scattered(60, seed=1)
        space = wo.Space.from_candidates(rows)
        points = space.every_point()[:8]
        data = data_of(points, wave, space)
        method = ConfidenceBounds(rule, beta, n_candidates=90)
        (chosen,), state = propose(method, data)
        every = torch.from_numpy(space.every_point()[8:])
        model = GaussianProcess().restore(data.X, data.Z, state["hyper"])
        schedule = math.sqrt(0.2 * 2 * math.log(2 * 3 * 8))
        factor = beta or {"configopt": 3.0, "ucb-c": schedule}[rule]
        with torch.no_grad():
            posterior = model.posterior(every)
            lower = posterior.mean - factor * posterior.variance.sqrt()
        is_allowed = (lower[:, 1:] <= 0).all(dim=1)
        assert 0 < int(is_allowed.sum()) < len(every) or beta is None
        best = lower[:, 0].masked_fill(~is_allowed, math.inf).argmin()
        assert torch.allclose(chosen, every[best])

    def test_information_gain_is_the_sum_of_what_each_point_tells(self):
        data = data_of(scattered(9), wave)
        model = outputs_of(GaussianProcess().fit(data.X, data.Z))[0]
        noise = model.likelihood.noise.item()
        with torch.no_grad():
            K = model.covar_module(data.X).to_dense()
        gain = 0.0
        for t in range(9):
            A = K[:t, :t] + noise * torch.eye(t, dtype=K.dtype)
            rest = K[t, :t] @ torch.linalg.solve(A, K[:t, t])
            gain += 0.5 * math.log1p(float(K[t, t] - rest) / noise)
        assert information_gain(model) == pytest.approx(gain, rel=1e-6)

    def test_beta_of_the_theory_grows(self):
        method = ConfidenceBounds("configopt", "gain", **QUICK)
        factors = []
        for n in (4, 12):
            data = data_of(scattered(12)[:n], wave)
            model = GaussianProcess(max_iter=0).fit(data.X, data.Z)
            factors.append(method._factor(model, data))
        assert 3 < factors[0] < factors[1]
        propose(method, data)

    def test_disjoint_disks_are_declared_infeasible_and_the_search_goes_on(self):
        grid = [(a, b) for a in np.linspace(0, 1, 4) for b in np.linspace(0, 1, 4)]
        data = data_of(grid, disks)
        points, state = propose(ConfidenceBounds("configopt", **QUICK), data)
        assert state["message"] == INFEASIBLE
        assert points.shape == (1, 2)
        _, silent = propose(ConfidenceBounds("ucb-c", **QUICK), data)
        assert "message" not in silent

        # One feasible observation takes it back.
        rows = [*grid, (0.51, 0.52)]
        data = data_of(
            rows, lambda x: (1.0, (-1.0,) * 2 if x[0] == 0.51 else (1.0,) * 2)
        )
        _, state = propose(ConfidenceBounds("configopt", **QUICK), data, state=state)
        assert state["message"] == ""

    def test_the_user_is_told(self):
        result = wo.minimize(
            disks,
            [(0, 1)] * 2,
            method="configopt",
            n_evals=18,
            n_init=16,
            seed=0,
            options=QUICK,
        )
        assert INFEASIBLE in result.message
        assert not result.feasible
        assert result.n_evals == 18

    @pytest.mark.parametrize("beta", [0, -1.0, "much"])
    def test_bad_beta(self, beta):
        with pytest.raises(wo.InputError, match="beta"):
            ConfidenceBounds(beta=beta)


def strip(x):
    """Feasible for x₀ >= 0.6; the objective wants x₀ = 0. The second always holds."""
    return float(x[0] + 0.1 * x[1]), (0.6 - x[0], -1.0 - x[1])


class TestADMM:
    points = ((0.05, 0.5), (0.3, 0.4), (0.5, 0.6), (0.65, 0.5), (0.9, 0.5), (0.7, 0.9))

    def run(self, n_steps, method=None, **options):
        """States after each step of a run in which x₀ = 0.05 has the least u."""
        method = method or ADMMBO(n_optimality=1, n_feasibility=1, **QUICK, **options)
        rows, state, states = list(self.points), {}, []
        for i in range(n_steps):
            data = data_of(rows, strip)
            _, state = propose(method, data, state=state)
            states.append(state["admm"])
            rows.append((0.99, 0.9 + i / 100))  # far from everything
        return states

    def test_first_copies_are_the_nearest_points_that_hold(self):
        (first,) = self.run(1)
        assert first["x"] == [0.65, 0.5]  # the best feasible
        assert first["z"] == [[0.65, 0.5]] * 2
        assert first["y"] == [[0.0, 0.0]] * 2
        assert (first["phase"], first["spent"], first["rho"]) == (0, 1, 0.1)

    def test_a_round(self):
        start, second, third = self.run(3)
        # Optimality: ρ/2 ‖x - z‖² is too weak to keep x from the lower objective.
        assert second["x"] == [0.05, 0.5]
        assert second["phase"] == 1
        # Feasibility: the nearest point at which the constraint holds, then y.
        assert third["z"][0] == [0.65, 0.5]
        assert third["y"][0] == pytest.approx([0.1 * (0.05 - 0.65), 0.0])
        # The second constraint holds at x: no evaluations, and nothing pulls.
        assert third["z"][1] == [0.05, 0.5]
        assert third["y"][1] == [0.0, 0.0]
        assert (third["phase"], third["round"]) == (0, 1)
        assert start["round"] == 0

    def test_rho_follows_the_residuals(self):
        """‖x - z_1‖ = 0.6; z_2 moved by 0.6 at first, then stays."""
        states = self.run(5)
        assert states[2]["rho"] == 0.1 * 1  # 0.6 is no more than 10 · 0.1 · 0.6
        assert states[4]["rho"] == 0.1 * 2

    def test_a_phase_lasts_until_its_evaluations_are_spent_and_back(self):
        method = ADMMBO(n_optimality=2, n_feasibility=1, **QUICK)
        data = data_of(self.points, strip)
        _, state = propose(method, data, n=2)
        _, state = propose(method, data, state=state)  # nothing was told
        assert (state["admm"]["phase"], state["admm"]["spent"]) == (0, 3)
        more = data_of([*self.points, (0.2, 0.2)], strip)
        _, state = propose(method, more, state=state)
        assert (state["admm"]["phase"], state["admm"]["spent"]) == (1, 1)

    def test_a_new_constraint_begins_anew(self):
        method = ADMMBO(n_optimality=1, **QUICK)
        _, state = propose(method, data_of(self.points, strip))
        state["admm"]["rho"] = 7.0
        rows = [(np.array(x), Trial(np.array(x), *strip(x))) for x in self.points]
        crash = np.array([0.1, 0.9])
        rows.append((crash, Trial(crash, state="failed")))
        data = Dataset.of(SQUARE, rows, [], 2)
        _, state = propose(method, data, state=state)
        assert len(state["admm"]["z"]) == 3
        assert state["admm"]["rho"] == 0.1

    @pytest.mark.parametrize(
        "options", [{"rho": 0}, {"big_m": -1}, {"n_optimality": 0}]
    )
    def test_bad_options(self, options):
        with pytest.raises(wo.InputError, match=next(iter(options))):
            ADMMBO(**options)


METHODS = ["cei", "configopt", "ucb-c", "admmbo", "scbo"]


@cache
def found(name, method, n_evals, n_seeds):
    """Distances to the optimum; infinite if nothing feasible was found."""
    problem = wo.problems.get(name)
    options = {"n_candidates": 256, "n_restarts": 2}
    if method in ("scbo", "random"):
        options = {}
    runs = [
        wo.minimize(
            problem,
            problem.space,
            method=method,
            n_evals=n_evals,
            seed=seed,
            options=options,
        )
        for seed in range(n_seeds)
    ]
    return [r.fun - problem.optimum if r.feasible else math.inf for r in runs]


# CONFIG explores longer than this, and just outside: it is among the slow ones below.
@pytest.mark.parametrize("method", sorted({*METHODS} - {"configopt"}))
def test_a_constraint_is_respected(method):
    def disk(x):
        return float(x.sum()), [float(x @ x) - 1.0]  # minimum -√2, on the circle

    options = {"n_candidates": 128} if method == "scbo" else QUICK
    result = wo.minimize(
        disk,
        [(-2, 2)] * 2,
        method=method,
        n_evals=16,
        n_init=8,
        seed=1,
        options=options,
    )
    assert result.feasible
    assert result.fun < -1.1


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("problem", "n_evals", "share"), [("branin-disk", 25, 0.2), ("simionescu", 30, 0.6)]
)
def test_methods_beat_random_search(method, problem, n_evals, share):
    """The median distance is at most this share of that of random search."""
    ours = found(problem, method, n_evals, 3)
    assert max(ours) < math.inf
    assert median(ours) < share * median(found(problem, "random", n_evals, 9))
