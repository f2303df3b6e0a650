"""Least-squares estimates of a user's parameters, with their covariance.

Notation: as in `parameters`: ŵ = argmin Σ (f_w(x_i) - y_i)², C = σ̂² (JᵀJ)⁻¹, here
without the ridge that keeps the method's own fit in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.methods.go_ucb_fit import Output, standardized, targets
from wideopt.methods.parameters import Parameters
from wideopt.numerics.levenberg_marquardt import solve
from wideopt.numerics.parametric import flat_names

__all__ = ["estimated"]


def estimated(output: Output, data: Dataset, form: dict[str, Any]) -> Parameters:
    """The estimate from all rows, started from that of the last fit."""
    model = standardized(output, form)
    is_seen = ~output.values.isnan()
    U, z = data.X[is_seen], targets(output, form)[is_seen]

    def residuals(theta: Tensor) -> tuple[Tensor, Tensor]:
        h, J = model.jacobians(theta, U)
        return h - z, J

    start = U.new_tensor(form["theta"])[None, :]
    # with fewer rows than parameters, the solution nearest to the initial guess
    ridge = 0.0 if len(z) > model.p else 1e-8
    found = solve(residuals, start, ridge=ridge, bounds=(model.low, model.high))
    theta = found.theta[0]
    r, J = residuals(theta[None, :])
    dof = len(z) - model.p
    variance = float(r.square().sum()) / dof if dof > 0 else np.inf
    C = variance * _inverse(J[0].cpu().numpy()) if dof > 0 else _infinite(model.p)
    scale = model.scale.cpu().numpy()
    return Parameters(
        names=tuple(flat_names(model.module)),
        values=model.parameters(theta).detach().cpu().numpy(),
        covariance=scale[:, None] * C * scale,
        residual_sd=abs(model.spread) * float(np.sqrt(variance)),
        n=len(z),
    )


def _inverse(J: NDArray[np.float64]) -> NDArray[np.float64]:
    """(JᵀJ)⁻¹ by the singular values of J; infinite if J has not full rank."""
    if not np.isfinite(J).all():
        return _infinite(J.shape[1])
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    if s[-1] <= 1e-12 * s[0]:
        return _infinite(J.shape[1])
    half = Vt.T / s
    return np.asarray(half @ half.T)


def _infinite(p: int) -> NDArray[np.float64]:
    return np.diag(np.full(p, np.inf))
