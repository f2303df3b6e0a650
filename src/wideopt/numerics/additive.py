"""The kernel of a network whose units see one input each: sums of curves.

Many functions are, nearly, sums of functions of one parameter (Duvenaud et al. 2011).
A network of sines with one input for each unit, whose readout is trained, is such a sum
for good; what it learns of a parameter holds wherever the others are, so that a hundred
observations show each curve a hundred times. Its frequencies are those of an interval
twice as long as the axis (Solin and Särkkä 2020), its weights have the variances of a
Matérn process of order 5/2 for each axis.

Notation:
    u (..., n, d)    points, u = 2w(x) - 1 in [-1, 1] (see `scales`);  s, b, o scales
    Φ (..., n, p)    units sin(ω_j (u_i + 2))/√2, ω_j = πj/4, j = 1, ..., r; p = d r
    S (..., p)       variances (16/3) κ⁵/(κ² + ω²)³/d, κ = √5 s_i
    k = o² (Φ S Φ'ᵀ + b²);   f0 = o (Φ √S w + b w_0)

What is no sum of curves is grain (see `grain`), of any pitch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.numerics.grain import SumOfDraws, fine_scales, grain_block, grain_draw
from wideopt.numerics.kernel import ConditionedDraw, Draw, Kernel, aligned, cat_rows
from wideopt.numerics.scales import Scales
from wideopt.numerics.squared_exponential import SquaredExponentialKernel

__all__ = ["AdditiveKernel"]

_N_UNITS = 48  # r: curves are resolved down to some 4% of an axis
_HALF = 2.0  # of the interval


@dataclass(frozen=True)
class _Units:
    """What the units say of each point, and the scaled points."""

    Phi: Float[Tensor, "... n p"]
    Z: Float[Tensor, "... n d"]

    def joined(self, other: _Units) -> _Units:
        """Return the side of both sets of points."""
        return _Units(cat_rows(self.Phi, other.Phi), cat_rows(self.Z, other.Z))


@dataclass(frozen=True)
class AdditiveKernel(Kernel[_Units]):
    """The kernel with the given scales; `is_smooth` as in `InfiniteKernel`."""

    scales: Scales
    is_smooth: bool = False

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""
        return self.scales.batch

    def rescaled(
        self, scales: Scales, rows: Int[Tensor, " r"] | None = None
    ) -> AdditiveKernel:
        """Return the kernel with other scales; it has no batch of its own."""
        del rows
        return replace(self, scales=scales)

    def represent(self, X: Float[Tensor, "... n d"]) -> _Units:
        """Return the values of all units."""
        u = self.scales.centered(X)
        phase = (u + _HALF).unsqueeze(-1) * self._frequencies
        Phi = (torch.sin(phase) / math.sqrt(_HALF)).flatten(-2)
        return _Units(Phi, u * self.scales.input.unsqueeze(-2))

    def block_from(self, a: _Units, b: _Units) -> Float[Tensor, "... q n"]:
        """Return the kernel between the points of two sides."""
        curves = (a.Phi * self._variances.unsqueeze(-2)) @ b.Phi.mT
        K = self._output2[..., None, None] * (curves + self._bias2[..., None, None])
        if self._grain is None:
            return K
        va, vb = a.Z.square().sum(-1).unsqueeze(-1), b.Z.square().sum(-1).unsqueeze(-2)
        return K + grain_block(self._grain, va, vb, a.Z @ b.Z.mT)

    def diag_from(self, a: _Units) -> Float[Tensor, "... n"]:
        """Return k(x, x)."""
        curves = (a.Phi.square() @ self._variances.unsqueeze(-1)).squeeze(-1)
        k = self._output2.unsqueeze(-1) * (curves + self._bias2.unsqueeze(-1))
        return k if self._grain is None else k + self._grain[..., :1].square()

    @property
    def _grain(self) -> Float[Tensor, "... 2"] | None:
        return None if self.is_smooth else self.scales.grain

    def prior_draw(
        self, generator: torch.Generator, shape: tuple[int, ...] = (1,)
    ) -> Draw:
        """Draw functions of the prior: exact, but for a grain."""
        curves = self._curves(generator, shape)
        if self._grain is None:
            return curves
        return SumOfDraws(curves, grain_draw(self.scales, generator, shape))

    def _curves(self, generator: torch.Generator, shape: tuple[int, ...]) -> _Curves:
        p = self.scales.d * _N_UNITS
        kwargs = {"generator": generator, "dtype": torch.float64}
        w = torch.randn(*shape, p, **kwargs)  # type: ignore[call-overload]
        level = torch.randn(*shape, **kwargs)  # type: ignore[call-overload]
        output = self.scales.output
        return _Curves(
            self,
            output.unsqueeze(-1) * self._variances.sqrt() * w,
            output * self.scales.bias * level,
        )

    def posterior_draw(
        self,
        generator: torch.Generator,
        shape: tuple[int, ...],
        X: Float[Tensor, "... n d"],
        solve: Callable[[Float[Tensor, "s ... n"]], Float[Tensor, "s ... n"]],
        nu: float = 1.0,
    ) -> Draw:
        """Draw by Matheron's rule; the correction of curves shifts their weights."""
        prior = self._curves(generator, shape)
        prior = replace(prior, w=nu * prior.w, level=nu * prior.level)
        if self.scales.grain is None:
            return self._shifted(prior, X, solve(prior(X)))
        grain = grain_draw(self.scales, generator, shape)
        grain = replace(grain, w=nu * grain.w)
        v = solve(prior(X) + grain(X))
        curves = self._shifted(prior, X, v)
        if self.is_smooth:
            return curves
        fine = SquaredExponentialKernel(fine_scales(self.scales))
        rest = ConditionedDraw(fine, grain, fine.represent(X), v)
        return SumOfDraws(curves, rest)

    def _shifted(self, prior: _Curves, X: Tensor, v: Tensor) -> _Curves:
        """The curves f0 + k(., X) v."""
        Phi = self.represent(X).Phi
        shift = (v.unsqueeze(-2) @ Phi).squeeze(-2) * self._variances
        output2 = self._output2
        return replace(
            prior,
            w=prior.w + output2.unsqueeze(-1) * shift,
            level=prior.level + output2 * self._bias2 * v.sum(-1),
        )

    @property
    def _frequencies(self) -> Float[Tensor, " r"]:
        j = torch.arange(1, _N_UNITS + 1).to(self.scales.input)
        return 0.5 * math.pi / _HALF * j

    @property
    def _variances(self) -> Float[Tensor, "... p"]:
        kappa = math.sqrt(5.0) * self.scales.input.unsqueeze(-1)
        total = kappa.square() + self._frequencies.square()
        S = (16.0 / 3.0 / self.scales.d) * kappa.pow(5) / total.pow(3)
        return S.flatten(-2)

    @property
    def _output2(self) -> Float[Tensor, "..."]:
        return self.scales.output.square()

    @property
    def _bias2(self) -> Float[Tensor, "..."]:
        return self.scales.bias.square()


@dataclass(frozen=True)
class _Curves(Draw):
    """Functions Φ w + level."""

    kernel: AdditiveKernel
    w: Float[Tensor, "s ... p"]
    level: Float[Tensor, "s ..."]

    def __call__(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "s ... n"]:
        """Return the values of all functions at X."""
        Phi = self.kernel.represent(X).Phi
        n_batch = Phi.ndim - 2
        w = aligned(self.w, n_batch).unsqueeze(-1)
        level = aligned(self.level.unsqueeze(-1), n_batch)
        return (Phi @ w).squeeze(-1) + level
