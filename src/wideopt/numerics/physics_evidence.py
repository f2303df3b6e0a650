"""Hyper-parameters of a function that obeys equations, by evidence.

Ways to believe in the equations are fitted, each with a kernel of its own:

    held    they hold at their points: τ = 10⁻⁴
    exact   they hold everywhere (`solutions`), where coefficients are constant
    faces   the same, with values on faces that are smooth and unrelated (`faces`)
    bent    they are off by a share τ of their size, 10⁻² to 10, which is fitted
    none    they say nothing

Notation:
    ψ = (log s_1, ..., log s_d, log o, log λ, log τ if bent, θ unless none)
    -log p(y, ψ | equations), with normal priors on the logarithms; the input scales
    share a factor, and shrink with √d (see `hyper`). If exact, the roughness a_i of the
    boundary values is in place of s_i; of faces κ_i, and their log sizes come last
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.exceptions import FitError
from wideopt.numerics.faces import FaceKernel, Plate
from wideopt.numerics.lbfgs import minimize_each
from wideopt.numerics.linearization import Linearization
from wideopt.numerics.physics import Physics, PhysicsPosterior, conditional_nll
from wideopt.numerics.smooth import Functionals, Kernel, SmoothKernel
from wideopt.numerics.solutions import SolutionKernel, Waves

__all__ = ["Belief", "Evidence", "Kind", "Solved"]

Kind = Literal["held", "exact", "faces", "bent", "none"]
Solved: TypeAlias = Waves | Plate

_TAU = 1e-4
_BENT = (1e-2, 0.2, 10.0)  # least, median and largest τ
_BENT_SPREAD = 1.5
_INPUT, _INPUT_SPREADS = 3.0, (0.5, 1.5)  # of each scale, and of all
_ROUGHNESS, _ROUGHNESS_SPREADS = 0.4, (0.2, 0.7)
_KAPPA, _KAPPA_SPREADS = 14.0, (0.3, 0.7)  # roughness of values along a face
_FACE_SPREAD = 0.7  # of log sizes; with more, faces without data are taken for flat
# 1 otherwise: rough waves are small where data are, and faces may be far away
_OUTPUT_SPREAD = {"exact": 2.0, "faces": 2.0}
_NOISE, _NOISE_SPREAD = 1e-4, 2.5
_NOISE_BOUNDS = (1e-8, 2.0)
_REACH = 5.0  # bounds of ψ, in deviations of its prior
_MULTIPLES = (1.0, 4.0, 16.0)  # of the typical input scales, where climbs start
_OWN_STARTS = {"exact": (1.0, 0.4, 3.0), "faces": (1.0, 0.4)}  # of typical roughness
_N_HEAT = 8  # steps of every start before the best goes on
_N_HEAT_ROWS = 60  # values that take part in these
_CAUTION = 10  # pseudo-observations that say the model is calibrated
_N_MAX = 150  # values that take part; more are thinned out evenly


@dataclass(frozen=True)
class Belief:
    """A way to believe in the equations, with ψ and log p(y, ψ | equations)."""

    kind: Kind
    psi: Float[Tensor, " k"]
    evidence: float

    def physics(self, d: int, solved: Solved | None = None) -> Physics:
        """Kernel, noise and tolerance; beliefs of solutions need these."""
        s, o, noise = self.psi[:d].exp(), self.psi[d].exp(), self.psi[d + 1].exp()
        tau = (
            self.psi[d + 2].exp() if self.kind == "bent" else self.psi.new_tensor(_TAU)
        )
        kernel: Kernel = SmoothKernel(s, o)
        if isinstance(solved, Waves):
            kernel = SolutionKernel(solved, s, o)
        elif isinstance(solved, Plate):
            kernel = FaceKernel(solved, s, o, self.psi[d + 2 :])
        return Physics(kernel, noise, tau)

    def theta(self, d: int) -> Float[Tensor, " k"]:
        """The unknown coefficients, scaled to [0, 1]."""
        if self.kind == "faces":  # there are none, and sizes in their place
            return self.psi[:0]
        return self.psi[d + 2 + (self.kind == "bent") :]

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, which JSON keeps exactly."""
        return {
            "kind": self.kind,
            "psi": self.psi.tolist(),
            "evidence": self.evidence,
        }

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> Belief:
        """The inverse of `to_json`."""
        psi = torch.tensor(form["psi"], dtype=torch.float64)
        return cls(form["kind"], psi, form["evidence"])


@dataclass(frozen=True)
class Evidence:
    """The evidence of standardized values y at X, given linearized equations.

    Attributes:
        linearization: the equations, at their points.
        X: points whose values are known.
        y: the values, standardized.
        shift: what was subtracted from them.
        scale: by what they were divided.
        solved: of what a belief of solutions is made.
        is_resolved: whether a kernel under which equations hold may not be so rough
            that it says nothing between their points: at most s_i = n^(1/d) for n
            points. That is for equations with waves, which are for what is rougher.
    """

    linearization: Linearization
    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    shift: float
    scale: float
    solved: Solved | None = None
    is_resolved: bool = False

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self.X.shape[1]

    def equations(
        self, theta: Float[Tensor, " k"]
    ) -> tuple[tuple[Functionals, ...], Float[Tensor, " r"]]:
        """The equations of the standardized function."""
        groups, b = self.linearization.at(theta)
        if not groups:
            return groups, b
        ones = torch.cat([group.of_one for group in groups])
        return groups, (b - self.shift * ones) / self.scale

    def fitted(
        self, kind: Kind, warm: Sequence[Belief] = (), max_iterations: int = 40
    ) -> Belief:
        """The best ψ found from `warm`, or from several starts."""
        center, precision, box = self._prior(kind)
        known = [b.psi for b in warm if b.kind == kind and len(b.psi) == len(center)]
        starts = torch.stack(known or self._starts(kind, center)).clamp(*box)
        problem = _Problem(self._thinned(_N_MAX), kind, center, precision)
        if len(starts) > 1:
            quick = replace(problem, evidence=self._thinned(_N_HEAT_ROWS))
            heat = minimize_each(quick, starts, bounds=box, max_iterations=_N_HEAT)
            starts = heat.x[heat.f.argmin()].unsqueeze(0)
        best = minimize_each(
            problem, starts, bounds=box, max_iterations=max_iterations, tolerance=1e-5
        )
        return self._inflated(Belief(kind, best.x[0], -float(best.f[0])))

    def _inflated(self, belief: Belief) -> Belief:
        """The belief with variances that match left-out values (see `evidence`)."""
        theta = belief.theta(self.d)
        groups, rhs = self.equations(theta)
        if belief.kind == "none":
            groups, rhs = (), self.y.new_zeros(0)
        with torch.no_grad():
            posterior = PhysicsPosterior.of(
                belief.physics(self.d, self.solved), groups, rhs, self.X, self.y
            )
            factor = posterior.calibration(_CAUTION)
        psi = belief.psi.clone()
        psi[self.d] += 0.5 * factor.log()
        psi[self.d + 1] += factor.log()
        return replace(belief, psi=psi)

    def log_joint(self, belief: Belief) -> float:
        """Log p(y, ψ | equations)."""
        center, precision, _ = self._prior(belief.kind)
        problem = _Problem(self, belief.kind, center, precision)
        return -float(problem.value(belief.psi))

    def _thinned(self, n_max: int) -> Evidence:
        n = len(self.y)
        if n <= n_max:
            return self
        rows = torch.linspace(0, n - 1, n_max, dtype=torch.float64).round().long()
        return replace(self, X=self.X[rows], y=self.y[rows])

    def _starts(self, kind: Kind, center: Float[Tensor, " k"]) -> list[Tensor]:
        starts = []
        multiples = _MULTIPLES[: 3 if self.d <= 3 else 2]
        if kind in _OWN_STARTS:
            multiples = _OWN_STARTS[kind]
        for multiple in multiples:
            start = center.clone()
            start[: self.d] += math.log(multiple)
            starts.append(start)
        return starts

    def _prior(self, kind: Kind) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Center and precision of ψ, and bounds."""
        d = self.d
        n_theta = 0 if kind == "none" else len(self.linearization.theta)
        first, own, shared = math.log(_INPUT / math.sqrt(d)), *_INPUT_SPREADS
        if kind == "exact":
            first, own, shared = math.log(_ROUGHNESS), *_ROUGHNESS_SPREADS
        if kind == "faces":
            first, own, shared = math.log(_KAPPA), *_KAPPA_SPREADS
        center = [first] * d + [0.0, math.log(_NOISE)]
        spread = [own] * d + [_OUTPUT_SPREAD.get(kind, 1.0), _NOISE_SPREAD]
        if kind == "bent":
            center.append(math.log(_BENT[1]))
            spread.append(_BENT_SPREAD)
        if kind == "faces":
            center += [0.0] * (2 * d)
            spread += [_FACE_SPREAD] * (2 * d)
        k = len(center)
        C = torch.tensor(spread, dtype=torch.float64).square().diag()
        C[:d, :d] += shared**2
        precision = torch.zeros(k + n_theta, k + n_theta, dtype=torch.float64)
        precision[:k, :k] = C.inverse()  # all values of θ are equally likely
        middle = torch.tensor(center + [0.5] * n_theta, dtype=torch.float64)
        reach = torch.full_like(middle, 0.5)
        reach[:k] = _REACH * C.diagonal().sqrt()
        low, high = middle - reach, middle + reach
        low[d + 1], high[d + 1] = (math.log(end) for end in _NOISE_BOUNDS)
        if self.is_resolved and kind == "held":
            most = max(group.n for group in self.linearization.groups) ** (1 / d)
            high[:d] = high[:d].clamp_max(math.log(most))
        if kind == "bent":
            low[d + 2], high[d + 2] = math.log(_BENT[0]), math.log(_BENT[2])
        to = self.X
        return middle.to(to), precision.to(to), (low.to(to), high.to(to))


@dataclass(frozen=True)
class _Problem:
    """ψ -> -log p(y, ψ | equations) and its gradient, row by row."""

    evidence: Evidence
    kind: Kind
    center: Float[Tensor, " k"]
    precision: Float[Tensor, "k k"]

    def __call__(
        self, psi: Float[Tensor, "r k"], index: Int[Tensor, " r"]
    ) -> tuple[Float[Tensor, " r"], Float[Tensor, "r k"]]:
        del index  # all rows are starts of one problem
        pairs = [self._one(row) for row in psi]
        values, slopes = zip(*pairs, strict=True)
        return torch.stack(values), torch.stack(slopes)

    def _one(self, psi: Float[Tensor, " k"]) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            psi = psi.detach().requires_grad_()
            try:
                value = self.value(psi)
                (slope,) = torch.autograd.grad(value, psi)
            except FitError:  # the kernel overflows: no place to stay
                value, slope = psi.new_tensor(torch.inf), torch.zeros_like(psi)
        return value.detach(), slope.detach()

    def value(self, psi: Float[Tensor, " k"]) -> Float[Tensor, ""]:
        e = self.evidence
        belief = Belief(self.kind, psi, 0.0)
        groups: tuple[Functionals, ...] = ()
        rhs = e.y.new_zeros(0)
        if self.kind != "none":
            groups, rhs = e.equations(belief.theta(e.d))
        physics = belief.physics(e.d, e.solved)
        nll = conditional_nll(physics, groups, rhs, e.X, e.y)
        gap = psi - self.center
        return nll + 0.5 * gap @ self.precision @ gap
