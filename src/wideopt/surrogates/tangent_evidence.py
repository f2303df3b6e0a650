"""How the tangent surrogate learns: hyper-parameters and weights by evidence."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.evidence import fit_evidence, inflation
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.kernel import Kernel
from wideopt.numerics.network import Architecture, Weights
from wideopt.numerics.scales import Scales

__all__ = ["learned", "weighted"]

_PRUNED = 0.02  # a network with less weight than this for every output is left out


def learned(
    architecture: Architecture,
    theta_0: Weights | None,
    data: tuple[Float[Tensor, "n d"], Float[Tensor, "o n"]],
    warm: list[Hyper],
    noise: float | None,
) -> tuple[Hyper, Float[Tensor, " o"]]:
    """Hyper-parameters of maximal evidence, and that evidence.

    Climbed from `warm`, if there is any, else from several starts. Of the infinitely
    wide network, if θ_0 is None. A finite network starts where the infinite one ended,
    if that has a closed form: it is close, and its evidence is cheaper to climb.
    """
    X, targets = data
    d = X.shape[1]
    prior = _prior(architecture, noise)
    starts = warm or prior.starts(d, targets.shape[:-1])
    kernel: Kernel[Any]
    if architecture.phi.expectations is not None:
        kernel = InfiniteKernel(architecture, Scales.ones(d))
        best = fit_evidence(kernel, X, targets, starts, prior)
        starts = _from_infinite(best.hyper, prior)
    if theta_0 is not None:
        kernel = TangentKernel.of(architecture, theta_0, Scales.ones(d))
        best = fit_evidence(kernel, X, targets, starts, prior, max_iterations=40)
    hyper = best.hyper.inflated(inflation(kernel, X, targets, best.hyper))
    return hyper, best.log_joint


def weighted(members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Members with weights proportional to their evidence; negligible ones left out."""
    evidence = torch.tensor([m["weights"] for m in members], dtype=torch.float64)
    weights = torch.softmax(evidence, dim=0)
    is_kept = (weights >= _PRUNED).any(dim=1)
    weights = weights * is_kept.unsqueeze(1)
    weights = weights / weights.sum(dim=0)
    return [
        {**m, "weights": w.tolist()}
        for m, w, kept in zip(members, weights, is_kept, strict=True)
        if kept
    ]


def _prior(architecture: Architecture, noise: float | None) -> Prior:
    """Rough networks want larger input scales: relu kinks, erf bends."""
    prior = Prior(input_scale=1.7 if architecture.activation == "relu" else 0.85)
    if noise is None:
        return prior
    level = max(noise, prior.min_noise)
    return replace(
        prior, noise=level, noise_spread=1e-6, min_noise=level, max_noise=level
    )


def _from_infinite(hyper: Hyper, prior: Prior) -> list[Hyper]:
    """Starts for a finite network: a random kernel is rougher, so noise may help."""
    ceiling = math.log(prior.max_noise)
    raised = (hyper.log_noise + 3.0).clamp_max(ceiling)
    return [hyper, replace(hyper, log_noise=raised)]
