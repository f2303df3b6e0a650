"""One joint draw from the posterior of GPs: a function, cheap and differentiable.

Pathwise conditioning, Wilson et al. (2020), eq. 11 and 13, with random Fourier features
(Rahimi and Recht 2007) for the prior. BoTorch has the same; but it scrambles a Sobol
sequence of a thousand dimensions for every draw, nearly half of the time of a run.

Notation: as in `gp_marginals`; ω frequencies, F of them, a, b ~ N(0, 1), ε ~ N(0, s²).

    f₀(x) = F^(-1/2) Σ_i (a_i cos ω_i'x + b_i sin ω_i'x)
    f(x) = mean(x) + ν (f₀(x) - k_x' (K + s² I)⁻¹ (f₀(X) + ε))

RBF: ω ~ N(0, 1). Matérn-5/2: ω ~ t with 5 degrees of freedom, N(0, 1) / √(χ²₅ / 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.stationary import correlation
from wideopt.surrogates.gp_marginals import Marginals

__all__ = ["GPDraw"]

_N_FREQUENCIES = 512
_N_DEGREES = 5  # 2ν of Matérn-5/2
_ROWS = 1024  # points times outputs at a time, lest waves leave the cache


@dataclass(frozen=True)
class GPDraw:
    """A function of all outputs: (..., d) -> (..., o), in the units of the data."""

    marginals: Marginals
    omega: Float[Tensor, "o d f"]
    a: Float[Tensor, "o f 1"]
    b: Float[Tensor, "o f 1"]
    weights: Float[Tensor, "o n 1"]  # of the correlations with the data

    @classmethod
    def of(
        cls, marginals: Marginals, generator: torch.Generator, nu: float = 1.0
    ) -> GPDraw:
        """A draw with ν times the deviation from the mean."""
        m = marginals
        o, n, d = m.Z.shape
        F = _N_FREQUENCIES

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64).to(m.Z)

        omega = normal(o, d, F)
        if m.kernel == "matern":
            chi2 = normal(o, _N_DEGREES, F).square().sum(dim=1, keepdim=True)
            omega = omega * (_N_DEGREES / chi2).sqrt()
        a, b = (nu * F**-0.5 * normal(o, F, 1) for _ in range(2))
        prior = _waves(m.Z, omega, a, b)
        noise = nu * m.noise.sqrt().unsqueeze(-1) * normal(o, n, 1)
        solved = m.L_inverse.mT @ (m.L_inverse @ (prior + noise))
        return cls(m, omega, a, b, m.weights - solved)

    def __call__(self, X: Float[Tensor, "... d"]) -> Float[Tensor, "... o"]:
        """The values at X."""
        n_rows = max(16, _ROWS // len(self.a))
        chunks = X.reshape(-1, X.shape[-1]).split(n_rows)
        values = torch.cat([self._values(chunk) for chunk in chunks])
        return values.reshape(*X.shape[:-1], -1)

    def _values(self, X: Float[Tensor, "q d"]) -> Float[Tensor, "q o"]:
        m = self.marginals
        Z = X / m.length
        K = correlation(Z, m.Z, m.kernel)
        waves = _waves(Z, self.omega, self.a, self.b)
        drawn = m.mean + (K @ self.weights + waves).squeeze(-1)
        values: Tensor = m.shift + m.scale * drawn
        return values.mT


def _waves(Z: Tensor, omega: Tensor, a: Tensor, b: Tensor) -> Float[Tensor, "o q 1"]:
    phases = Z @ omega
    waves: Tensor = phases.cos() @ a + phases.sin() @ b
    return waves
