"""Unknown coefficients of equations, with their uncertainty.

Notation: θ the coefficients, θ̂ of maximal evidence; the covariance is H⁻¹, H the second
derivatives of -log p(y | equations, θ) at θ̂, with all other hyper-parameters held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wideopt.methods.parameters import Parameters
from wideopt.surrogates.physics_model import PhysicsModel

__all__ = ["estimated_unknowns"]

Matrix: TypeAlias = "NDArray[np.float64]"

_STEP = 1e-3  # of second differences, as a share of the bounds


def estimated_unknowns(model: PhysicsModel) -> Parameters | None:
    """The estimates by the likeliest belief; None if no equation plays a part."""
    belief = model.likeliest.belief
    if belief.kind == "none":
        return None
    system, n = model.surrogate.system, model.train_X.shape[0]
    names = tuple(system.unknowns)
    widths = np.array([each.high - each.low for each in system.unknowns.values()])
    k = len(names)
    evidence = model.surrogate.evidence_of(model, belief)

    def value(step: Tensor) -> float:
        psi = belief.psi.clone()
        psi[-k:] += step
        return -evidence.log_joint(replace(belief, psi=psi))

    H = _second_differences(value, k)
    scale = float(model.standardization.scale[0])
    return Parameters(
        names=names,
        values=np.array([model.unknowns[name] for name in names]),
        covariance=widths[:, None] * _inverse(H) * widths,
        residual_sd=scale * float(model.likeliest.posterior.noise[0]) ** 0.5,
        n=n,
    )


def _second_differences(value: Callable[[Tensor], float], k: int) -> Matrix:
    eye = _STEP * torch.eye(k, dtype=torch.float64)
    H = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            corners = [
                a * b * value(a * eye[i] + b * eye[j])
                for a in (1.0, -1.0)
                for b in (1.0, -1.0)
            ]
            H[i, j] = sum(corners) / (4.0 * _STEP**2)
    return H


def _inverse(H: Matrix) -> Matrix:
    """H⁻¹; infinite where the data do not tell the coefficients."""
    if not np.isfinite(H).all() or np.linalg.eigvalsh(H)[0] <= 0:
        return np.diag(np.full(len(H), np.inf))
    return np.asarray(np.linalg.inv(H))
