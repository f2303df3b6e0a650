"""The grain of a function: what varies too fast for its trend, and is no noise.

Ripples of a simulation are the same each time a point is evaluated, but tell nothing of
points farther away than a ripple is long. A kernel with one scale takes them either for
noise or for roughness everywhere; a kernel with grain is a sum of two, the network's
for the trend and one of fine waves (an infinitely wide network of sines whose last
layer is trained) for the rest:

    k(x, x') = o² Θ(z, z') + ρ² exp(-½ τ² ‖z - z'‖²)

Notation: z embedded points (see `scales`), ρ size and τ pitch of the grain.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.kernel import Draw
from wideopt.numerics.scales import Scales
from wideopt.numerics.squared_exponential import SquaredExponentialKernel, Waves

__all__ = ["SumOfDraws", "fine_scales", "grain_block", "grain_draw"]


def grain_block(
    grain: Float[Tensor, "... 2"],
    va: Float[Tensor, "..."],
    vb: Float[Tensor, "..."],
    cov: Float[Tensor, "..."],
) -> Float[Tensor, "..."]:
    """Return ρ² exp(-½ τ² ‖z - z'‖²), given z·z, z'·z' and z·z'."""
    rho, tau = grain[..., 0, None, None], grain[..., 1, None, None]
    gaps = (va + vb - 2.0 * cov).clamp_min(0.0)
    return rho.square() * torch.exp(-0.5 * tau.square() * gaps)


def grain_draw(
    scales: Scales, generator: torch.Generator, shape: tuple[int, ...]
) -> Waves:
    """Draw functions of the grain alone; `shape` is (s, *b)."""
    return SquaredExponentialKernel(fine_scales(scales)).prior_draw(generator, shape)


def fine_scales(scales: Scales) -> Scales:
    """Return the scales of a squared exponential kernel that is the grain."""
    assert scales.grain is not None
    rho, tau = scales.grain[..., 0], scales.grain[..., 1]
    return Scales(tau.unsqueeze(-1) * scales.input, scales.bias, rho, scales.bend)


@dataclass(frozen=True)
class SumOfDraws(Draw):
    """Functions that are sums, such as of trend and grain."""

    first: Draw
    second: Draw

    def __call__(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "s ... n"]:
        """Return the values of all functions at X."""
        return self.first(X) + self.second(X)
