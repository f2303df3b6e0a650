"""Infinite-width tangent kernels as GPyTorch kernels, for anybody's GP.

from botorch.models import SingleTaskGP
model = SingleTaskGP(X, Y, covar_module=NeuralTangentKernel(X.shape[-1]))
"""

from __future__ import annotations

import math
from typing import Any

import torch
from gpytorch.constraints import Positive
from gpytorch.kernels import Kernel
from gpytorch.priors import LogNormalPrior
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.scales import Scales

__all__ = ["NeuralTangentKernel"]


class NeuralTangentKernel(Kernel):
    """The tangent kernel of an infinitely wide network with a scale per input.

    Args:
        n_dims: number of inputs, which lie in the unit cube.
        activation: "erf", "relu" or "sin".
        depth: number of hidden layers.
    """

    has_lengthscale = False

    def __init__(
        self, n_dims: int, activation: str = "erf", depth: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.architecture = Architecture(depth=depth, activation=activation)
        shapes = {"input_scale": (1, n_dims), "bias_scale": (1, 1), "output_scale": ()}
        for name, shape in shapes.items():
            raw = torch.nn.Parameter(torch.zeros((*self.batch_shape, *shape)))
            self.register_parameter(f"raw_{name}", raw)
            self.register_constraint(f"raw_{name}", Positive())
        median = 1.0 / math.sqrt(n_dims)  # the more inputs, the less each one matters
        self.register_prior(
            "input_scale_prior",
            LogNormalPrior(math.log(2.0 * median), 1.0),
            lambda m: m.input_scale,
            lambda m, value: m.set_scale("input_scale", value),
        )
        self.set_scale("input_scale", torch.full((1, n_dims), median))

    def _scale(self, name: str) -> Tensor:
        raw = f"raw_{name}"
        scale: Tensor = getattr(self, f"{raw}_constraint").transform(getattr(self, raw))
        return scale

    def set_scale(self, name: str, value: Tensor) -> None:
        """Set input_scale, bias_scale or output_scale."""
        raw = f"raw_{name}"
        value = torch.as_tensor(value).to(getattr(self, raw))
        inverse = getattr(self, f"{raw}_constraint").inverse_transform(value)
        self.initialize(**{raw: inverse.expand(getattr(self, raw).shape)})

    @property
    def input_scale(self) -> Float[Tensor, "... 1 d"]:
        """One scale per input dimension."""
        return self._scale("input_scale")

    @property
    def bias_scale(self) -> Float[Tensor, "... 1 1"]:
        """Scale of the constant input."""
        return self._scale("bias_scale")

    @property
    def output_scale(self) -> Float[Tensor, "..."]:
        """Scale of the function."""
        return self._scale("output_scale")

    def forward(
        self,
        x1: Float[Tensor, "... q d"],
        x2: Float[Tensor, "... n d"],
        diag: bool = False,
        **params: Any,
    ) -> Tensor:
        """The kernel block, or its diagonal."""
        del params
        scales = Scales(
            self.input_scale.squeeze(-2).double(),
            self.bias_scale.squeeze(-1).squeeze(-1).double(),
            self.output_scale.double(),
        )
        kernel = InfiniteKernel(self.architecture, scales)
        if diag:
            return kernel.diag(x1)
        return kernel.block(x1, x2)
