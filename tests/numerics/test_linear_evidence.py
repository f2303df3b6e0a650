"""Evidence of Bayesian linear regression against the dense Gaussian density."""

import pytest
import torch
from torch.distributions import MultivariateNormal

from wideopt.numerics.linear_evidence import LinearEvidence, fit_linear_evidence


def data(n, p, seed=0):
    generator = torch.Generator().manual_seed(seed)
    kwargs = {"generator": generator, "dtype": torch.float64}
    H = torch.randn(2, n, p, **kwargs)
    w, noise = torch.randn(2, p, **kwargs), 0.3 * torch.randn(2, n, **kwargs)
    return H, (H @ w.unsqueeze(-1)).squeeze(-1) + noise


def dense(H, y, variance, noise):
    C = variance * H @ H.mT + noise * torch.eye(H.shape[0], dtype=H.dtype)
    return MultivariateNormal(torch.zeros_like(y), C).log_prob(y)


@pytest.mark.parametrize(("n", "p"), [(12, 4), (5, 9)])
def test_log_evidence_is_that_of_the_dense_gaussian(n, p):
    H, y = data(n, p)
    variance, rho = (torch.tensor(v, dtype=torch.float64) for v in (0.7, 0.2))
    closed = LinearEvidence.of(H, y).log_evidence(variance, rho)
    for i in range(2):
        expected = dense(H[i], y[i], variance, variance * rho)
        torch.testing.assert_close(closed[i], expected)


def test_the_fit_is_a_maximum_of_the_dense_evidence():
    H, y = data(40, 5)
    variance, noise = fit_linear_evidence(H, y)
    for i in range(2):
        best = dense(H[i], y[i], variance[i], noise[i])
        for a, b in [(1.1, 1.0), (0.9, 1.0), (1.0, 1.1), (1.0, 0.9), (1.5, 0.5)]:
            assert dense(H[i], y[i], a * variance[i], b * noise[i]) < best
        assert 0.15 < float(noise[i].sqrt()) < 0.6  # it was 0.3


def test_noise_has_a_floor():
    H, _ = data(4, 9)
    for y in (torch.zeros(2, 4, dtype=H.dtype), H[..., 0]):
        variance, noise = fit_linear_evidence(H, y, min_noise=1e-4)
        assert bool((noise >= 1e-4 * (1 - 1e-9)).all())
        assert bool((variance > 0).all())
