"""Stationary correlations of plain tensors, which cost less than lazy ones.

Notation: r = ‖a - b‖ for rows a, b in units of the length scales.

    Matérn-5/2: k = (1 + √5 r + 5r²/3) exp(-√5 r),  h = -5/3 (1 + √5 r) exp(-√5 r)
    RBF: k = exp(-r²/2),  h = -k;                   ∇_a k = h(r) (a - b)
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

__all__ = ["Correlation", "correlation", "correlation_and_slope"]

Correlation = Literal["matern", "rbf"]

_ROOT_5 = math.sqrt(5.0)


def correlation(
    A: Float[Tensor, "... q d"], B: Float[Tensor, "... n d"], name: Correlation
) -> Float[Tensor, "... q n"]:
    """The correlations between scaled points, with gradients."""
    # Differences, not products: close points keep all digits of their distance.
    r = torch.cdist(A, B, compute_mode="donot_use_mm_for_euclid_dist")
    if name == "rbf":
        return (-0.5 * r.square()).exp()
    t = _ROOT_5 * r
    return (1.0 + t + t.square() / 3.0) * (-t).exp()


def correlation_and_slope(
    r: Float[ndarray, "*s"], name: Correlation
) -> tuple[Float[ndarray, "*s"], Float[ndarray, "*s"]]:
    """Return k and h at distances r."""
    if name == "rbf":
        k = np.exp(-0.5 * r * r)
        return k, -k
    t = _ROOT_5 * r
    e = np.exp(-t)
    return (1.0 + t + t * t / 3.0) * e, -5.0 / 3.0 * (1.0 + t) * e
