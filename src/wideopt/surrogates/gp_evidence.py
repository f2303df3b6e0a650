"""The marginal likelihood of a GP with its gradient, as BoTorch's fit asks for it.

GPyTorch's lazy tensors and the derivative of a Cholesky factor take several times as
long as the formula (Rasmussen & Williams 2006, eq. 5.9), which is all this is.

Notation: A = K + s² I, K the correlations of n points, s² the noise; r = y - m,
α = A⁻¹ r; p the priors' log density of all hyper-parameters θ.

    loss = (½ r'α + ½ log det A + n/2 log 2π - p) / n
    ∂(½ r'α + ½ log det A) = ⟨½ (A⁻¹ - α α'), ∂A⟩ - α'1 ∂m
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.cholesky import psd_safe_cholesky
from torch import Tensor

from wideopt.numerics.stationary import Correlation, correlation

__all__ = ["EvidenceLoss"]


@dataclass(frozen=True)
class EvidenceLoss:
    """A closure of `fit_gpytorch_mll`: the loss and its gradients.

    Attributes:
        mll: of a GP with one output, a constant mean and a kernel of unit variance.
        kernel: that kernel.
    """

    mll: ExactMarginalLogLikelihood
    kernel: Correlation

    def __call__(self) -> tuple[Tensor, list[Tensor | None]]:
        """The loss at the present parameters; sets their gradients."""
        gp: Any = self.mll.model
        X, y = gp.train_inputs[0], gp.train_targets
        n = y.shape[0]
        parameters = [p for p in self.mll.parameters() if p.requires_grad]
        Z = X / gp.covar_module.lengthscale
        K = correlation(Z, Z, self.kernel)
        noise, mean = gp.likelihood.noise.reshape(()), gp.mean_module.constant
        with torch.no_grad():
            L = psd_safe_cholesky(K + noise * torch.eye(n).to(K))
            inverse = torch.cholesky_inverse(L)
            residual = y - mean
            alpha = inverse @ residual
            G = 0.5 * (inverse - alpha.outer(alpha))
            value = 0.5 * (residual @ alpha + n * math.log(2.0 * math.pi))
            value = value + L.diagonal().log().sum()
        prior = self._prior()
        slope = (G * K).sum() + G.trace() * noise - alpha.sum() * mean
        grads = torch.autograd.grad((slope - prior) / n, parameters, allow_unused=True)
        for parameter, grad in zip(parameters, grads, strict=True):
            parameter.grad = grad
        return (value - prior.detach()) / n, list(grads)

    def _prior(self) -> Tensor:
        gp: Any = self.mll.model  # of the mll itself, those of the noise come twice
        terms = [
            prior.log_prob(value(module)).sum()
            for _, module, prior, value, _ in gp.named_priors()
        ]
        return torch.stack(terms).sum()
