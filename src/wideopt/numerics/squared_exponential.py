"""The squared exponential kernel, for all outputs at once.

Sources: Rasmussen & Williams 2006 eq. 4.9; prior draws by random Fourier features
(Rahimi & Recht 2007).

Notation:
    Z (..., n, d)  scaled points, Z = s ∘ (2w(X) - 1) (see `scales`); a length scale in
                   the unit cube is 1/(2 s)
    k = o² exp(-½ ‖z - z'‖²);   f0(z) = o √(2/p) Σ_j w_j cos(ω_j·z + φ_j)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.numerics.kernel import (
    ConditionedDraw,
    Draw,
    Kernel,
    aligned,
    cat_rows,
)
from wideopt.numerics.scales import Scales

__all__ = ["SquaredExponentialKernel", "Waves"]

_N_WAVES = 1024


@dataclass(frozen=True)
class _Scaled:
    """Points in units of the length scales."""

    Z: Float[Tensor, "... n d"]

    def joined(self, other: _Scaled) -> _Scaled:
        """Return the side of both sets of points."""
        return _Scaled(cat_rows(self.Z, other.Z))


@dataclass(frozen=True)
class SquaredExponentialKernel(Kernel[_Scaled]):
    """The kernel with the given scales; that of the bias plays no part."""

    scales: Scales

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""
        return self.scales.batch

    def rescaled(
        self, scales: Scales, rows: Int[Tensor, " r"] | None = None
    ) -> SquaredExponentialKernel:
        """Return the kernel with other scales; it has no batch of its own."""
        del rows
        return replace(self, scales=scales)

    def represent(self, X: Float[Tensor, "... n d"]) -> _Scaled:
        """Return the scaled points."""
        return _Scaled(self.scales.embed(X)[..., :-1])

    def block_from(self, a: _Scaled, b: _Scaled) -> Float[Tensor, "... q n"]:
        """Return the kernel between the points of two sides."""
        norms = a.Z.square().sum(-1).unsqueeze(-1) + b.Z.square().sum(-1).unsqueeze(-2)
        squares = (norms - 2.0 * a.Z @ b.Z.mT).clamp_min(0.0)
        return (-0.5 * squares).exp() * self._output2.unsqueeze(-1).unsqueeze(-1)

    def diag_from(self, a: _Scaled) -> Float[Tensor, "... n"]:
        """Return k(x, x) = o²."""
        return torch.ones_like(a.Z[..., 0]) * self._output2.unsqueeze(-1)

    @property
    def _output2(self) -> Float[Tensor, "..."]:
        return self.scales.output.square()

    def prior_draw(
        self, generator: torch.Generator, shape: tuple[int, ...] = (1,)
    ) -> Waves:
        """Draw functions of the prior; right up to O(1/√1024)."""
        d, kwargs = self.scales.d, {"generator": generator, "dtype": torch.float64}
        omega = torch.randn(_N_WAVES, d, **kwargs)  # type: ignore[call-overload]
        phase = 2.0 * math.pi * torch.rand(_N_WAVES, **kwargs)  # type: ignore[call-overload]
        w = torch.randn(*shape, _N_WAVES, **kwargs)  # type: ignore[call-overload]
        w = w * math.sqrt(2.0 / _N_WAVES) * self.scales.output.unsqueeze(-1)
        return Waves(self, omega, phase, w)

    def posterior_draw(
        self,
        generator: torch.Generator,
        shape: tuple[int, ...],
        X: Float[Tensor, "... n d"],
        solve: Callable[[Float[Tensor, "s ... n"]], Float[Tensor, "s ... n"]],
        nu: float = 1.0,
    ) -> Draw:
        """Draw f0 + k(., X) solve(f0(X)): conditioning is exact."""
        prior = self.prior_draw(generator, shape)
        prior = replace(prior, w=nu * prior.w)
        return ConditionedDraw(self, prior, self.represent(X), solve(prior(X)))


@dataclass(frozen=True)
class Waves(Draw):
    """Sums of cosines."""

    kernel: SquaredExponentialKernel
    omega: Float[Tensor, "p d"]
    phase: Float[Tensor, " p"]
    w: Float[Tensor, "s ... p"]

    def __call__(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "s ... n"]:
        """Return the values of all functions at X."""
        waves = (self.kernel.represent(X).Z @ self.omega.T + self.phase).cos()
        columns = aligned(self.w, waves.ndim - 2).movedim(0, -1)
        return (waves @ columns).movedim(-1, 0)
