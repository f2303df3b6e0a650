"""Scales of a network's inputs, bias and output: the hyper-parameters of its kernel.

Notation:
    X  (..., n, d)     points of the unit cube
    Z  (..., n, d+1)   what the network sees: Z = (s ∘ (2X - 1), b)
    s  (..., d)        input scales, one per dimension (as in ARD)
    b, o  (...)        bias scale and output scale: the function is o·h(Z; θ)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError

__all__ = ["Scales", "require_float64"]


def require_float64(**tensors: Tensor) -> None:
    """Raise `InputError` for every tensor that is not float64."""
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float64:
            raise InputError(
                f"{name} has dtype {tensor.dtype}; all linear algebra is float64: "
                f"pass {name}.double()."
            )


@dataclass(frozen=True)
class Scales:
    """Input, bias and output scales; leading dimensions are a batch of outputs."""

    input: Float[Tensor, "... d"]
    bias: Float[Tensor, "..."]
    output: Float[Tensor, "..."]

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
        return Scales(self.input[outputs], self.bias[outputs], self.output[outputs])

    def embed(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "... n d1"]:
        """Return Z = (s ∘ (2X - 1), b), the input of the network."""
        require_float64(X=X)
        if X.ndim < 2 or X.shape[-1] != self.d:
            raise InputError(
                f"X has shape {tuple(X.shape)}; expected (..., n, {self.d})."
            )
        scaled = (2.0 * X - 1.0) * self.input.unsqueeze(-2)
        batch = torch.broadcast_shapes(scaled.shape[:-2], self.bias.shape)
        n = X.shape[-2]
        bias = self.bias[..., None, None].expand(*batch, n, 1)
        return torch.cat([scaled.expand(*batch, n, self.d), bias], dim=-1)
