"""What a kernel and a function draw offer, and how batches are laid out.

Notation:
    A (..., q, d), B (..., n, d)  points of the unit cube
    K (..., q, n)                 kernel block
    b                             batch of outputs, the last leading dimensions
    t                             any dimensions before it (BoTorch's t-batches)

A *side* is all that a kernel needs to know of one set of points. It is computed once
for the training points and reused for every block with candidates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.numerics.scales import Scales

__all__ = [
    "ConditionedDraw",
    "Draw",
    "Kernel",
    "Side",
    "aligned",
    "all_targets",
    "cat_rows",
    "folded_rows",
]

SideT = TypeVar("SideT", bound="Side")
KernelT = TypeVar("KernelT", bound="Kernel[Any]")


@runtime_checkable
class Side(Protocol):
    """A kernel's view of one set of points."""

    def joined(self: SideT, other: SideT, /) -> SideT:
        """Return the side of both sets of points, one after the other."""
        ...


class Draw(ABC):
    """A random function: cheap to evaluate, differentiable in its argument."""

    @abstractmethod
    def __call__(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "s ... n"]:
        """Return the values of all s functions at X."""


class Kernel(ABC, Generic[SideT]):
    """A positive semi-definite kernel on the unit cube, with its scales."""

    scales: Scales

    @property
    @abstractmethod
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""

    @abstractmethod
    def represent(self, X: Float[Tensor, "... n d"]) -> SideT:
        """Return the side of X."""

    @abstractmethod
    def block_from(self, a: SideT, b: SideT) -> Float[Tensor, "... q n"]:
        """Return the kernel between the points of two sides."""

    @abstractmethod
    def diag_from(self, a: SideT) -> Float[Tensor, "... n"]:
        """Return the kernel of each point with itself."""

    @abstractmethod
    def posterior_draw(
        self,
        generator: torch.Generator,
        shape: tuple[int, ...],
        X: Float[Tensor, "... n d"],
        solve: Callable[[Float[Tensor, "s ... n"]], Float[Tensor, "s ... n"]],
        nu: float = 1.0,
    ) -> Draw:
        """Return f = f0 + k(., X) solve(f0(X)) with f0 a prior draw (Matheron's rule).

        `shape` is (s, *b): s functions for every output. `solve` is linear and
        shifts: v = (K + λI)⁻¹(y - f0(X) - ε). f0 is ν times a draw.
        """

    @abstractmethod
    def prior_draw(
        self, generator: torch.Generator, shape: tuple[int, ...] = (1,)
    ) -> Draw:
        """Draw functions of the prior; `shape` is (s, *b)."""

    @abstractmethod
    def rescaled(
        self: KernelT, scales: Scales, rows: Int[Tensor, " r"] | None = None
    ) -> KernelT:
        """Return this kernel with other scales.

        `rows` picks outputs, where the kernel itself has a batch of them.
        """

    def block(
        self, A: Float[Tensor, "... q d"], B: Float[Tensor, "... n d"]
    ) -> Float[Tensor, "... q n"]:
        """Return the kernel between the points of A and of B."""
        return self.block_from(self.represent(A), self.represent(B))

    def diag(self, A: Float[Tensor, "... n d"]) -> Float[Tensor, "... n"]:
        """Return k(x, x) for every point of A."""
        return self.diag_from(self.represent(A))


@dataclass(frozen=True)
class ConditionedDraw(Draw):
    """Functions f0 + k(., X) v."""

    kernel: Kernel[Any]
    prior: Draw
    side: Side
    v: Float[Tensor, "s ... n"]

    def __call__(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "s ... n"]:
        """Return the values of all functions at X."""
        K = self.kernel.block_from(self.kernel.represent(X), self.side)
        columns = aligned(self.v, K.ndim - 2).movedim(0, -1)
        return self.prior(X) + (K @ columns).movedim(-1, 0)


def cat_rows(
    A: Float[Tensor, "... n c"], B: Float[Tensor, "... q c"]
) -> Float[Tensor, "... nq c"]:
    """Stack rows; leading dimensions broadcast."""
    batch = torch.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    rows = [M.expand(*batch, *M.shape[-2:]) for M in (A, B)]
    return torch.cat(rows, dim=-2)


def all_targets(
    old: Float[Tensor, "... n"], Y: Float[Tensor, "... k"], q: int
) -> Float[Tensor, "... nq"]:
    """Return the targets of n + q points, given the q new ones or all of them."""
    if Y.shape[-1] == old.shape[-1] + q:
        return Y
    return cat_rows(old.unsqueeze(-1), Y.unsqueeze(-1)).squeeze(-1)


def aligned(v: Float[Tensor, "s ... p"], n_batch: int) -> Float[Tensor, "s ... p"]:
    """Put singleton dimensions after s until n_batch dimensions lie between s and p.

    Values (s, *b, p) then broadcast with candidates of batch (*t, *b).
    """
    missing = max(0, n_batch - (v.ndim - 2))
    return v.reshape(v.shape[0], *(1,) * missing, *v.shape[1:])


def folded_rows(
    A: Float[Tensor, "... q c"], n_batch: int
) -> tuple[
    Float[Tensor, "... tq c"],
    Callable[[Float[Tensor, "... tq e"]], Float[Tensor, "... q e"]],
]:
    """Move the t dimensions before the last n_batch ones into the rows.

    Returns rows (*b, t·q, c) and the way back for (*b, t·q, e) -> (*t, *b, q, e). A
    factor of batch b then meets all rows at once instead of being copied t times.
    """
    n_t = A.ndim - 2 - n_batch
    if n_t <= 0:
        return A, lambda values: values
    t, b, q = A.shape[:n_t], A.shape[n_t:-2], A.shape[-2]
    rows = A.permute(*range(n_t, n_t + n_batch), *range(n_t), -2, -1)

    def unfold(values: Tensor) -> Tensor:
        k = values.ndim - 2
        split = values.reshape(*values.shape[:-2], *t, q, values.shape[-1])
        return split.permute(*range(k, k + n_t), *range(k), -2, -1)

    return rows.reshape(*b, -1, A.shape[-1]), unfold
