"""How the tangent surrogate learns: hyper-parameters and weights by evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wideopt.numerics.additive import AdditiveKernel
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.evidence import EvidenceFit, fit_evidence, inflation
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.kernel import Kernel
from wideopt.numerics.network import Architecture, Weights
from wideopt.numerics.scales import Scales

__all__ = ["closed_form", "learned", "weighted"]

_BEND_GAIN = 4.0  # of log evidence that makes bent axes worthwhile,
_BEND_GAIN_EACH = 0.5  # and for each axis
_GRAIN_GAIN = 4.0  # and that makes a grain worthwhile
_GRAIN_SIZE = 0.5  # at which a climb to one starts
_CLEAR = math.log(1e-6)  # of the variance of an output, left as noise
_CURVES_BAR = 3.0  # of log evidence that a sum of curves must gain on other networks
_CURVES_MOST = 0.5  # of all weight that it may have
_BEATEN = 30.0  # of log evidence behind another architecture
_PRUNED = 0.02  # a network with less weight than this is left out


def closed_form(architecture: Architecture, scales: Scales) -> Kernel[Any]:
    """The kernel of a network of infinite width, or of one input for each unit."""
    if architecture.is_additive:
        return AdditiveKernel(scales)
    return InfiniteKernel(architecture, scales)


def learned(
    architecture: Architecture,
    theta_0: Weights | None,
    data: tuple[Float[Tensor, "n d"], Float[Tensor, "o n"]],
    warm: list[Hyper],
    noise: float | None,
    *,
    bend_spread: float = 0.0,
    has_grain: bool = False,
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
    prior = _prior(architecture, d, noise, bend_spread, has_grain=has_grain)
    starts = [prior.fitting(h) for h in warm] or prior.starts(d, targets.shape[:-1])
    kernel: Kernel[Any]
    if architecture.phi.expectations is not None:
        kernel = closed_form(architecture, Scales.ones(d))
        best = fit_evidence(
            *(kernel, X, targets, starts, prior),
            is_held=_absent(starts[0]),
            rival=rival,
        )
        if not warm and not _is_beaten(best, rival):
            best = _with_more(kernel, data, best, prior)
        starts = _from_infinite(best.hyper, prior)
    if theta_0 is not None:
        kernel = TangentKernel.of(architecture, theta_0, Scales.ones(d))
        best = fit_evidence(
            *(kernel, X, targets, starts, prior),
            max_iterations=40,
            is_held=_absent(starts[0]),
        )
    if architecture.is_additive:  # beforehand, a sum is less likely than not
        best = replace(best, log_joint=best.log_joint - _CURVES_BAR)
    hyper = best.hyper.inflated(inflation(kernel, X, targets, best.hyper))
    if not bool(hyper.is_grainy.any()):  # then kernels cost less without
        hyper = replace(hyper, grain=None)
    return hyper, best.log_joint


def _is_beaten(fit: EvidenceFit, rival: Float[Tensor, " o"] | None) -> bool:
    """Whether every output is so far behind that bends would not help."""
    return rival is not None and bool((fit.log_joint < rival - _BEATEN).all())


def _absent(
    hyper: Hyper, *, bends: bool = True, grain: bool = True
) -> Bool[Tensor, "o k"] | None:
    """Which hyper-parameters are bends of straight outputs, or grain of smooth ones.

    With `bends` or `grain` false, these are free in all outputs.
    """
    if hyper.bend is None and hyper.grain is None:
        return None
    is_held = torch.zeros_like(hyper.vector, dtype=torch.bool)
    d = hyper.log_input.shape[-1]
    if bends and hyper.bend is not None:
        is_straight = (hyper.bend == 0).all(dim=-1, keepdim=True)
        is_held[..., d : 2 * d] = is_straight.expand_as(hyper.bend)
    if grain and hyper.grain is not None:
        is_held[..., -5:-3] = ~hyper.is_grainy.unsqueeze(-1)
    return is_held


def _with_more(
    kernel: Kernel[Any],
    data: tuple[Float[Tensor, "n d"], Float[Tensor, "o n"]],
    plain: EvidenceFit,
    prior: Prior,
) -> EvidenceFit:
    """Climb on with bends, then with a grain, where the evidence gains enough.

    What data do not ask for only adds to what may be wrong.
    """
    X, targets = data
    best = plain
    if prior.bend_spread > 0:
        is_held = _absent(best.hyper, bends=False)
        bent = fit_evidence(kernel, X, targets, best.hyper, prior, is_held=is_held)
        best = _better(best, bent, _BEND_GAIN + _BEND_GAIN_EACH * X.shape[1])
    is_clear = _is_clear(best.hyper)
    if prior.has_grain and not bool(is_clear.all()):
        is_held = _absent(best.hyper, grain=False)
        pitches = prior.grain_pitch / 3.0, prior.grain_pitch * 3.0
        starts = [_grained(best.hyper, (_GRAIN_SIZE, pitch)) for pitch in pitches]
        grained = fit_evidence(kernel, X, targets, starts, prior, is_held=is_held)
        gain = torch.where(is_clear, torch.inf, _GRAIN_GAIN)
        best = _better(best, grained, gain)
    return best


def _is_clear(hyper: Hyper) -> Bool[Tensor, " o"]:
    """Which outputs are smooth and explained to the last digits: they have no grain.

    There the evidence is a matter of rounding, and a grain may gain by chance.
    """
    is_smooth = (hyper.log_input <= 0.0).all(dim=-1)
    return is_smooth & (hyper.log_noise < _CLEAR)


def _grained(hyper: Hyper, start: tuple[float, float]) -> Hyper:
    assert hyper.grain is not None
    size, pitch = (math.log(value) for value in start)
    grain = hyper.grain.new_tensor([size, pitch]).expand_as(hyper.grain)
    return replace(hyper, grain=grain)


def _better(
    plain: EvidenceFit, more: EvidenceFit, bar: float | Float[Tensor, " o"]
) -> EvidenceFit:
    """Return each output with more, if that gains as much as the bar, or as it was."""
    is_worth = more.log_joint - plain.log_joint > bar
    return EvidenceFit(
        plain.hyper.merged(more.hyper, is_worth),
        torch.where(is_worth, more.log_joint, plain.log_joint),
        plain.n_iterations + more.n_iterations,
    )


def weighted(
    members: list[dict[str, Any]], curves: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Members with weights proportional to their evidence; negligible ones left out.

    A member may count for some outputs only. Those whose index is among `curves` count
    for half at most: a function that is nearly a sum has the evidence of a sum, while
    its minimum may lie elsewhere.
    """
    evidence = torch.tensor([m["weights"] for m in members], dtype=torch.float64)
    weights = torch.softmax(evidence, dim=0)
    is_sum = torch.tensor([m["index"] in curves for m in members])
    if bool(is_sum.any()) and not bool(is_sum.all()):
        share = weights[is_sum].sum(dim=0).clamp_max(_CURVES_MOST)
        others = torch.softmax(evidence[~is_sum], dim=0)
        weights[~is_sum] = (1.0 - share) * others
        weights[is_sum] = share * torch.softmax(evidence[is_sum], dim=0)
    weights = torch.where(weights >= _PRUNED, weights, 0.0)
    weights = weights / weights.sum(dim=0)
    is_kept = weights.any(dim=1)
    return [
        {**m, "weights": w.tolist()}
        for m, w, kept in zip(members, weights, is_kept, strict=True)
        if kept
    ]


def _prior(
    architecture: Architecture,
    d: int,
    noise: float | None,
    bend_spread: float,
    *,
    has_grain: bool,
) -> Prior:
    """Rough networks want larger input scales: relu kinks, erf bends.

    A sum of curves has the same scales in any number of dimensions.
    """
    is_rough = architecture.activation == "relu"  # it needs no grain
    scale = 1.7 if is_rough else 0.85
    prior = Prior(
        input_scale=scale, bend_spread=bend_spread, has_grain=has_grain and not is_rough
    )
    if architecture.is_additive:
        scale = 2.0 * math.sqrt(d)
        prior = replace(prior, input_scale=scale, grain_pitch=1.0, min_pitch=0.03)
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
