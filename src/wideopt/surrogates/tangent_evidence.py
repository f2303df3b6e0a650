"""How the tangent surrogate learns: hyper-parameters and weights by evidence."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.evidence import EvidenceFit, fit_evidence, inflation
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.kernel import Kernel
from wideopt.numerics.network import Architecture, Weights
from wideopt.numerics.scales import Scales

__all__ = ["learned", "weighted"]

_BEND_GAIN = 4.0  # of log evidence that makes bent axes worthwhile,
_BEND_GAIN_EACH = 0.5  # and for each axis
_BEATEN = 30.0  # of log evidence behind another architecture
_PRUNED = 0.02  # a network with less weight than this is left out


def learned(
    architecture: Architecture,
    theta_0: Weights | None,
    data: tuple[Float[Tensor, "n d"], Float[Tensor, "o n"]],
    warm: list[Hyper],
    noise: float | None,
    *,
    bend_spread: float = 0.0,
    rival: Float[Tensor, " o"] | None = None,
) -> tuple[Hyper, Float[Tensor, " o"]]:
    """Hyper-parameters of maximal evidence, and that evidence.

    Climbed from `warm`, if there is any, else from several starts. Of the infinitely
    wide network, if θ_0 is None. A finite network starts where the infinite one ended,
    if that has a closed form: it is close, and its evidence is cheaper to climb. A
    `rival` is the evidence of another architecture: one that is far behind it is not
    climbed to the end.
    """
    X, targets = data
    d = X.shape[1]
    prior = _prior(architecture, noise, bend_spread)
    starts = [prior.fitting(h) for h in warm] or prior.starts(d, targets.shape[:-1])
    kernel: Kernel[Any]
    if architecture.phi.expectations is not None:
        kernel = InfiniteKernel(architecture, Scales.ones(d))
        best = fit_evidence(
            *(kernel, X, targets, starts, prior),
            is_held=_straight(starts),
            rival=rival,
        )
        if bend_spread > 0 and not warm and not _is_beaten(best, rival):
            best = _bent_if_worthwhile(kernel, data, best, prior)
        starts = _from_infinite(best.hyper, prior)
    if theta_0 is not None:
        kernel = TangentKernel.of(architecture, theta_0, Scales.ones(d))
        best = fit_evidence(
            *(kernel, X, targets, starts, prior),
            max_iterations=40,
            is_held=_straight(starts),
        )
    hyper = best.hyper.inflated(inflation(kernel, X, targets, best.hyper))
    return hyper, best.log_joint


def _is_beaten(fit: EvidenceFit, rival: Float[Tensor, " o"] | None) -> bool:
    """Whether every output is so far behind that bends would not help."""
    return rival is not None and bool((fit.log_joint < rival - _BEATEN).all())


def _straight(starts: list[Hyper]) -> Bool[Tensor, "o k"] | None:
    """Which hyper-parameters are bends of outputs whose axes are all straight."""
    hyper = starts[0]
    if hyper.bend is None:
        return None
    is_straight = (hyper.bend == 0).all(dim=-1, keepdim=True).expand_as(hyper.bend)
    is_held = torch.zeros_like(hyper.vector, dtype=torch.bool)
    d = hyper.bend.shape[-1]
    is_held[..., d : 2 * d] = is_straight
    return is_held


def _bent_if_worthwhile(
    kernel: Kernel[Any],
    data: tuple[Float[Tensor, "n d"], Float[Tensor, "o n"]],
    straight: EvidenceFit,
    prior: Prior,
) -> EvidenceFit:
    """Climb on with bends; outputs whose evidence gains too little stay as they are.

    A bend that data do not ask for only adds to what may be wrong.
    """
    X, targets = data
    bent = fit_evidence(kernel, X, targets, straight.hyper, prior)
    gain = bent.log_joint - straight.log_joint
    is_worth = gain > _BEND_GAIN + _BEND_GAIN_EACH * X.shape[1]
    return EvidenceFit(
        straight.hyper.merged(bent.hyper, is_worth),
        torch.where(is_worth, bent.log_joint, straight.log_joint),
        straight.n_iterations + bent.n_iterations,
    )


def weighted(members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Members with weights proportional to their evidence; negligible ones left out.

    A member may count for some outputs only.
    """
    evidence = torch.tensor([m["weights"] for m in members], dtype=torch.float64)
    weights = torch.softmax(evidence, dim=0)
    weights = torch.where(weights >= _PRUNED, weights, 0.0)
    weights = weights / weights.sum(dim=0)
    is_kept = weights.any(dim=1)
    return [
        {**m, "weights": w.tolist()}
        for m, w, kept in zip(members, weights, is_kept, strict=True)
        if kept
    ]


def _prior(
    architecture: Architecture, noise: float | None, bend_spread: float
) -> Prior:
    """Rough networks want larger input scales: relu kinks, erf bends."""
    scale = 1.7 if architecture.activation == "relu" else 0.85
    prior = Prior(input_scale=scale, bend_spread=bend_spread)
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
