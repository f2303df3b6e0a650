"""Fit the posterior of a function in the smaller of two exact forms.

Papers: NeuralBO Alg. 1, Neural-CBO eq. 3-4: σ² = λ gᵀU⁻¹g with U = λI + GᵀG is
k_xx - k_xᵀ(K + λI)⁻¹k_x with K = GGᵀ.

Notation:
    X (..., n, d), Y (..., n) data; λ (...) noise variance; p number of features

λ is raised to a floor of 2e-10 times the prior variance at a corner of the cube. The
floor depends on the kernel alone, so that a grown posterior equals a fresh one.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.conditioning import ConditionedPosterior, Posterior
from wideopt.numerics.dual import DualPosterior
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.kernel import Kernel
from wideopt.numerics.primal import PrimalPosterior
from wideopt.numerics.scales import require_float64

__all__ = [
    "ConditionedPosterior",
    "DualPosterior",
    "Form",
    "Posterior",
    "PrimalPosterior",
    "fit_posterior",
    "noise_floor",
]

Form = Literal["auto", "dual", "primal"]
_FLOOR = 2e-10  # above the level at which `Factor` adds jitter of its own


def fit_posterior(
    kernel: Kernel[Any],
    X: Float[Tensor, "... n d"],
    Y: Float[Tensor, "... n"],
    noise: Float[Tensor, "..."],
    form: Form = "auto",
) -> DualPosterior | PrimalPosterior:
    """Return the posterior of the function given data with noise variance `noise`.

    "auto" is dual while n <= p and primal beyond, also as the posterior grows. Both
    give the same numbers.
    """
    _check(kernel, X, Y, noise, form)
    noise = torch.maximum(noise, noise_floor(kernel))
    if not isinstance(kernel, TangentKernel):
        return DualPosterior.of(kernel, X, Y, noise)
    if form == "primal" or (form == "auto" and Y.shape[-1] > kernel.n_features):
        return PrimalPosterior.of(kernel, X, Y, noise)
    return DualPosterior.of(kernel, X, Y, noise, is_switching=form == "auto")


def noise_floor(kernel: Kernel[Any]) -> Float[Tensor, "..."]:
    """Return the smallest noise variance that the linear algebra can work with."""
    corner = torch.ones_like(kernel.scales.input[..., None, :])
    return _FLOOR * kernel.diag(corner).squeeze(-1).detach()


def _check(kernel: Kernel[Any], X: Tensor, Y: Tensor, noise: Tensor, form: str) -> None:
    require_float64(X=X, Y=Y, noise=noise)
    if form not in get_args(Form):
        raise InputError(f"form is {form!r}; choose one of {get_args(Form)}.")
    if form == "primal" and not isinstance(kernel, TangentKernel):
        raise InputError(
            "form is 'primal', but a kernel of infinite width has no features: "
            "use 'dual' or 'auto'."
        )
    if X.ndim < 2 or Y.ndim < 1 or X.shape[-2] != Y.shape[-1] or Y.shape[-1] < 1:
        raise InputError(
            f"X has shape {tuple(X.shape)} and Y {tuple(Y.shape)}; expected "
            "(..., n, d) and (..., n) with the same n >= 1."
        )
    _check_values(X, Y, noise)


def _check_values(X: Tensor, Y: Tensor, noise: Tensor) -> None:
    for name, values in {"X": X, "Y": Y, "noise": noise}.items():
        if not torch.isfinite(values).all():
            raise InputError(f"{name} holds a NaN or an infinity; drop such rows.")
    if (noise < 0).any():
        raise InputError(f"noise is {noise.min().item()}; a variance is not negative.")
