"""When a run ends, what it is judged by, and the constants of theory in it."""

import math

import numpy as np
import pytest

import wideopt as wo
from tests.multiagent.sites import KNOWN, Local, coupled
from wideopt.multiagent import (
    Agent,
    Coordinator,
    Message,
    Prices,
    TheoreticalBeta,
    Theory,
    Truth,
    minimize,
    run_rounds,
)


class Silent:
    """A party without a model."""

    def __init__(self):
        self.n_evaluated = 0

    def choose(self, signal):
        assert isinstance(signal, Prices)
        return Message((), (0.5,))

    def evaluate(self):
        self.n_evaluated += 1


def test_a_callback_ends_a_run_of_unknown_length():
    party, seen = Silent(), []

    def enough(this):
        seen.append((this.t, this.signal.lam, this.messages, this.is_late))
        return this.t == 5

    signals = run_rounds([party], Coordinator(1), None, callbacks=[enough])
    assert len(signals) == 6
    assert party.n_evaluated == 5
    assert [t for t, *_ in seen] == [1, 2, 3, 4, 5]
    assert seen[0] == (1, (0.0,), [Message((), (0.5,))], [False])


def test_the_clock_ends_a_run():
    assert len(run_rounds([Silent()], Coordinator(1), None, timeout=0.0)) == 1
    n = len(run_rounds([Silent()], Coordinator(1), None, timeout=0.2)) - 1
    assert n > 3


def test_unknown_length_doubles_the_horizon():
    result = minimize(
        coupled(), n_rounds=None, seed=0, callbacks=[lambda this: this.t == 5]
    )
    assert result.n_rounds == 5
    assert result.eta == pytest.approx([1, 0.5**0.5, 0.5**0.5, 0.5, 0.5, 0.5])


def test_ctrl_c_keeps_the_whole_rounds():
    def interrupt(this):
        if this.t == 3:
            raise KeyboardInterrupt

    result = minimize(coupled(), n_rounds=9, seed=0, callbacks=[interrupt])
    assert result.n_rounds == 3
    assert np.isfinite(result.objectives).all()


class Noisy:
    def __init__(self, fun):
        self.fun, self.rng = fun, np.random.default_rng(0)

    def __call__(self, x):
        f, g = self.fun(x)
        return f + self.rng.normal(), [v + self.rng.normal() for v in g]


def test_the_truth_has_no_noise():
    functions = [Local(i) for i in range(2)]
    settings = {"n_constraints": 2, "surrogate": KNOWN, "n_candidates": 32}
    agents = [Agent(Noisy(fun), [(-1, 1)], **settings) for fun in functions]
    result = minimize(agents, n_rounds=4, seed=0, truth=Truth(0.25, functions))
    f, g = np.zeros(4), np.zeros((4, 2))
    for fun, history in zip(functions, result.histories, strict=True):
        values = [fun(trial.x) for trial in history[3:]]
        f += [value for value, _ in values]
        g += [constraints for _, constraints in values]
    np.testing.assert_allclose(result.R, np.cumsum(f - 0.25))
    total = np.cumsum(g, axis=0)
    np.testing.assert_allclose(result.V, np.linalg.norm(np.maximum(total, 0), axis=1))
    strong = np.linalg.norm(np.cumsum(np.maximum(g, 0), axis=0), axis=1)
    np.testing.assert_allclose(result.V_plus, strong)
    assert not np.allclose(result.objectives, f)


def test_without_an_optimum_there_is_no_regret():
    assert minimize(coupled(1), n_rounds=1, seed=0).R is None


def test_theory_sets_the_constants():
    theory = Theory(n_rounds=4, C_0=1.0, C=(1.0, 2.0), xi=0.5)
    result = minimize(coupled(), n_rounds=4, seed=0, theory=theory, eps="eps_2")
    assert result.eta == pytest.approx(np.full(5, 0.5))
    np.testing.assert_allclose(result.lam[0], theory.lam_1)
    messages_and_drift = result.lam[1] - result.lam[0]
    plain = minimize(coupled(), n_rounds=4, seed=0, theory=theory)
    gap = messages_and_drift - (plain.lam[1] - plain.lam[0])
    np.testing.assert_allclose(gap, theory.eps_2)


def test_beta_grows_with_the_information_gain():
    beta = TheoreticalBeta(C=1.0, noise=0.5, n_agents=1, n_constraints=2)
    agent = coupled(1, beta=beta)[0]
    from wideopt.multiagent.worth import _beta

    few, many = (KNOWN.fit(*_points(n)) for n in (2, 9))
    gain = [0.5 * np.linalg.slogdet(np.eye(n) + _K(n) / 1e-4)[1] for n in (2, 9)]
    for model, g in zip((few, many), gain, strict=True):
        found = _beta(agent, model).numpy()
        expected = 1 + 0.5 * math.sqrt(2 * (g + 1 + math.log(3 / 0.1)))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    result = minimize([agent], n_rounds=2, seed=0)
    assert np.isfinite(result.objectives).all()


def _points(n):
    import torch

    X = torch.linspace(0, 1, n, dtype=torch.float64)[:, None]
    return X, X.sin().expand(n, 3)


def _K(n):
    x = np.linspace(0, 1, n)
    return np.exp(-0.5 * ((x[:, None] - x) / 0.25) ** 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_rounds": None}, "needs something that ends the run"),
        ({"timeout": -1.0}, "timeout must be at least 0"),
        ({"callbacks": ["stop"]}, "A callback must be a function"),
        ({"on_slow": "skip"}, "on_slow is 'wait' or 'reuse', but got 'skip'"),
        ({"eps": "eps_2"}, "'eps_2' where theory is given"),
        ({"theory": Theory(4, 1.0, (1.0,), 0.5)}, "a bound for each of 2"),
        ({"truth": Truth(0.0, [Local(0)])}, "1 function"),
    ],
)
def test_bad_options(options, words, unchecked):
    with pytest.raises(wo.InputError, match=words):
        minimize(coupled(), **{"n_rounds": 2, **options})


def test_more_than_three_dimensions_are_searched_by_gradient():
    assert Agent(Local(0), [(0, 1)] * 3).n_climbs == 0
    assert Agent(Local(0), [(0, 1)] * 4).n_climbs == 2
    assert Agent(Local(0), [(0, 1)], n_restarts=1).n_climbs == 1
