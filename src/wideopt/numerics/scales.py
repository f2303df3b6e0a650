"""Scales of a network's inputs, bias and output: the hyper-parameters of its kernel.

Notation:
    X  (..., n, d)     points of the unit cube
    Z  (..., n, d+1)   what the network sees: Z = (s ∘ (2w(X) - 1), b)
    s  (..., d)        input scales, one per dimension (as in ARD)
    b, o  (...)        bias scale and output scale: the function is o·h(Z; θ)
    t  (..., d)        bend of each axis, 0 for none
    ρ, τ  (..., 2)     size and pitch of the grain (see `grain`)

A bent axis is stretched at one end: w(x) = log(1 + (eᵗ - 1) x) / t maps [0, 1] onto
itself; its slope falls from (eᵗ - 1)/t at 0 to (1 - e⁻ᵗ)/t at 1. With t > 0 it is as if
the parameter had been given on a logarithmic scale. (Snoek et al. 2014 warp inputs to
the same end, by a function with two parameters whose slope at 0 may be infinite.)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError

__all__ = ["FLAT", "Scales", "bent", "require_float64"]

FLAT = 1e-4  # below this |t| the series of w is exact to rounding


def require_float64(**tensors: Tensor) -> None:
    """Raise `InputError` for every tensor that is not float64."""
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float64:
            raise InputError(
                f"{name} has dtype {tensor.dtype}; all linear algebra is float64: "
                f"pass {name}.double()."
            )


def bent(X: Float[Tensor, "... d"], t: Float[Tensor, "... d"]) -> Tensor:
    """Return w(X) = log(1 + (eᵗ - 1) X) / t, which is X at t = 0."""
    is_flat = t.abs() < FLAT
    safe = torch.where(is_flat, 1.0, t)
    curved = torch.log1p(torch.expm1(safe) * X) / safe
    return torch.where(is_flat, X + 0.5 * t * X * (1.0 - X), curved)


@dataclass(frozen=True)
class Scales:
    """Input, bias and output scales; leading dimensions are a batch of outputs."""

    input: Float[Tensor, "... d"]
    bias: Float[Tensor, "..."]
    output: Float[Tensor, "..."]
    bend: Float[Tensor, "... d"] | None = None
    grain: Float[Tensor, "... 2"] | None = None

    def __post_init__(self) -> None:
        require_float64(input=self.input, bias=self.bias, output=self.output)
        if self.input.ndim < 1 or self.input.shape[-1] < 1:
            raise InputError(
                f"input scales have shape {tuple(self.input.shape)}; "
                "they need one value per dimension, (..., d) with d >= 1."
            )

    @classmethod
    def ones(cls, d: int, batch: tuple[int, ...] = ()) -> Scales:
        """Return scales of one everywhere."""
        one = torch.ones(batch, dtype=torch.float64)
        return cls(torch.ones((*batch, d), dtype=torch.float64), one, one.clone())

    @property
    def d(self) -> int:
        """Number of input dimensions."""
        return self.input.shape[-1]

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""
        shapes = self.input.shape[:-1], self.bias.shape, self.output.shape
        return torch.Size(torch.broadcast_shapes(*shapes))

    def selected(self, outputs: list[int]) -> Scales:
        """Return the scales of some outputs of a batch (o,)."""
        bend = None if self.bend is None else self.bend[outputs]
        scales = self.input[outputs], self.bias[outputs], self.output[outputs]
        grain = None if self.grain is None else self.grain[outputs]
        return Scales(*scales, bend, grain)

    def centered(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "... n d"]:
        """Return 2w(X) - 1, in [-1, 1]."""
        require_float64(X=X)
        if X.ndim < 2 or X.shape[-1] != self.d:
            raise InputError(
                f"X has shape {tuple(X.shape)}; expected (..., n, {self.d})."
            )
        if self.bend is not None:
            X = bent(X, self.bend.unsqueeze(-2))
        return 2.0 * X - 1.0

    def embed(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "... n d1"]:
        """Return Z = (s ∘ (2w(X) - 1), b), the input of the network."""
        scaled = self.centered(X) * self.input.unsqueeze(-2)
        batch = torch.broadcast_shapes(scaled.shape[:-2], self.bias.shape)
        n = X.shape[-2]
        bias = self.bias[..., None, None].expand(*batch, n, 1)
        return torch.cat([scaled.expand(*batch, n, self.d), bias], dim=-1)
