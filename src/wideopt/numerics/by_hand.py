"""A kernel matrix of an infinitely wide network, pulled back to its hyper-parameters.

What the evidence asks for hundreds of times a fit: K and, for a matrix G, the gradient
of Σ G∘K in ψ (see `hyper`), written out in NumPy. For matrices of a hundred rows that
is several times as fast as automatic differentiation, which remains for other kernels.

Notation: Z embedded points (see `scales`), v_i = z_i·z_i, c_ij = z_i·z_j; G symmetric.

    K = o² Θ(v_i, v_j, c_ij) + ρ² g,  g = exp(-½ τ² q_ij),  q_ij = v_i + v_j - 2 c_ij
    ∂z_i: 4 z_i Σ_j (G∘o²Θ_a)_ij + 2 (G∘o²Θ_c Z)_i + 4 (z_i Σ_j H_ij - (H Z)_i),
    H = -½ τ² ρ² G∘g;   ∂log s_j = Σ_i Z_ij ∂Z_ij, since z is linear in s
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.hyper import Hyper
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.kernel import Kernel
from wideopt.numerics.layers import LAYERS, Array, Layer, is_written_out, recursion
from wideopt.numerics.scales import FLAT

__all__ = ["ByHand", "PullBack"]

PullBack = Callable[[Float[Tensor, "r n n"]], Float[Tensor, "r k"]]


@dataclass(frozen=True)
class ByHand:
    """The kernel of n points as a function of hyper-parameters.

    Attributes:
        layer: of the network.
        depth: number of layers.
        X: the points, (n, d).
    """

    layer: Layer
    depth: int
    X: Array

    @classmethod
    def of(cls, kernel: Kernel[Any], X: Float[Tensor, "n d"]) -> ByHand | None:
        """Of a kernel with any scales; None if it is not one that is written out."""
        if not isinstance(kernel, InfiniteKernel) or kernel.is_smooth:
            return None
        if X.device.type != "cpu" or not is_written_out(kernel.architecture):
            return None
        layer = LAYERS[kernel.architecture.activation]
        return cls(layer, kernel.architecture.depth, X.detach().numpy())

    def __call__(self, hyper: Hyper) -> tuple[Float[Tensor, "r n n"], PullBack]:
        """K of every row of hyper-parameters, and its pull-back to ψ."""
        scales = hyper.scales
        s, o2 = _array(scales.input), _array(scales.output)[:, None, None] ** 2
        bend = None if scales.bend is None else _array(scales.bend)
        U, U_t = self._centered(bend)
        bias = np.broadcast_to(
            _array(scales.bias)[:, None, None], (len(s), len(U[0]), 1)
        )
        Z = np.concatenate([U * s[:, None, :], bias], axis=2)
        v, c = np.einsum("rnd,rnd->rn", Z, Z), Z @ Z.swapaxes(1, 2)
        theta, theta_a, theta_c = self._network(v, c)
        K = o2 * theta
        grain = None if scales.grain is None else _Grain.of(_array(scales.grain), v, c)

        def pull(G: Float[Tensor, "r n n"]) -> Float[Tensor, "r k"]:
            dK = _array(G)
            weights = dK * o2
            A = weights * theta_c
            total = 4.0 * (weights * theta_a).sum(axis=2)
            output = 2.0 * (weights * theta).sum(axis=(1, 2))
            parts: list[Array] = []
            if grain is not None:
                H, by_grain = grain.pulled(dK)
                A, total = A - 2.0 * H, total + 4.0 * H.sum(axis=2)
                parts = [by_grain]
            dZ = total[:, :, None] * Z + 2.0 * (A @ Z)
            by_scale = (dZ * Z).sum(axis=1)
            if U_t is not None:
                parts = [(dZ[:, :, :-1] * U_t).sum(axis=1) * s, *parts]
            rest = np.stack([by_scale[:, -1], output, np.zeros_like(output)], axis=1)
            gradient = np.concatenate([by_scale[:, :-1], *parts, rest], axis=1)
            return torch.from_numpy(gradient)

        whole = K if grain is None else K + grain.K
        return torch.from_numpy(whole), pull

    def _network(self, v: Array, c: Array) -> tuple[Array, Array, Array]:
        variances = [v[:, None, :]]
        for _ in range(self.depth - 1):
            last = variances[-1]
            variances.append(self.layer(last, last, last).E)
        return recursion(self.layer, self.depth, v[:, :, None], variances, c)

    def _centered(self, t: Array | None) -> tuple[Array, Array | None]:
        """2w(X) - 1 and its derivative in the bends, as `scales.bent`."""
        if t is None:
            return 2.0 * self.X[None] - 1.0, None
        X, t = self.X[None], t[:, None, :]
        is_flat = np.abs(t) < FLAT
        safe = np.where(is_flat, 1.0, t)
        grown = 1.0 + np.expm1(safe) * X
        w = np.log(grown) / safe
        slope = (np.exp(safe) * X / grown - w) / safe
        even = 0.5 * X * (1.0 - X)
        w = np.where(is_flat, X + t * even, w)
        return 2.0 * w - 1.0, 2.0 * np.where(is_flat, even, slope)


@dataclass(frozen=True)
class _Grain:
    """The part of the kernel that is grain."""

    K: Array
    gaps: Array
    tau2: Array

    @classmethod
    def of(cls, grain: Array, v: Array, c: Array) -> _Grain:
        rho, tau = grain[:, 0, None, None], grain[:, 1, None, None]
        gaps = np.maximum(v[:, :, None] + v[:, None, :] - 2.0 * c, 0.0)
        tau2 = tau * tau
        return cls(rho * rho * np.exp(-0.5 * tau2 * gaps), gaps, tau2)

    def pulled(self, dK: Array) -> tuple[Array, Array]:
        """H, and the derivatives in log ρ and log τ."""
        weights = dK * self.K
        H = -0.5 * self.tau2 * weights
        size = 2.0 * weights.sum(axis=(1, 2))
        pitch = 2.0 * (H * self.gaps).sum(axis=(1, 2))
        return H, np.stack([size, pitch], axis=1)


def _array(tensor: Tensor) -> Array:
    values: Array = tensor.detach().numpy()
    return values
