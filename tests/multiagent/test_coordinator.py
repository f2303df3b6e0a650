"""The dual update, the signals of the baselines, and the oscillation of appendix B."""

import math

import numpy as np
import pytest

import wideopt as wo
from wideopt.multiagent import Coordinator, Message, Prices, run_rounds
from wideopt.multiagent.coordinator import ExchangeAdmm, SumOfConstraints


def test_prices_follow_equation_14():
    coordinator = Coordinator(2, (1.0,), eta=0.1, eps=0.05)
    prices = coordinator.first()
    assert prices == Prices((0.0, 0.0), (0.0,), 0.1)
    messages = [Message((0.4,), (0.5, -1.0)), Message((0.9,), (0.25, 0.2))]
    prices = coordinator.update(prices, messages)
    assert prices.lam == pytest.approx((0.8, 0.0))
    assert prices.mu == pytest.approx((0.3,))
    prices = coordinator.update(prices, messages)
    assert prices.lam == pytest.approx((1.6, 0.0))
    assert prices.mu == pytest.approx((0.6,))
    assert prices.t == 3


def test_an_agent_without_affine_constraints_sends_nothing_of_them():
    coordinator = Coordinator(0, (1.0, 2.0), eta=1.0)
    messages = [Message((), ()), Message((3.0, 3.0), ())]
    assert coordinator.update(coordinator.first(), messages).mu == (2.0, 1.0)


def test_doubling_keeps_the_dual_variables():
    coordinator = Coordinator(1, (0.0,))
    prices, etas = coordinator.first(), []
    for t in range(1, 16):
        etas.append(prices.eta)
        new = coordinator.update(prices, [Message((0.5,), (1.0,))])
        # what a step of the old scale would have given
        assert new.eta * new.lam[0] == pytest.approx(prices.eta * (prices.lam[0] + 1.0))
        assert new.eta * new.mu[0] == pytest.approx(prices.eta * (prices.mu[0] + 0.5))
        assert new.t == t + 1
        prices = new
    expected = [2 ** (-math.floor(math.log2(t)) / 2) for t in range(1, 16)]
    assert etas == pytest.approx(expected)


class Known:
    """An agent of appendix B, who knows all values of its three points."""

    table = ((-1, 1.0, -1.0), (0, 0.5, 0.0), (1, -1.0, 2.0))

    def __init__(self):
        self.visited = []

    def choose(self, prices):
        values = [f + prices.eta * prices.lam[0] * g for _, f, g in self.table]
        x, _, g = self.table[int(np.argmin(values))]
        self.visited.append((x, g))
        return Message((), (g,))

    def evaluate(self):
        pass


@pytest.mark.parametrize("n_rounds", [300, 1200])
def test_the_sequence_of_appendix_b_oscillates(n_rounds):
    agent, eta = Known(), 1 / math.sqrt(n_rounds)
    signals = run_rounds([agent], Coordinator(1, eta=eta), n_rounds)
    x, g = np.array(agent.visited).T
    assert set(x) == {-1, 1}  # never 0, which is optimal
    assert np.mean(x == 1) == pytest.approx(1 / 3, abs=0.03 + 1 / math.sqrt(n_rounds))
    assert eta * signals[-1].lam[0] == pytest.approx(2 / 3, abs=3 * eta)
    assert max(g.sum(), 0) <= 2 / 3 / eta + 2  # V_T = O(√T)
    strong = np.maximum(g, 0).sum()
    assert strong >= 0.6 * n_rounds  # V_T⁺ = Θ(T), about 2/3 T


def test_totals_are_of_the_last_round_only():
    rule = SumOfConstraints(2)
    messages = [Message((), (1.0, 2.0)), Message((), (0.5, -3.0))]
    totals = rule.update(rule.update(rule.first(), messages), messages)
    assert totals.g == (1.5, -1.0)


def test_exchange_admm_solves_a_quadratic_problem():
    # min Σ ½ (x - a)² with Σ x = b has x = a - mean(a) + b/N; steps in closed form.
    a, rho = np.array([1.0, 4.0, -2.0]), 2.0
    rule = ExchangeAdmm((6.0,), rho)
    signal, x = rule.first(), np.zeros(3)
    for _ in range(200):
        target = x - signal.r[0] - signal.u[0]
        x = (a + rho * target) / (1 + rho)
        signal = rule.update(signal, [Message((v,), ()) for v in x])
    np.testing.assert_allclose(x, a - a.mean() + 2.0, atol=1e-8)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Coordinator(1, eta=0.0), "eta must be positive, but got 0.0"),
        (lambda: Coordinator(1, eta=1.0, eps=-1.0), "eps must be at least 0"),
        (lambda: Coordinator(1, lam_1=(1.0, 2.0)), "one price for each of 1"),
        (lambda: ExchangeAdmm((1.0,), 0.0), "penalty must be positive"),
    ],
)
def test_bad_options(make, words):
    with pytest.raises(wo.InputError, match=words):
        make()
