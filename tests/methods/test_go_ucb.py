"""go-ucb: user's models and their parameters, constraints, restoring, progress."""

import json

import numpy as np
import pytest
import torch
from scipy.optimize import curve_fit

import wideopt as wo

SPACE = {"s": wo.Real(0.1, 50.0, log=True), "t": wo.Real(280.0, 340.0)}
TRUTH = {"vmax": 8.0, "km": 3.0, "ki": 20.0, "width": 12.0}
QUICK = {"n_candidates": 64, "n_restarts": 2}


class Enzyme(torch.nn.Module):
    """Rate against substrate s and temperature t, in the user's units."""

    def __init__(self, vmax=5.0, km=1.0, ki=10.0, width=10.0):
        super().__init__()
        for name, value in {"vmax": vmax, "km": km, "ki": ki, "width": width}.items():
            setattr(self, name, torch.nn.Parameter(torch.tensor(value)))

    def forward(self, x):
        s, t = x[:, 0], x[:, 1]
        rate = self.vmax * s / (self.km + s + s**2 / self.ki)
        return rate * torch.exp(-(((t - 310.0) / self.width) ** 2))


def rate(x):
    s, t = x["s"], x["t"]
    w = TRUTH
    value = w["vmax"] * s / (w["km"] + s + s**2 / w["ki"])
    return value * np.exp(-(((t - 310.0) / w["width"]) ** 2))


BEST = rate({"s": np.sqrt(60.0), "t": 310.0})


def noisy(seed, sd=0.05):
    rng = np.random.default_rng(seed)
    return lambda x: rate(x) + sd * rng.normal()


def run(fun, n_evals=14, seed=0, **settings):
    options = {"model": Enzyme(), **QUICK, **settings.pop("options", {})}
    return wo.maximize(
        fun, SPACE, method="go-ucb", n_evals=n_evals, n_init=6, seed=seed,
        options=options, **settings,
    )  # fmt: skip


def test_a_law_finds_the_optimum_and_its_constants():
    for seed in range(2):
        result = run(rate, n_evals=12, seed=seed)
        assert result.fun > BEST * (1 - 1e-4)
        for name, value in TRUTH.items():
            assert result.parameters[name] == pytest.approx(value, rel=1e-3)
        assert "vmax = 8 ±" in repr(result)


def test_estimates_and_errors_are_those_of_scipy():
    result = run(noisy(1))
    X = np.array([[t.x["s"], t.x["t"]] for t in result.history])
    y = np.array([t.y for t in result.history])

    def f(X, vmax, km, ki, width):
        s, t = X.T
        return vmax * s / (km + s + s**2 / ki) * np.exp(-(((t - 310) / width) ** 2))

    w, C = curve_fit(f, X, y, p0=list(TRUTH.values()))
    found = result.parameters
    assert found.names == tuple(TRUTH)
    assert found.values == pytest.approx(w, rel=1e-3)
    assert found.standard_errors == pytest.approx(np.sqrt(np.diag(C)), rel=1e-2)
    low, high = found.interval("vmax")
    assert low < found["vmax"] < high
    assert found.contains(found.values)
    assert not found.contains(found.values + 100)
    assert found.n == 14
    assert 0.01 < found.residual_sd < 0.15


def test_minimizing_the_negative_is_the_same():
    class Negative(Enzyme):
        def forward(self, x):
            return -super().forward(x)

    up = run(rate, n_evals=9)
    down = wo.minimize(
        lambda x: -rate(x), SPACE, method="go-ucb", n_evals=9, n_init=6, seed=0,
        options={"model": Negative(), **QUICK},
    )  # fmt: skip
    for a, b in zip(up.history, down.history, strict=True):
        assert a.x["s"] == pytest.approx(b.x["s"], rel=1e-6)
    assert up.parameters.values == pytest.approx(down.parameters.values, rel=1e-6)


def test_with_too_few_observations_errors_are_unknown():
    opt = wo.Optimizer(
        {"s": (0.1, 50)}, method="go-ucb", seed=0,
        options={"model": Line, "n_init": 2, **QUICK},
    )  # fmt: skip
    assert opt.best.parameters is None
    for s in (1.0, 2.0):
        opt.tell({"s": s}, 3 * s)
    opt.ask()
    assert np.isinf(opt.best.parameters.standard_errors).all()
    assert "± ?" in repr(opt.best)
    with pytest.raises(wo.InputError, match="no parameter 'z'"):
        _ = opt.best.parameters["z"]


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(2))

    def forward(self, x):
        return self.w[0] + self.w[1] * x[:, :1]


def told(opt, n, fun=rate):
    points = []
    for _ in range(n):
        x = opt.ask()
        opt.tell(x, -fun(x))
        points.append(tuple(x.values()))
    return points


def optimizer(**options):
    options = {"model": Enzyme(), "is_maximized": True, "n_init": 4} | QUICK | options
    return wo.Optimizer(SPACE, method="go-ucb", seed=3, options=options)


@pytest.mark.parametrize("model", [Enzyme(), Enzyme])
def test_restored_with_the_model_it_goes_on_bit_for_bit(model):
    opt = optimizer(model=model)
    told(opt, 6)
    text = json.dumps(opt.state_dict(), allow_nan=False)
    copy = wo.Optimizer.from_state_dict(json.loads(text), options={"model": model})
    assert copy.state_dict() == opt.state_dict()
    assert told(copy, 3) == told(opt, 3)
    assert copy.state_dict() == opt.state_dict()


def test_restored_without_the_model_is_a_clear_error():
    state = optimizer().state_dict()
    with pytest.raises(wo.InputError, match=r"model = Enzyme.*give it again"):
        wo.Optimizer.from_state_dict(state)


def test_the_script_again_resumes(sqlite):
    whole = run(rate, n_evals=9)
    run(rate, n_evals=7, storage=sqlite)
    resumed = run(rate, n_evals=9, storage=sqlite)
    assert [t.x for t in resumed.history] == [t.x for t in whole.history]
    assert resumed.parameters.values == pytest.approx(whole.parameters.values)


def test_bounds_hold():
    result = run(
        rate, n_evals=10, options={"bounds": {"vmax": [1.0, 6.0], "km": [0.1, 30.0]}}
    )
    assert 1.0 <= result.parameters["vmax"] <= 6.0
    assert result.fun > 0.9 * BEST


def test_a_constraint_with_a_law_of_its_own():
    class Heat(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.k = torch.nn.Parameter(torch.tensor(1.0))

        def forward(self, x):
            return self.k * x[:, 0] - 10.0

    def fun(x):
        return rate(x), [2.5 * x["s"] - 10.0]  # s <= 4

    result = run(fun, options={"constraint_models": [Heat()]})
    assert result.feasible
    best = rate({"s": 4.0, "t": 310.0})
    assert best * 0.99 < result.fun <= best


@pytest.mark.slow
def test_constraints_by_networks():
    problem = wo.problems.get("branin-disk")

    def medians(method, options):
        runs = [
            wo.minimize(
                problem, problem.space, method=method, n_evals=20, n_init=10, seed=seed,
                options=options,
            )
            for seed in range(3)
        ]  # fmt: skip
        assert all(run.feasible for run in runs)
        return np.median([run.fun for run in runs])

    assert medians("go-ucb", QUICK) < medians("random", {})


def test_a_law_of_a_mixed_space_sees_the_users_units():
    seen = []

    class Law(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(4))

        def forward(self, x):
            if not torch._C._functorch.is_batchedtensor(x):
                seen.append(x.detach().clone())
            return self.w[0] * (x[:, 0] - 5) ** 2 + x[:, 1:] @ self.w[1:]

    space = {"n": wo.Integer(1, 9), "kind": wo.Categorical(["a", "b", "c"])}
    opt = wo.Optimizer(
        space, method="go-ucb", seed=0, options={"model": Law(), "n_init": 5, **QUICK}
    )
    assert torch.equal(seen[0][:, 0], seen[0][:, 0].round())
    assert torch.equal(seen[0][:, 1:].sum(1), torch.ones(len(seen[0])).double())
    for _ in range(9):
        x = opt.ask()
        opt.tell(x, (x["n"] - 5) ** 2 + {"a": 3.0, "b": 1.0, "c": 2.0}[x["kind"]])
    assert opt.best.x == {"n": 5, "kind": "b"}
    values = opt.best.parameters.values
    assert values == pytest.approx([1.0, 3.0, 1.0, 2.0], abs=1e-5)


def test_the_users_module_is_left_alone():
    model = Enzyme()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    told(optimizer(model=model), 6)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


@pytest.mark.parametrize(
    "options",
    [
        {"is_fast": True},
        pytest.param({"faithful": True, "horizon": 9}, marks=pytest.mark.slow),
    ],
)
def test_other_modes_run_and_are_restored(options):
    problem = wo.problems.get("branin")
    opt = wo.Optimizer(
        problem.space,
        method="go-ucb",
        seed=0,
        options={"n_init": 4, **QUICK, **options},
    )
    for _ in range(5):
        x = opt.ask()
        opt.tell(x, problem(x))
    copy = wo.Optimizer.from_state_dict(json.loads(json.dumps(opt.state_dict())))
    assert list(copy.ask()) == list(opt.ask())
    if "faithful" in options:  # one fit, with the paper's λ
        assert opt.state_dict()["method_state"]["fitted_at"] == 4
        (form,) = opt.state_dict()["method_state"]["outputs"]
        assert form["lam"] == pytest.approx(3 * np.log(9) ** 2)


def test_a_law_is_trusted_with_a_wider_ball_than_the_network():
    assert told(optimizer(), 6) == told(optimizer(kappa=1.0), 6)
    net, same, other = (
        told(wo.Optimizer(SPACE, method="go-ucb", seed=3, options=options), 6)
        for options in (
            {"n_init": 4, **QUICK},
            {"n_init": 4, "kappa": 0.1, **QUICK},
            {"n_init": 4, "kappa": 10.0, **QUICK},
        )
    )
    assert net == same
    assert net != other


def test_the_network_is_ahead_of_random():
    """On f1 of the paper, in 10 dimensions: half of the cumulative regret of random."""
    problem = wo.problems.get("go-ucb-f1-10")
    totals = {"go-ucb": 0.0, "random": 0.0}
    for seed in range(3):
        for method in totals:
            options = QUICK if method == "go-ucb" else {}
            result = wo.minimize(
                problem, problem.space, method=method, n_evals=11, n_init=5, seed=seed,
                options=options,
            )  # fmt: skip
            totals[method] += sum(t.y - problem.optimum for t in result.history[5:])
    assert totals["go-ucb"] < 0.5 * totals["random"]
