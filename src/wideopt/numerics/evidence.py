"""Hyper-parameters by maximum marginal likelihood with log-normal priors.

Sources: Rasmussen & Williams 2006 eq. 5.8-5.9; Hvarfner et al. 2024 (a prior on input
scales that shrinks with √d keeps high-dimensional models from being too rough).

Notation:
    ψ   logarithms of scales and noise, and bends (see `hyper`)
    -log p(y, ψ) = ½ yᵀα + ½ log det(K + λI) + n/2 log 2π + ½ (ψ - μ)ᵀP(ψ - μ)
    ∂/∂K = ½((K + λI)⁻¹ - ααᵀ), pulled back through the kernel `by_hand` or by autograd

Outputs are taken to be standardized, inputs to lie in the unit cube. All outputs and
restarts are one batch of independent problems (`lbfgs`). With more than `n_max` rows,
n_max of them, evenly spaced in the order of observation, stand for all: the first and
the last are among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.by_hand import ByHand, PullBack
from wideopt.numerics.factor import Factor
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.kernel import Kernel
from wideopt.numerics.lbfgs import minimize_each
from wideopt.numerics.scales import require_float64

__all__ = ["EvidenceFit", "fit_evidence", "inflation", "log_joint", "subsample"]

_NUGGET = 2e-12  # of the mean of K's diagonal, as in `posterior`
_N_HEAT = 10  # steps that every start may climb before the best is chosen
_HOPELESS = 20.0  # behind in log evidence after that many steps: it will not catch up
_HOPELESS_EACH = 0.5  # and for each row
_CAUTION = 10  # pseudo-observations that say the model is calibrated


@dataclass(frozen=True)
class EvidenceFit:
    """Fitted hyper-parameters, the log joint density reached, iterations made."""

    hyper: Hyper
    log_joint: Float[Tensor, "..."]
    n_iterations: Int[Tensor, "..."]


def fit_evidence(
    kernel: Kernel[Any],
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "... n"],
    start: Hyper | Sequence[Hyper],
    prior: Prior | None = None,
    *,
    n_restarts: int = 0,
    generator: torch.Generator | None = None,
    max_iterations: int = 100,
    n_max: int = 500,
    is_held: Bool[Tensor, "... k"] | None = None,
    rival: Float[Tensor, "..."] | None = None,
) -> EvidenceFit:
    """Maximize log p(Y, ψ) for every output, from every start, and keep the best.

    All starts climb for a few steps; the best of each output then goes on. `kernel`
    gives the architecture (and weights); its own scales are ignored. The result is
    never worse than any start. Further restarts are drawn from the prior with
    `generator`. What is held stays where it starts. Where after these first steps every
    output is hopelessly behind the evidence of a rival, the climb ends there.
    """
    prior = Prior() if prior is None else prior
    _check(X, Y, n_restarts, generator)
    batch, d = Y.shape[:-1], X.shape[-1]
    rows = subsample(X.shape[-2], n_max)
    given = [start] if isinstance(start, Hyper) else start
    k = prior.n_hyper(d)
    starts = [g.vector.expand(*batch, k).reshape(-1, k) for g in given]
    n_outputs = len(starts[0])
    starts += _random_starts(prior, d, n_outputs, n_restarts, generator)
    problem = _Problem.of(kernel, X[rows].detach(), Y[..., rows].detach(), prior)
    if is_held is not None:
        problem = replace(problem, is_held=is_held.expand(*batch, k).reshape(-1, k))
    box = prior.bounds(d)
    n_first = min(_N_HEAT, max_iterations)
    heat = minimize_each(problem, torch.cat(starts), bounds=box, max_iterations=n_first)
    winner = heat.f.reshape(len(starts), n_outputs).argmin(0)
    picked = winner * n_outputs + torch.arange(n_outputs)
    if rival is not None and _is_hopeless(-heat.f[picked], rival, len(rows)):
        max_iterations = n_first
    best = minimize_each(
        problem, heat.x[picked], bounds=box, max_iterations=max_iterations - n_first
    )
    return EvidenceFit(
        prior.hyper(best.x.reshape(*batch, k), d),
        -best.f.reshape(batch),
        (heat.n_iterations[picked] + best.n_iterations).reshape(batch),
    )


def _is_hopeless(
    reached: Float[Tensor, " o"], rival: Float[Tensor, "..."], n: int
) -> bool:
    margin = _HOPELESS + _HOPELESS_EACH * n
    return bool((reached < rival.reshape(-1) - margin).all())


def log_joint(
    kernel: Kernel[Any],
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "... n"],
    hyper: Hyper,
    prior: Prior | None = None,
) -> Float[Tensor, "..."]:
    """Return log p(Y, ψ) of every output at given hyper-parameters."""
    prior = Prior() if prior is None else prior
    psi = hyper.vector.expand(*Y.shape[:-1], prior.n_hyper(X.shape[-1]))
    problem = _Problem.of(kernel, X, Y, prior)
    flat = psi.reshape(-1, psi.shape[-1])
    f, _ = problem(flat, torch.arange(len(flat)))
    return -f.reshape(Y.shape[:-1])


def inflation(
    kernel: Kernel[Any],
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "... n"],
    hyper: Hyper,
    n_max: int = 500,
) -> Float[Tensor, "..."]:
    """Return the factor >= 1 by which variances must grow to match left-out points.

    From leave-one-out residuals r_i = α_i / [A⁻¹]_ii with variance 1 / [A⁻¹]_ii,
    A = K + λI (Rasmussen & Williams 2006 eq. 5.12): the mean of r²/variance, shrunk
    towards 1. It never falls below 1, since hyper-parameters fitted to all the points
    flatter the left-out ones.
    """
    rows = subsample(X.shape[-2], n_max)
    scaled = kernel.rescaled(hyper.scales)
    side = scaled.represent(X[rows])
    factor = Factor.of(scaled.block_from(side, side), hyper.noise)
    alpha = factor.solve(Y[..., rows])
    precision = torch.cholesky_inverse(factor.L).diagonal(dim1=-2, dim2=-1)
    z2 = alpha.square() / precision
    n = len(rows)
    return ((z2.sum(-1) + _CAUTION) / (n + _CAUTION)).clamp_min(1.0)


@dataclass(frozen=True)
class _Problem:
    """ψ -> -log p(y, ψ) and its gradient, for rows of a batch; restarts wrap around."""

    kernel: Kernel[Any]
    X: Float[Tensor, "n d"]
    Y: Float[Tensor, "o n"]
    prior: Prior
    center: Float[Tensor, " k"]
    precision: Float[Tensor, "k k"]
    by_hand: ByHand | None
    is_held: Bool[Tensor, "o k"] | None = None

    @classmethod
    def of(cls, kernel: Kernel[Any], X: Tensor, Y: Tensor, prior: Prior) -> _Problem:
        d = X.shape[-1]
        flat = Y.reshape(-1, Y.shape[-1])
        precision = torch.linalg.inv(prior.covariance(d))
        center = prior.center(d).to(X)
        by_hand = ByHand.of(kernel, X)
        return cls(kernel, X, flat, prior, center, precision.to(X), by_hand)

    def __call__(
        self, psi: Float[Tensor, "r k"], index: Int[Tensor, " r"]
    ) -> tuple[Float[Tensor, " r"], Float[Tensor, "r k"]]:
        rows = index % len(self.Y)
        psi = psi.detach()
        K, pull = self._kernel_at(psi, rows)
        noise = psi[:, -1].exp()
        f, dK = _evidence(K, self.Y[rows], noise)
        grad = pull(dK)
        noise = dK.diagonal(dim1=-2, dim2=-1).sum(-1) * noise
        z = psi - self.center
        if self.is_held is not None:  # there is no such hyper-parameter
            z = z.masked_fill(self.is_held[rows], 0.0)
        Pz = z @ self.precision
        grad = grad + Pz
        grad[:, -1] += noise
        if self.is_held is not None:  # without a slope, no step goes there
            grad = grad.masked_fill(self.is_held[rows], 0.0)
        return f + 0.5 * (z * Pz).sum(-1), grad

    def _kernel_at(
        self, psi: Float[Tensor, "r k"], rows: Int[Tensor, " r"]
    ) -> tuple[Float[Tensor, "r n n"], PullBack]:
        """K, and what turns a derivative by K into one by ψ."""
        d = self.X.shape[-1]
        if self.by_hand is not None:
            return self.by_hand(self.prior.hyper(psi, d))
        with torch.enable_grad():
            psi = psi.requires_grad_()
            scales = self.prior.hyper(psi, d).scales
            kernel = self.kernel.rescaled(scales, rows)
            side = kernel.represent(self.X)
            K = kernel.block_from(side, side)
        return K.detach(), lambda dK: torch.autograd.grad(K, psi, dK)[0]


def _evidence(
    K: Float[Tensor, "r n n"], Y: Float[Tensor, "r n"], noise: Float[Tensor, " r"]
) -> tuple[Float[Tensor, " r"], Float[Tensor, "r n n"]]:
    """Return -log p(y) and its derivative in K; infinite where K is not finite.

    A nugget proportional to tr K keeps f smooth where noise is below rounding level:
    jitter chosen by `Factor` would make it jump, and line searches fail.
    """
    is_good = torch.isfinite(K).all(-1).all(-1)
    eye = torch.eye(K.shape[-1], dtype=K.dtype, device=K.device)
    K = torch.where(is_good[:, None, None], K, eye)
    mean = K.diagonal(dim1=-2, dim2=-1).mean(-1)
    factor = Factor.of(K, noise + _NUGGET * mean)
    alpha = factor.solve(Y)
    fit = (Y * alpha).sum(-1) + factor.logdet + Y.shape[-1] * math.log(2 * math.pi)
    inverse = torch.cholesky_inverse(factor.L)
    dK = 0.5 * torch.baddbmm(
        inverse, alpha.unsqueeze(-1), alpha.unsqueeze(-2), alpha=-1.0
    )
    trace = dK.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    return torch.where(is_good, 0.5 * fit, torch.inf), dK + _NUGGET * trace * eye


def subsample(n: int, n_max: int) -> Int[Tensor, " r"]:
    """Return n_max of n rows, evenly spaced; all of them, if there are no more."""
    if n <= n_max:
        return torch.arange(n)
    return torch.linspace(0, n - 1, n_max, dtype=torch.float64).round().long()


def _random_starts(
    prior: Prior,
    d: int,
    n_outputs: int,
    n_restarts: int,
    generator: torch.Generator | None,
) -> list[Float[Tensor, "o k"]]:
    shape = (n_outputs, prior.n_hyper(d))
    return [
        prior.center(d)
        + torch.randn(shape, generator=generator, dtype=torch.float64)
        @ torch.linalg.cholesky(prior.covariance(d)).mT
        for _ in range(n_restarts)
    ]


def _check(
    X: Tensor, Y: Tensor, n_restarts: int, generator: torch.Generator | None
) -> None:
    require_float64(X=X, Y=Y)
    if X.ndim != 2 or Y.ndim < 1 or X.shape[-2] != Y.shape[-1] or len(X) < 1:
        raise InputError(
            f"X has shape {tuple(X.shape)} and Y {tuple(Y.shape)}; expected "
            "(n, d) and (..., n) with the same n >= 1."
        )
    if not (torch.isfinite(X).all() and torch.isfinite(Y).all()):
        raise InputError("X or Y holds a NaN or an infinity; drop such rows.")
    if n_restarts > 0 and generator is None:
        raise InputError("restarts are random: pass a generator.")
