"""Which scale of the objective suits a smooth function: the evidence of `data.warp`.

Snelson, Rasmussen and Ghahramani (2004): values on the scale w are a Gaussian process,
so the evidence of w is that of w(y), times the slopes of w. Here the process is that of
a wide network of bowls and steps, whose hyper-parameters are learned for every scale
that is compared: with those of one scale, all others would look worse than they are.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.evidence import fit_evidence, subsample
from wideopt.numerics.hyper import Prior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.scales import Scales

__all__ = ["scale_evidence"]

_N_MAX = 150  # rows that stand for all
_N_STEPS = 15  # of learning: the order of scales shows early
_SMOOTH = Architecture(depth=1, width=2, activation="bowl")
_LEAST = 1e-300  # of a deviation, whose logarithm is taken


def scale_evidence(
    X: Float[Tensor, "n d"], W: Float[Tensor, "m n"]
) -> Float[Tensor, " m"]:
    """Log evidence of the values in each row, as those of a smooth function."""
    n, d = X.shape
    rows = subsample(n, _N_MAX)
    W = W[:, rows]
    sd = W.std(dim=1, correction=0, keepdim=True).clamp_min(_LEAST)
    Z = (W - W.mean(dim=1, keepdim=True)) / sd
    prior = Prior()
    kernel = InfiniteKernel(_SMOOTH, Scales.ones(d))
    start = prior.typical(d, Z.shape[:1])
    with torch.enable_grad():
        fit = fit_evidence(kernel, X[rows], Z, start, prior, max_iterations=_N_STEPS)
    share = n / len(rows)
    return share * (fit.log_joint - len(rows) * sd.squeeze(1).log())
