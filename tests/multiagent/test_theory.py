"""The constants of Theorem 1 are what its proof needs."""

import math

import pytest

import wideopt as wo
from wideopt.multiagent import TheoreticalBeta, Theory

THEORY = Theory(n_rounds=400, C_0=2.0, C=(1.5, 0.7), xi=0.3, B=1.1, rho=0.4)


def step(theory):
    return 2 * math.hypot(*theory.C) ** 2 + theory.B**2


def test_a_large_lambda_falls():
    # Lemma 7, first case: 2 C_0/η + 2‖C‖² + B² - ξ/2 ‖λ‖ = 0 at ½‖λ‖² = H_1.
    norm = math.sqrt(2 * THEORY.H_1)
    rise = 2 * THEORY.C_0 / THEORY.eta + step(THEORY)
    assert rise == pytest.approx(THEORY.xi / 2 * norm)


def test_a_large_mu_falls():
    # eq. 29 is not positive at ½‖μ‖² = H_2, and not far below either.
    norm = math.sqrt(2 * THEORY.H_2)
    rise = (1 + math.sqrt(2)) * (2 * THEORY.C_0 / THEORY.eta + step(THEORY))
    assert rise <= THEORY.rho * norm <= math.sqrt(2) * rise


def test_first_price_is_within_lemma_8():
    assert 0.5 * math.hypot(*THEORY.lam_1) ** 2 == pytest.approx(THEORY.H_1 / 2)


def test_drifts():
    V = THEORY.H_1 + THEORY.H_2 + 2 * THEORY.C_0 * 20 + step(THEORY)
    assert 400 * THEORY.eps_2 == pytest.approx(math.sqrt(2 * V))
    betas, gains = [(3.0, 4.0), (0.0, 2.0)], [(6.0, 8.0), (1.0, 0.0)]
    more = 8 * (5 * math.sqrt(400 * 10) + 2 * math.sqrt(400 * 1)) / 400
    assert THEORY.eps_1(betas, gains) == pytest.approx(THEORY.eps_2 + more)
    assert not THEORY.covers(THEORY.eps_2)
    assert THEORY.covers(0.15)


def test_without_affine_constraints():
    theory = Theory(n_rounds=100, C_0=1.0, C=(1.0,), xi=0.5)
    assert theory.H_2 == 0.0
    assert Theory(n_rounds=100, C_0=1.0, C=(), xi=0.5).lam_1 == ()


def test_beta_of_lemma_2():
    beta = TheoreticalBeta(2.0, 0.1, n_agents=3, n_constraints=2, delta=0.05)
    assert beta(5.0) == pytest.approx(2 + 0.1 * math.sqrt(2 * (6 + math.log(9 / 0.05))))


def test_bad_assumptions():
    with pytest.raises(wo.InputError, match="xi must be positive, but got 0"):
        Theory(n_rounds=10, C_0=1.0, C=(1.0,), xi=0.0)
    with pytest.raises(wo.InputError, match="need a positive rho"):
        Theory(n_rounds=10, C_0=1.0, C=(1.0,), xi=0.1, B=1.0)
