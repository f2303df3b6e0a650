"""Which scale of the objective suits a smooth function: the evidence of `data.warp`.

Snelson, Rasmussen and Ghahramani (2004): values on the scale w are a Gaussian process,
so the evidence of w is that of w(y), times the slopes of w. Here the process is that of
a wide network, and what multiplies its kernel is found in closed form:

    log p(w | K) = -n/2 log(wᵀ A⁻¹ w / n) - ½ log det A,   A = K + λI, w centered

K is what was learned last, or typical; the one that suits best counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.warp import Judge
from wideopt.numerics.evidence import subsample
from wideopt.numerics.factor import Factor
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.surrogates.tangent import Tangent

__all__ = ["judge_of"]

_N_MAX = 300  # rows that stand for all
_LITTLE = math.log(1e-5)  # noise of a typical kernel, beside the prior's own
_SMOOTH = Architecture(depth=1, width=2, activation="erf")
_LEAST = 1e-300  # of a variance, whose logarithm is taken


def judge_of(surrogate: Tangent, hyper: dict[str, Any] | None) -> Judge:
    """The judge that knows the surrogate's last hyper-parameters, if any."""

    def judge(X: Float[Tensor, "n d"], W: Float[Tensor, "m n"]) -> Tensor:
        rows = subsample(len(X), _N_MAX)
        share = len(X) / len(rows)
        found = [
            share * _evidence(architecture, each, X[rows], W[:, rows])
            for architecture, each in _kernels(surrogate, hyper, X.shape[1])
        ]
        return torch.stack(found).max(dim=0).values

    return judge


def _kernels(
    surrogate: Tangent, hyper: dict[str, Any] | None, d: int
) -> Iterator[tuple[Architecture, Hyper]]:
    typical = Prior().typical(d)
    yield _SMOOTH, typical
    yield _SMOOTH, replace(typical, log_noise=typical.log_noise.new_tensor(_LITTLE))
    if hyper is None or math.isfinite(surrogate.width):
        return
    architectures = surrogate.architectures()
    for member in hyper["runs"][0]["members"]:
        if member["weights"][0] > 0:
            learned = Hyper.from_json(member["hyper"])
            yield architectures[member["index"]], learned.selected(0)


def _evidence(
    architecture: Architecture,
    hyper: Hyper,
    X: Float[Tensor, "n d"],
    W: Float[Tensor, "m n"],
) -> Float[Tensor, " m"]:
    kernel = InfiniteKernel(architecture, hyper.scales)
    factor = Factor.of(kernel.block(X, X), hyper.noise)
    Z = W - W.mean(dim=1, keepdim=True)
    n = Z.shape[1]
    variance = (factor.solve(Z) * Z).sum(dim=1) / n
    return -0.5 * n * variance.clamp_min(_LEAST).log() - 0.5 * factor.logdet
