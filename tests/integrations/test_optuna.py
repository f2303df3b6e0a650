"""`WideoptSampler`: what it learns from, what it keeps apart, what it repeats."""

import pickle

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import wideopt as wo
from wideopt.integrations.optuna import WideoptSampler
from wideopt.space import Conditional

QUICK = {"n_init": 4, "n_candidates": 64, "n_restarts": 1}
BOX = {"a": FloatDistribution(-1, 1), "b": FloatDistribution(-2, 2)}


@pytest.fixture(autouse=True)
def _quiet(unchecked):
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(level)


def study(sampler=None, **settings):
    sampler = sampler or WideoptSampler("gp-ei", seed=0, options=QUICK)
    return optuna.create_study(sampler=sampler, **settings)


def bowl(trial):
    a, b = trial.suggest_float("a", -1, 1), trial.suggest_float("b", -2, 2)
    return a**2 + (b - 0.5) ** 2


def done(params, value=None, *, space=BOX, **settings):
    return create_trial(params=params, distributions=space, value=value, **settings)


def suggested(study_):
    return study_.ask(BOX).params


def told(n=8, **settings):
    """A study with some trials of the bowl that nobody was asked for."""
    made = study(**settings)
    for a, b in np.random.default_rng(0).uniform(-1, 1, (n, 2)):
        made.add_trial(done({"a": a, "b": b}, a**2 + (b - 0.5) ** 2))
    return made


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_finds_the_optimum(direction):
    sign = 1 if direction == "minimize" else -1
    made = study(direction=direction)
    made.optimize(lambda t: sign * bowl(t), n_trials=16)
    assert sign * made.best_value < 0.02


IN_SHORT = ("auto", "neural-cbo", "turbo", "ucb1", "forest-ei", "random")


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=() if name in IN_SHORT else pytest.mark.slow)
        for name in wo.methods()
        if name != "pinn-bo"  # which needs a PDE, of real parameters
    ],
)
def test_every_method(method):
    sampler = WideoptSampler(method, seed=0, options={"n_init": 4})
    made = optuna.create_study(sampler=sampler)

    def f(trial):
        a = trial.suggest_int("a", 0, 9)
        trial.set_constraint("c", 2.0 - a) if "c" in method else None
        return (a - 6) ** 2 + (trial.suggest_categorical("b", ["x", "y"]) == "x")

    made.optimize(f, n_trials=6)
    assert [t.state for t in made.trials] == [TrialState.COMPLETE] * 6


def test_the_same_study_gives_the_same_points_in_any_process(sqlite):
    whole = study()
    whole.optimize(bowl, n_trials=8)
    for n in (5, 1, 2):  # each time from the storage, with a sampler that knows nothing
        part = study(storage=sqlite, study_name="s", load_if_exists=True)
        part.optimize(bowl, n_trials=n)
    assert [t.params for t in part.trials] == [t.params for t in whole.trials]


def test_pickled_samplers_go_on():
    one, two = told(), told()
    two.sampler = pickle.loads(pickle.dumps(two.sampler))
    assert suggested(one) == suggested(two)


def test_another_seed_gives_other_points():
    first = suggested(told())
    second = suggested(told(sampler=WideoptSampler("gp-ei", seed=1, options=QUICK)))
    assert first != second


def test_running_trials_are_pending():
    made = told()
    asked = [tuple(suggested(made).values()) for _ in range(4)]
    assert len(set(asked)) == 4
    gaps = [np.abs(np.subtract(x, y)).max() for x in asked for y in asked if x != y]
    assert min(gaps) > 1e-3


def test_a_point_is_pending_before_its_parameters_are_suggested(sqlite):
    made = told(storage=sqlite, study_name="s")
    trial = made.ask()
    trial.suggest_float("a", -1, 1)  # b is proposed, but not yet taken
    (frozen,) = made.get_trials(states=(TrialState.RUNNING,))
    assert set(frozen.system_attrs["wideopt:params"]) == {"a", "b"}


@pytest.mark.slow
def test_failed_trials_are_kept_away_from():
    def f(trial):
        y = bowl(trial)
        return float("nan") if trial.params["b"] < -0.5 else y

    made = study()
    made.optimize(f, n_trials=16)
    is_failed = [t.state == TrialState.FAIL for t in made.trials]
    assert sum(is_failed) > 0
    assert np.mean(is_failed[8:]) < 0.2  # 37% of the box fail
    assert made.best_value < 0.05


def test_pruned_trials_count_with_their_last_report():
    def f(trial):
        y = bowl(trial)
        if trial.number % 2 == 0:
            trial.report(y + 1.0, 0)
            trial.report(y, 1)
            raise optuna.TrialPruned
        return y

    pruned, whole = study(), study()
    pruned.optimize(f, n_trials=8)
    whole.optimize(bowl, n_trials=8)
    assert [t.params for t in pruned.trials] == [t.params for t in whole.trials]


def test_constraints_go_by_name_not_by_order():
    def f(trial, names):
        y = bowl(trial)
        values = {"wide": -1.0, "left": 0.3 - trial.params["a"]}
        for name in names:
            trial.set_constraint(name, values[name])
        return y

    one, two = study(), study()
    one.optimize(lambda t: f(t, ["wide", "left"]), n_trials=9)
    two.optimize(
        lambda t: f(t, ["left", "wide"][:: 1 if t.number % 2 else -1]), n_trials=9
    )
    assert [t.params for t in one.trials] == [t.params for t in two.trials]
    best = one.best_trial
    assert best.params["a"] >= 0.3
    assert best.value < 0.09 + 0.3


@pytest.mark.slow
def test_missing_constraints_are_not_measured():
    def f(trial):
        y = bowl(trial)
        if trial.number % 3:
            trial.set_constraint("left", 0.3 - trial.params["a"])
        return y

    made = study()
    made.optimize(f, n_trials=14)
    assert {t.state for t in made.trials} == {TrialState.COMPLETE}
    measured = [t.value for t in made.trials if t.constraints and t.params["a"] >= 0.3]
    assert min(measured) < 0.09 + 0.1


def test_constraints_of_older_studies_and_user_attributes():
    sampler = WideoptSampler("random", seed=0, constraints=["0", "mass"])
    made = study(sampler)
    for a in (-0.5, 0.5):
        attrs = {"constraints": [a]}
        user = {"mass": -1.0, "note": "x"}
        params = {"a": a, "b": 0.0}
        made.add_trial(done(params, 1.0, system_attrs=attrs, user_attrs=user))
    suggested(made)
    (model,) = sampler._reader._models.values()
    assert [t.c for t in model._optimizer.history] == [(-0.5, -1.0), (0.5, -1.0)]


def test_two_thousand_trials_are_read_once(monkeypatch):
    made = told(2000, sampler=WideoptSampler("random", seed=0))
    suggested(made)
    calls = []
    encode = Conditional.encode
    monkeypatch.setattr(
        Conditional, "encode", lambda *args: calls.append(1) or encode(*args)
    )
    for _ in range(3):
        made.tell(made.ask(BOX), 1.0)
    assert len(calls) < 40


def test_conditional_parameters():
    def f(trial):
        kind = trial.suggest_categorical("kind", ["plain", "deep"])
        x = trial.suggest_float("x", -1, 1)
        if kind == "plain":
            return x**2 + 0.5
        n = trial.suggest_int("n", 1, 2)
        return sum((trial.suggest_float(f"z{i}", 0, 1) - 0.7) ** 2 for i in range(n))

    made = study()
    made.optimize(f, n_trials=20)
    space = made.sampler.infer_relative_search_space(made, made.trials[-1])
    assert set(space) == {"kind", "x", "n", "z0", "z1"}
    conditions = made.sampler._reader.branches.conditions(space)
    assert {name: c.switch for name, c in conditions.items()} == {
        "n": "kind",
        "z0": "kind",
        "z1": "n",
    }
    assert made.best_value < 0.1


def test_a_parameter_that_comes_and_goes_is_sampled_at_random():
    def f(trial):
        y = bowl(trial)
        return y + (trial.suggest_float("c", 0, 1) if trial.params["a"] > 0 else 0)

    made = study()
    made.optimize(f, n_trials=12)
    space = made.sampler.infer_relative_search_space(made, made.trials[-1])
    assert set(space) == {"a", "b"}


def test_a_widened_range_is_taken_up():
    made = study()
    made.optimize(lambda t: (t.suggest_float("x", -1, 1) - 3) ** 2, n_trials=6)
    made.optimize(lambda t: (t.suggest_float("x", -1, 5) - 3) ** 2, n_trials=10)
    assert made.best_value < 0.05


def test_steps_and_categories():
    seen = []

    def f(trial):
        x = trial.suggest_float("x", -1, 1, step=0.25)
        n = trial.suggest_int("n", 1, 9, step=2)
        m = trial.suggest_int("m", 1, 10**15, log=True)
        c = trial.suggest_categorical("c", [None, True, 1.5, "a"])
        seen.append((x, n, m, c))
        return x**2 + abs(n - 5) + (c is not None) + m / 10**15

    made = study()
    made.optimize(f, n_trials=14)
    for x, n, m, c in seen:
        assert (x + 1) % 0.25 == 0
        assert n in (1, 3, 5, 7, 9)
        assert isinstance(m, int)
        assert c in (None, True, 1.5, "a")


def test_one_sampler_for_two_studies():
    sampler = WideoptSampler("gp-ei", seed=0, options=QUICK)
    one, two = told(sampler=sampler), told(4, sampler=sampler)
    assert suggested(one) == suggested(told())
    assert suggested(two) == suggested(told(4))


def test_threads():
    made = study()
    made.optimize(bowl, n_trials=12, n_jobs=3)
    points = {tuple(t.params.values()) for t in made.trials}
    assert len(points) == 12


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"method": "gp-ie"}, "gp-ei"),
        ({"method": "gp-ei", "options": {"n_restart": 1}}, "did you mean n_restarts"),
        ({"constraints": "mass"}, "'mass'"),
    ],
)
def test_bad_input(settings, text):
    with pytest.raises(wo.InputError, match=text):
        WideoptSampler(**settings)


def test_two_objectives_are_an_error():
    made = optuna.create_study(directions=["minimize"] * 2, sampler=WideoptSampler())
    with pytest.raises(wo.InputError, match="one objective"):
        made.ask(BOX)


def test_late_news_of_an_earlier_end():
    """A trial that ended first, and is seen last, is told in its place."""
    from datetime import datetime, timedelta

    start = datetime(2026, 1, 1)  # noqa: DTZ001 (Optuna's own are naive)

    def at(minute, a):
        made = done({"a": a, "b": 0.0}, a**2)
        made.datetime_start = start
        made.datetime_complete = start + timedelta(minutes=minute)
        return made

    made = study()
    for minute, a in ((1, 0.1), (3, 0.3)):
        made.add_trial(at(minute, a))
    suggested(made)
    made.add_trial(at(2, 0.2))
    suggested(made)
    (model,) = made.sampler._reader._models.values()
    assert [t.x["a"] for t in model._optimizer.history] == [0.1, 0.2, 0.3]


def test_ranges_beyond_a_float_are_sampled_at_random():
    wide = {"x": FloatDistribution(-1.7e308, 1.7e308), "n": IntDistribution(0, 3)}
    made = study()
    for _ in range(3):
        made.tell(made.ask({"n": wide["n"]}), 1.0)
    assert set(made.sampler.infer_relative_search_space(made, made.trials[-1])) == {"n"}
