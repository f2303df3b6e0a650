"""PINN-BO as printed: Phan-Trong's thesis, Algorithm 4 and eq. 5.1.

A network h = W_2 ψ(W_1 x)/√m with weights N(0, 1) is trained by gradient descent on

    Σ (y_i - ν_t h(x_i))² + Σ (u_j - ν_t N[h](z_j))²                            (5.1)
    ν_t = B + R̃ √(2γ_t - 2I + log(1/δ)),  R̃ = √((R1/λ1)² + (R2/λ2)²)

and the next point is that of 10,000 random ones where h is least. γ_t - I is the gain
of the values given the equations, at the points chosen so far, from the tangent
features at θ_0 (`joint_tangent`).

Unsaid in the thesis: y is standardized, and ν_t h stands for that; the equations are
divided by one constant, so that residuals have features of the same size as values, and
the learning rate is a multiple of 1/(largest eigenvalue of the joint kernel), without
which descent diverges; each training starts at θ_0, and runs over all data at once.
With unknown coefficients these have the middle of their bounds. Constraints, which the
thesis does not treat, are kept within lower bounds as in `neural-cbo`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.bounds import LowerBounds
from wideopt.data.dataset import Dataset
from wideopt.data.units import Units
from wideopt.exceptions import InputError
from wideopt.methods.base import State, check_counts, check_positive, one_by_one
from wideopt.methods.faithful import uniform
from wideopt.numerics.joint_tangent import JointTangent
from wideopt.numerics.network import Architecture, Weights
from wideopt.pde._system import System
from wideopt.search.design import seed_from
from wideopt.search.maximize import best_new
from wideopt.search.within import Pool
from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.moments import Standardization
from wideopt.surrogates.physics_model import standardization_of

__all__ = ["FaithfulPinnBO", "theoretical_nu"]

_DECAY = 0.95  # of the learning rate, every epoch


@dataclass(frozen=True)
class FaithfulPinnBO:
    """The faithful mode of `pinn-bo`, whose options these are."""

    activation: str = "tanh"
    depth: int = 1
    width: int = 100
    n_candidates: int = 10_000
    lr: float = 1.0
    epochs: int = 100
    lam: float = 1.0
    B: float = 1.0
    R: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check_counts(self, "epochs", "n_candidates")
        check_positive(self, "lr", "lam", "B", "R")
        if not 0 < self.delta < 1:
            raise InputError(
                f"Option delta must lie between 0 and 1, but got {self.delta}."
            )
        if not self.architecture.phi.is_smooth:
            raise InputError(
                f"Activation {self.activation!r} has no second derivative, which "
                "equations need; use tanh, sin, erf or silu."
            )

    @property
    def architecture(self) -> Architecture:
        """The network."""
        return Architecture(self.depth, self.width, self.activation, "gaussian")

    def trained(
        self,
        system: System,
        data: Dataset,
        state: State,
        generator: torch.Generator,
        *,
        is_negated: bool,
    ) -> tuple[NetworkOutput, State]:
        """The network trained on all data, and the state with θ_0's seed and ν_t."""
        seed = state.get("theta_0")
        if seed is None:
            seed = seed_from(generator)
        known = ~data.is_failed
        s = standardization_of(data.Y[known][:, :1])
        y = s.apply(data.Y[known][:, :1])[0]
        loss = _Loss(self.architecture, system, data.X[known], y, s, is_negated)
        first = torch.Generator().manual_seed(seed)
        theta_0 = tuple(
            W.to(data.X) for W in self.architecture.initial_weights(data.n_dims, first)
        )
        Phi, Omega = loss.features(theta_0)
        size = float(Omega.square().sum(-1).mean() / Phi.square().sum(-1).mean())
        factor = 1.0 / math.sqrt(size) if size > 0 else 1.0
        joint = JointTangent(Phi, factor * Omega, self.lam, self.lam)
        nu = theoretical_nu(self, joint)
        top = float(torch.linalg.matrix_norm(joint.rows, ord=2)) ** 2 * self.lam
        rate = self.lr / (nu**2 * max(top, 1e-300))
        theta = loss.descended(theta_0, nu, factor, rate, self.epochs)
        output = NetworkOutput(self.architecture, theta)
        return output, {**state, "theta_0": seed, "nu": nu}

    def chosen(
        self,
        network: NetworkOutput,
        rest: Model | None,
        data: Dataset,
        n: int,
        generator: torch.Generator,
    ) -> Float[Tensor, "n d"]:
        """The best of n lots of candidates."""
        bounds = LowerBounds([] if rest is None else outputs_of(rest), 0.5)

        def choose(data: Dataset) -> Tensor:
            X = uniform(data, self.n_candidates, generator)
            pool = Pool.of(network, bounds, X)
            known = torch.cat([data.X, data.X_pending])
            return best_new(X[pool.order], -torch.arange(len(X)).to(X), known)

        return one_by_one(data, n, choose)


def theoretical_nu(paper: FaithfulPinnBO, joint: JointTangent) -> float:
    """ν_t of Algorithm 4, with R1 = R2 = R."""
    R = paper.R * math.sqrt(1.0 / joint.lam1**2 + 1.0 / joint.lam2**2)
    left = float(joint.value_gain - joint.interaction)
    return paper.B + R * math.sqrt(2.0 * max(left, 0.0) - math.log(paper.delta))


class NetworkOutput(AcquisitionFunction):
    """-h(x; θ), to be maximized."""

    def __init__(self, architecture: Architecture, theta: Weights) -> None:
        super().__init__(model=None)  # type: ignore[arg-type] # there is only a network
        self.architecture, self.theta = architecture, theta

    def forward(self, X: Float[Tensor, "*b 1 d"]) -> Float[Tensor, "*b"]:
        """The value at X."""
        return -_forward(self.architecture, self.theta, X).squeeze(-1)


def _forward(
    architecture: Architecture, theta: Weights, X: Float[Tensor, "... n d"]
) -> Float[Tensor, "... n"]:
    Z = torch.cat([2.0 * X - 1.0, torch.ones_like(X[..., :1])], dim=-1)
    return architecture.forward(theta, Z)


@dataclass(frozen=True)
class _Loss:
    """Eq. 5.1 as a function of the weights."""

    architecture: Architecture
    system: System
    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    s: Standardization
    is_negated: bool

    def residuals(self, theta: Weights, nu: float) -> Float[Tensor, " r"]:
        """(N[u] - g)/scale with u = scale ν h + shift, in the units of the data."""
        sign = -1.0 if self.is_negated else 1.0
        scale, shift = sign * self.s.scale[0], sign * self.s.shift[0]
        parts = []
        for local, n in zip(self.system.locals, self.system.n_points, strict=True):
            u = partial(self._function, theta, local.units, scale * nu, shift)
            points = local.units(local.T[:n])
            part = local.equation.residual(u, points, is_checked=False)
            parts.append(part / scale)
        return torch.cat(parts)

    def _function(
        self, theta: Weights, units: Units, scale: Tensor, shift: Tensor, x: Tensor
    ) -> Tensor:
        """The network as a function of one point in the user's units."""
        t = units.inverse(x).unsqueeze(0)
        return scale * _forward(self.architecture, theta, t).squeeze(0) + shift

    def features(self, theta_0: Weights) -> tuple[Tensor, Tensor]:
        """Φ and Ω: gradients of values and residuals in the weights, at θ_0."""
        Phi = torch.func.jacrev(
            lambda w: _forward(self.architecture, w, self.X.unsqueeze(-2)).squeeze(-1)
        )(theta_0)
        Omega = torch.func.jacrev(lambda w: self.residuals(w, 1.0))(theta_0)
        return _flat(Phi), _flat(Omega)

    def descended(
        self, theta: Weights, nu: float, factor: float, rate: float, epochs: int
    ) -> Weights:
        """The weights after gradient descent; the last finite ones if it diverges."""

        def loss(w: Weights) -> Tensor:
            h = _forward(self.architecture, w, self.X)
            misfit = (self.y - nu * h).square().sum()
            return misfit + (factor * self.residuals(w, nu)).square().sum()

        slope = torch.func.grad(loss)
        for _ in range(epochs):
            steps = slope(theta)
            # half: the loss is a square without ½
            moved = tuple(W - 0.5 * rate * G for W, G in zip(theta, steps, strict=True))
            if not all(bool(W.isfinite().all()) for W in moved):
                break
            theta, rate = moved, rate * _DECAY
        return tuple(W.detach() for W in theta)


def _flat(jacobian: tuple[Tensor, ...]) -> Float[Tensor, "n p"]:
    return torch.cat([J.reshape(J.shape[0], -1) for J in jacobian], dim=1).detach()
