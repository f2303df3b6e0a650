"""A differentiable model as a pure function of its parameters and of the unit cube.

Paper: GO-UCB, section 3 (f_x(w): the same function with w as its variable).

Notation:
    w (p,)        trained parameters of a `torch.nn.Module`, flattened, in its own units
    θ (p,)        the same on a scale of 1: w = origin + scale · θ, θ within [low, high]
    u (d,)        a point of the unit cube; inputs(u) is what the module gets
    h_θ(u)        (f_w(inputs(u)) - shift) / spread, the standardized prediction
    b models at once, each with its own θ and n points

The module itself is never changed: it is called with other parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

__all__ = ["LinearSigmoidLinear", "Parametric", "flat_names", "flat_parameters"]


class LinearSigmoidLinear(nn.Module):
    """The paper's network: linear, sigmoid, linear, with biases."""

    def __init__(self, n_inputs: int, n_units: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(n_inputs, n_units, dtype=torch.float64)
        self.readout = nn.Linear(n_units, 1, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        """The values at the rows of x."""
        y: Tensor = self.readout(self.hidden(x).sigmoid()).squeeze(-1)
        return y

    def values(
        self, W: Float[Tensor, "b p"], X: Float[Tensor, "b n d"]
    ) -> Float[Tensor, "b n"]:
        """Values for b sets of weights, each at its own points."""
        s, v, c = self._units(W, X)
        return (s * v[:, None, :]).sum(-1) + c

    def _units(self, W: Tensor, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Hidden units (b, n, m), readout (b, m) and its bias (b, 1)."""
        m, d = self.hidden.weight.shape
        A, a, v, c = W.split([m * d, m, m, 1], dim=1)
        return (X @ A.reshape(-1, m, d).mT + a[:, None, :]).sigmoid(), v, c

    def jacobians(
        self, W: Float[Tensor, "b p"], X: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, "b n"], Float[Tensor, "b n p"]]:
        """Values and gradients for b sets of weights, in closed form: it is quicker."""
        s, v, c = self._units(W, X)
        h = (s * v[:, None, :]).sum(-1) + c
        inner = v[:, None, :] * s * (1 - s)
        outer = (inner[..., None] * X[:, None, :]).flatten(2)
        return h, torch.cat([outer, inner, s, torch.ones_like(s[..., :1])], dim=-1)


def flat_parameters(module: nn.Module) -> Float[Tensor, " p"]:
    """The trained parameters as one vector; those without a gradient stay fixed."""
    parts = [p.detach().flatten() for p in module.parameters() if p.requires_grad]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


def flat_names(module: nn.Module) -> list[str]:
    """A name for each entry of that vector: `k`, or `k[0]`, `k[1]`, ..."""
    names: list[str] = []
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        if parameter.numel() == 1:
            names.append(name)
            continue
        cells = torch.cartesian_prod(*(torch.arange(s) for s in parameter.shape))
        rows = cells.reshape(parameter.numel(), -1).tolist()
        names += [f"{name}[{','.join(map(str, row))}]" for row in rows]
    return names


@dataclass(frozen=True)
class Parametric:
    """h_θ(u), its gradient in θ, and the way back to the module's own units."""

    module: nn.Module
    inputs: Callable[[Tensor], Tensor]
    origin: Float[Tensor, " p"]
    scale: Float[Tensor, " p"]
    low: Float[Tensor, " p"]
    high: Float[Tensor, " p"]
    shift: float = 0.0
    spread: float = 1.0

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.origin.shape[0]

    def parameters(self, theta: Float[Tensor, "*b p"]) -> Float[Tensor, "*b p"]:
        """The parameters w, in the module's units and within their bounds."""
        return self.origin + self.scale * torch.clamp(theta, self.low, self.high)

    def one(self, theta: Tensor, U: Tensor) -> Tensor:
        """The values (n,) of one θ (p,) at points U (n, d)."""
        w = self.parameters(theta)
        trained = [p for p in self.module.named_parameters() if p[1].requires_grad]
        parts = w.split([p.numel() for _, p in trained])
        named = {
            name: part.reshape(p.shape)
            for (name, p), part in zip(trained, parts, strict=True)
        }
        y: Tensor = functional_call(self.module, named, (self.inputs(U),))
        return (y.reshape(U.shape[0]) - self.shift) / self.spread

    def _row(self, theta: Tensor, u: Tensor) -> Tensor:
        return self.one(theta, u.unsqueeze(0))[0]

    def values(
        self, Theta: Float[Tensor, "b p"], U: Float[Tensor, "b n d"]
    ) -> Float[Tensor, "b n"]:
        """The values of b models, each at its own points."""
        if isinstance(self.module, LinearSigmoidLinear):
            h = self.module.values(self.parameters(Theta), self.inputs(U))
            return (h - self.shift) / self.spread
        found: Tensor = vmap(self.one)(Theta, U)
        return found

    def at(
        self, theta: Float[Tensor, " p"], U: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, " n"], Float[Tensor, "n p"]]:
        """Values and gradients of one model; differentiable in U."""
        if isinstance(self.module, LinearSigmoidLinear):
            values, J = self.jacobians(theta[None, :], U)
            return values[0], J[0]
        G, h = vmap(grad_and_value(self._row), (None, 0))(theta, U)
        return h, G

    def jacobians(
        self, Theta: Float[Tensor, "b p"], U: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, "b n"], Float[Tensor, "b n p"]]:
        """Values and gradients of b models at the same points."""
        if isinstance(self.module, LinearSigmoidLinear):
            h, J = self.module.jacobians(self.parameters(Theta), self.inputs(U))
            return (h - self.shift) / self.spread, J * (self.scale / self.spread)
        by_row = vmap(grad_and_value(self._row), (None, 0))
        J, h = vmap(by_row, (0, None))(Theta.detach(), U.detach())
        return h.detach(), J.detach()
