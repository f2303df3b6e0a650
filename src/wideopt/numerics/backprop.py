"""Value and gradient of the regression objective, written out layer by layer.

What autograd gives, without its graph: most steps of training are too small to hide the
cost of building one.

Notation (see `network`, `regression`):
    r_i = o·h(z_i; θ) - y_i,  D_L = o r W_{L+1} ∘ φ'_L,  D_l = (D_{l+1} W_{l+1}) ∘ φ'_l
    ∂J/∂W_l = D_lᵀ H_{l-1} + ρ (W_l - W_l0),   ∂J/∂W_{L+1} = o rᵀ H_L + ρ (...)
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.regression import Regression

__all__ = ["value_and_gradient"]


def value_and_gradient(
    problem: Regression, theta: Float[Tensor, "B p"]
) -> tuple[Float[Tensor, " B"], Float[Tensor, "B p"]]:
    """Return J(θ) and its gradient for every output, as `Regression.gradient` does."""
    with torch.no_grad():
        weights = problem.weights(theta)
        inputs, slopes = _forward(problem, weights)
        h = (inputs[-1] @ weights[-1].mT).squeeze(-1)
        r = torch.where(problem.is_seen, problem.output[:, None] * h - problem.Y, 0.0)
        D = (problem.output[:, None] * r).unsqueeze(-1)
        parts = [D.mT @ inputs[-1]] if problem.architecture.readout == "trained" else []
        D = D * weights[-1]
        for i in range(len(slopes) - 1, -1, -1):
            D = D * slopes[i]
            parts.append(D.mT @ inputs[i])
            if i > 0:
                D = D @ weights[i]
        slope = torch.cat([part.flatten(1) for part in reversed(parts)], dim=-1)
        gap = theta - problem.theta_0
        pull = 0.5 * problem.ridge * gap.square().sum(-1)
        loss = 0.5 * r.square().sum(-1) + pull
        return loss, torch.addcmul(slope, gap, problem.ridge[:, None])


def _forward(
    problem: Regression, weights: tuple[Tensor, ...]
) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs of every layer, and slopes of every hidden one."""
    phi, c = problem.architecture.phi, problem.architecture.layer_scale
    inputs, slopes = [problem.Z], []
    for W in weights[:-1]:
        z = inputs[-1] @ W.mT
        inputs.append(c * phi.phi(z))
        # The slope of relu is its sign, ten times quicker in torch than z > 0.
        is_relu = problem.architecture.activation == "relu"
        slopes.append(c * (inputs[-1].sign() if is_relu else phi.dphi(z)))
    return inputs, slopes
