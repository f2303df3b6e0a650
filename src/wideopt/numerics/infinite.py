"""The tangent kernel of a network of infinite width, in closed form.

Sources: Jacot et al. 2018 (the limit), Cho & Saul 2009 and Williams 1997 (the
expectations, see `activations`).

Notation:
    Σ_0(x, x') = z·z' with z = (s ∘ (2x - 1), b);   Θ_0 = Σ_0
    Σ_l = E[φ(u)φ(v)],  Σ̇_l = E[φ'(u)φ'(v)],  (u, v) ~ N(0, Σ_{l-1}), φ with its gain
    Θ_l = Θ_{l-1} ∘ Σ̇_l + Σ_l
    k = o² Θ_L with a trained readout, o² Θ_{L-1} ∘ Σ̇_L with a fixed one,
    o² Σ_L where the readout starts at zero (only its gradient is left)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.activations import Expectations
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.grain import SumOfDraws, grain_block, grain_draw
from wideopt.numerics.kernel import (
    ConditionedDraw,
    Draw,
    Kernel,
    cat_rows,
)
from wideopt.numerics.network import Architecture
from wideopt.numerics.scales import Scales

__all__ = ["InfiniteKernel", "InfiniteSide"]


@dataclass(frozen=True)
class InfiniteSide:
    """Embedded points Z and the variances Σ_0, ..., Σ_{L-1} of each point."""

    Z: Float[Tensor, "... n d1"]
    variances: Float[Tensor, "... n depth"]

    def joined(self, other: InfiniteSide) -> InfiniteSide:
        """Return the side of both sets of points."""
        return InfiniteSide(
            cat_rows(self.Z, other.Z), cat_rows(self.variances, other.variances)
        )


@dataclass(frozen=True)
class InfiniteKernel(Kernel[InfiniteSide]):
    """The limit of `TangentKernel` for activations relu, erf and sin.

    The architecture's width plays no part in the kernel; `draw_width` is that of the
    finite network which stands in for a prior draw: by default 1024 for one hidden
    layer, whose cost is linear in it, and 256 for more, whose cost is quadratic.
    Where the scales have a grain, it is added, unless the kernel `is_smooth`: then it
    is the covariance of the trend with trend and grain, and a posterior that is
    conditioned on both, but looked at through it, is that of the trend alone.
    """

    architecture: Architecture
    scales: Scales
    draw_width: int | None = None
    is_smooth: bool = False

    def __post_init__(self) -> None:
        if self.architecture.phi.expectations is None:
            raise InputError(
                f"activation {self.architecture.activation!r} has no closed-form "
                "kernel at infinite width: use relu, erf or sin, or a finite width."
            )

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""
        return self.scales.batch

    @property
    def _expectations(self) -> Expectations:
        expectations = self.architecture.phi.expectations
        assert expectations is not None  # checked at construction
        return expectations

    def rescaled(
        self, scales: Scales, rows: Int[Tensor, " r"] | None = None
    ) -> InfiniteKernel:
        """Return the kernel with other scales; it has no batch of its own."""
        del rows
        return replace(self, scales=scales)

    def represent(self, X: Float[Tensor, "... n d"]) -> InfiniteSide:
        """Return the embedded points and their variances layer by layer."""
        Z = self.scales.embed(X)
        variances = [Z.square().sum(-1)]
        for _ in range(self.architecture.depth - 1):
            v = variances[-1]
            variances.append(self._expectations(v, v, v)[0])
        return InfiniteSide(Z, torch.stack(variances, dim=-1))

    def block_from(self, a: InfiniteSide, b: InfiniteSide) -> Float[Tensor, "... q n"]:
        """Return the kernel block by the recursion over layers."""
        va, vb, cov = a.variances.unsqueeze(-2), b.variances.unsqueeze(-3), a.Z @ b.Z.mT
        K = self._recursion(va, vb, cov) * self._output2[..., None, None]
        if self._grain is None:
            return K
        return K + grain_block(self._grain, va[..., 0], vb[..., 0], cov)

    def diag_from(self, a: InfiniteSide) -> Float[Tensor, "... n"]:
        """Return k(x, x)."""
        v = a.variances
        k = self._recursion(v, v, v[..., 0]) * self._output2.unsqueeze(-1)
        return k if self._grain is None else k + self._grain[..., :1].square()

    @property
    def _grain(self) -> Float[Tensor, "... 2"] | None:
        return None if self.is_smooth else self.scales.grain

    @property
    def _output2(self) -> Float[Tensor, "..."]:
        return self.scales.output.square()

    def _recursion(
        self,
        va: Float[Tensor, "... depth"],
        vb: Float[Tensor, "... depth"],
        cov: Float[Tensor, "..."],
    ) -> Float[Tensor, "..."]:
        Theta = cov
        for layer in range(self.architecture.depth):
            cov, dot = self._expectations(va[..., layer], vb[..., layer], cov)
            is_last = layer == self.architecture.depth - 1
            if is_last and self.architecture.readout == "fixed":
                return Theta * dot
            Theta = torch.addcmul(cov, Theta, dot)
        return cov if self.architecture.init == "zero-last" else Theta

    def prior_draw(
        self, generator: torch.Generator, shape: tuple[int, ...] = (1,)
    ) -> Draw:
        """Draw from the prior of a finite network of width `draw_width`.

        The covariance of the draw is that of the finite kernel: it is right up to
        O(1/√draw_width).
        """
        trend = self._stand_in(generator).prior_draw(generator, shape)
        if self._grain is None:
            return trend
        return SumOfDraws(trend, grain_draw(self.scales, generator, shape))

    def posterior_draw(
        self,
        generator: torch.Generator,
        shape: tuple[int, ...],
        X: Float[Tensor, "... n d"],
        solve: Callable[[Float[Tensor, "s ... n"]], Float[Tensor, "s ... n"]],
        nu: float = 1.0,
    ) -> ConditionedDraw:
        """Draw with a finite network's prior draw and this kernel's correction.

        Conditioning is exact, so the draws agree with the data; away from them the
        covariance inherits the O(1/√draw_width) error of the prior draw.
        """
        trend = self._stand_in(generator).prior_draw(generator, shape)
        prior: Draw = replace(trend, w=nu * trend.w)
        side = self.represent(X)
        if self.scales.grain is None:
            return ConditionedDraw(self, prior, side, solve(prior(X)))
        grain = grain_draw(self.scales, generator, shape)
        both = SumOfDraws(prior, replace(grain, w=nu * grain.w))
        shown = prior if self.is_smooth else both
        return ConditionedDraw(self, shown, side, solve(both(X)))

    def _stand_in(self, generator: torch.Generator) -> TangentKernel:
        is_halved = self.architecture.init == "antisymmetric"
        finite = replace(
            self.architecture,
            width=self.draw_width or (1024 if self.architecture.depth == 1 else 256),
            init="gaussian" if is_halved else self.architecture.init,
        )
        weights = finite.initial_weights(self.scales.d, generator)
        return TangentKernel.of(finite, weights, self.scales)
