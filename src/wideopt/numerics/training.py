"""One training loop for every network of the library.

Papers: NeuralBO Alg. 2 (full objective with ridge), Neural-CBO eq. 2 (one pass of SGD).

Notation:
    J(θ) = ½ Σ_i (o·h(z_i; θ) - y_i)² + ρ/2 ‖θ - θ_0‖²   for each output on its own
    X (..., n, d), Y (*b, n) with NaN for a missing target, weights (*b, out, in)
    η (B,) step sizes, one per output

SGD and Adam step along the gradient of J/n, estimated on a batch of rows, so that the
learning rate does not depend on n; with batches of one row and no ridge the steps are
Neural-CBO's eq. 2. L-BFGS takes all rows. Outputs share passes and batches but no step:
a diverging output goes back to its best weights and a tenth of its step, the others go
on. ρ = λ is NeuralBO's ridge mλ (see `network`); with ρ the noise variance, the
minimizer of the linearized network is the posterior mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.backprop import value_and_gradient
from wideopt.numerics.lbfgs import minimize_each
from wideopt.numerics.network import Weights
from wideopt.numerics.regression import Network, Regression, flattened
from wideopt.numerics.scales import require_float64

__all__ = ["Fit", "Network", "Training", "train"]

Optimizer = Literal["sgd", "adam", "lbfgs"]
_MAX_RECOVERIES = 12
_SHRINK = 0.1
_EXPLOSION = 10.0
_BETA1, _BETA2, _EPS = 0.9, 0.999, 1e-8  # Kingma & Ba 2015


@dataclass(frozen=True)
class Training:
    """A recipe for training.

    `batch_size` None takes all rows at once. Training of an output stops after
    `patience` epochs (if given) in which J did not fall by the relative `tolerance`.
    For "lbfgs", `epochs` counts iterations and `tolerance` ends them; lr, batch_size
    and patience play no part. `is_anchored` false leaves out the ridge that a posterior
    would add.
    """

    optimizer: Optimizer = "adam"
    lr: float = 1e-2
    epochs: int = 200
    batch_size: int | None = None
    ridge: float = 0.0
    tolerance: float = 1e-6
    patience: int | None = None
    is_shuffled: bool = True
    is_anchored: bool = True

    def __post_init__(self) -> None:
        if self.optimizer not in get_args(Optimizer):
            choices = get_args(Optimizer)
            raise InputError(
                f"optimizer is {self.optimizer!r}; choose one of {choices}."
            )
        for name in ("lr", "epochs", "batch_size", "patience"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} is {value}; it must be positive.")
        for name in ("ridge", "tolerance"):
            value = getattr(self, name)
            if not value >= 0:
                raise InputError(f"{name} is {value}; it must not be negative.")

    @classmethod
    def one_pass(cls, lr: float) -> Training:
        """Return Neural-CBO's eq. 2: one step per observation, in order, no ridge."""
        return cls(
            "sgd", lr, epochs=1, batch_size=1, is_shuffled=False, is_anchored=False
        )


@dataclass(frozen=True)
class Fit:
    """Trained weights, and what happened.

    `losses` (e, *b) is J at the start and after every epoch, NaN where an output had
    stopped (for L-BFGS: at the start and at the end).
    """

    weights: Weights
    losses: Float[Tensor, "e ..."]
    n_epochs: Int[Tensor, "..."]
    n_recoveries: Int[Tensor, "..."]


def train(
    network: Network,
    X: Float[Tensor, "... n d"],
    Y: Float[Tensor, "... n"],
    recipe: Training,
    *,
    anchor: Weights | None = None,
    ridge: Float[Tensor, "..."] | None = None,
    generator: torch.Generator | None = None,
) -> Fit:
    """Train every output on its targets, starting from the network's weights.

    `anchor` is θ_0 of the ridge, the starting weights by default; `ridge` one value per
    output instead of the recipe's. Shuffled batches are drawn with `generator`.
    """
    _check(X, Y, recipe, generator)
    batch = Y.shape[:-1]
    rho = torch.tensor(recipe.ridge, dtype=Y.dtype) if ridge is None else ridge
    problem = Regression.of(
        network, X, Y, network.weights if anchor is None else anchor, rho.to(Y)
    )
    theta = flattened(network.architecture, network.weights, batch)
    if recipe.optimizer == "lbfgs":
        run = _by_lbfgs(problem, theta, recipe)
    else:
        run = _by_epochs(problem, theta, recipe, generator)
    weights = problem.weights(run.best)
    return Fit(
        tuple(W.reshape(*batch, *W.shape[-2:]) for W in weights),
        torch.stack(run.losses).reshape(-1, *batch),
        run.n_epochs.reshape(batch),
        run.n_recoveries.reshape(batch),
    )


@dataclass
class _Run:
    """State of one training: everything has one entry per output."""

    theta: Float[Tensor, "B p"]
    best: Float[Tensor, "B p"]
    best_loss: Float[Tensor, " B"]
    lr: Float[Tensor, " B"]
    is_active: Bool[Tensor, " B"]
    n_epochs: Int[Tensor, " B"]
    n_recoveries: Int[Tensor, " B"]
    n_idle: Int[Tensor, " B"]
    losses: list[Tensor]

    @classmethod
    def start(cls, theta: Tensor, loss: Tensor, lr: float) -> _Run:
        count = torch.zeros(len(theta), dtype=torch.long, device=theta.device)
        return cls(
            theta=theta,
            best=theta,
            best_loss=torch.full_like(loss, torch.inf),
            lr=torch.full_like(loss, lr),
            is_active=torch.ones_like(count, dtype=torch.bool),
            n_epochs=count,
            n_recoveries=count.clone(),
            n_idle=count.clone(),
            losses=[loss],
        )

    def accept(
        self, theta: Tensor, loss: Tensor, limit: Tensor, recipe: Training
    ) -> Bool[Tensor, " B"]:
        """Take an epoch's result where it is sound; return where it is not."""
        is_sound = self.is_active & torch.isfinite(loss) & (loss <= limit)
        is_bad = self.is_active & ~is_sound
        is_better = is_sound & (loss < self.best_loss)
        is_gain = is_sound & (loss < self.best_loss * (1 - recipe.tolerance))
        self.best = torch.where(is_better[:, None], theta, self.best)
        self.best_loss = torch.where(is_better, loss, self.best_loss)
        self.theta = torch.where(is_sound[:, None], theta, self.theta)
        self.theta = torch.where(is_bad[:, None], self.best, self.theta)
        self.lr = torch.where(is_bad, _SHRINK * self.lr, self.lr)
        self.losses.append(torch.where(is_sound, loss, torch.nan))
        self.n_epochs = self.n_epochs + is_sound
        self.n_recoveries = self.n_recoveries + is_bad
        self.n_idle = torch.where(is_gain, 0, self.n_idle + is_sound)
        self._retire(recipe)
        return is_bad

    def _retire(self, recipe: Training) -> None:
        is_over = self.n_epochs >= recipe.epochs
        is_over |= self.n_recoveries > _MAX_RECOVERIES
        if recipe.patience is not None:
            is_over |= self.n_idle >= recipe.patience
        self.is_active = self.is_active & ~is_over


def _by_epochs(
    problem: Regression,
    theta: Float[Tensor, "B p"],
    recipe: Training,
    generator: torch.Generator | None,
) -> _Run:
    """SGD or Adam; returns the best weights after an epoch (the last, for one pass)."""
    start = problem.loss(theta).detach()
    # An epoch that ends above this has diverged. The second term is for warm starts
    # from a nearly perfect fit, whose loss may rise by large factors harmlessly.
    scale = 0.5 * problem.Y.square().sum(-1)
    limit = _EXPLOSION * torch.maximum(start, 1e-3 * scale).clamp_min(1e-12)
    run = _Run.start(theta, start, recipe.lr)
    step = _Step.zero(theta) if recipe.optimizer == "adam" else None
    while run.is_active.any():
        theta = run.theta
        for rows in _batches(problem.Y.shape[-1], recipe, generator):
            _, g = value_and_gradient(problem.rows(rows), theta)
            if step is not None:
                step = step.moved(g)
                g = step.direction
            theta = theta - (run.lr * run.is_active)[:, None] * g
        is_bad = run.accept(theta, problem.loss(theta).detach(), limit, recipe)
        step = step.cleared(is_bad) if step is not None else None
    return run


@dataclass(frozen=True)
class _Step:
    """Adam's moments, one row per output."""

    m: Float[Tensor, "B p"]
    v: Float[Tensor, "B p"]
    t: Float[Tensor, " B"]

    @classmethod
    def zero(cls, theta: Float[Tensor, "B p"]) -> _Step:
        return cls(
            torch.zeros_like(theta),
            torch.zeros_like(theta),
            torch.zeros_like(theta[:, 0]),
        )

    def moved(self, g: Float[Tensor, "B p"]) -> _Step:
        m = _BETA1 * self.m + (1 - _BETA1) * g
        v = _BETA2 * self.v + (1 - _BETA2) * g.square()
        return _Step(m, v, self.t + 1)

    @property
    def direction(self) -> Float[Tensor, "B p"]:
        m = self.m / (1 - _BETA1**self.t)[:, None]
        v = self.v / (1 - _BETA2**self.t)[:, None]
        return m / (v.sqrt() + _EPS)

    def cleared(self, is_bad: Bool[Tensor, " B"]) -> _Step:
        """Forget the moments of diverged outputs (they may not be finite)."""
        bad = is_bad[:, None]
        return _Step(
            torch.where(bad, 0.0, self.m),
            torch.where(bad, 0.0, self.v),
            torch.where(is_bad, 0.0, self.t),
        )


def _batches(
    n: int, recipe: Training, generator: torch.Generator | None
) -> Iterator[Int[Tensor, " r"]]:
    size = n if recipe.batch_size is None else min(recipe.batch_size, n)
    is_shuffled = recipe.is_shuffled and size < n
    order = torch.randperm(n, generator=generator) if is_shuffled else torch.arange(n)
    return iter(order.split(size))


def _by_lbfgs(
    problem: Regression, theta: Float[Tensor, "B p"], recipe: Training
) -> _Run:
    best = minimize_each(
        lambda x, index: value_and_gradient(problem.outputs(index), x),
        theta,
        max_iterations=recipe.epochs,
        tolerance=recipe.tolerance,
        floor=0.0,
    )
    run = _Run.start(theta, problem.loss(theta).detach(), recipe.lr)
    return replace(
        run, best=best.x, losses=[*run.losses, best.f], n_epochs=best.n_iterations
    )


def _check(
    X: Tensor, Y: Tensor, recipe: Training, generator: torch.Generator | None
) -> None:
    require_float64(X=X, Y=Y)
    if X.ndim < 2 or Y.ndim < 1 or X.shape[-2] != Y.shape[-1] or Y.shape[-1] < 1:
        raise InputError(
            f"X has shape {tuple(X.shape)} and Y {tuple(Y.shape)}; expected "
            "(..., n, d) and (..., n) with the same n >= 1."
        )
    if not torch.isfinite(X).all() or torch.isinf(Y).any():
        raise InputError("X must be finite, and Y finite or NaN (missing).")
    size = recipe.batch_size
    is_random = recipe.is_shuffled and size is not None and size < Y.shape[-1]
    if is_random and recipe.optimizer != "lbfgs" and generator is None:
        raise InputError("batches are shuffled: pass a generator.")
