"""The physics surrogate: a wide network that obeys equations, tuned by evidence.

PINN-BO (Phan-Trong's thesis), Lemma 5.3.4: the posterior given values and residuals, in
closed form for linear equations. Others are linearized at the posterior mean, again and
again: the limit is the most likely function, with the uncertainty around it. Several
ways to believe in the equations are averaged by evidence (see `physics_evidence`), so
that wrong physics loses its weight as values contradict it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.activations import get_activation
from wideopt.numerics.faces import Plate
from wideopt.numerics.linearization import Linearization
from wideopt.numerics.physics_evidence import Belief, Evidence, Kind, Solved
from wideopt.numerics.solutions import Waves
from wideopt.pde._system import System
from wideopt.space import Space
from wideopt.surrogates.moments import Standardization
from wideopt.surrogates.physics_model import Member, PhysicsModel, standardization_of

__all__ = ["Physics"]

Json: TypeAlias = "dict[str, Any]"

_LOG_ODDS = {
    "held": 0.0,
    "exact": 0.0,
    "faces": 0.0,
    "bent": -math.log(30.0),
    "none": -math.log(30.0),
}
_PRUNED = 0.1  # a belief with less weight than this is left out, for speed
_CLEAR = 0.999  # weight against "none" at which "bent" is not tried, which costs time
_N_LINEARIZED = 12  # linearizations of a nonlinear equation, at most
_SETTLED = 1e-4  # relative change of derivatives at which that ends


@dataclass(frozen=True, eq=False)
class Physics:
    """A recipe for a function that obeys equations.

    Attributes:
        pde: a `wideopt.PDE`, or a list of them.
        space: the space of their points; a `wideopt.Space` or what makes one.
        activation: of the network, which must be smooth: "sin".
        is_checked: whether other beliefs than that the equations hold are averaged.
        is_negated: whether outputs are those of the equations with the other sign.
        device: where tensors live.
    """

    pde: Any = field(repr=False)
    space: Any
    activation: str = "sin"
    is_checked: bool = True
    is_negated: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not get_activation(self.activation).is_smooth:
            raise InputError(
                f"Activation {self.activation!r} has no second derivative, which "
                "equations need; use 'sin'."
            )
        if self.activation != "sin":
            raise InputError(
                f"Activation {self.activation!r} has no closed form with equations; "
                "use 'sin'."
            )
        self.system  # noqa: B018 # raises if an equation cannot be used

    @cached_property
    def system(self) -> System:
        """The equations, examined."""
        space = self.space if isinstance(self.space, Space) else Space(self.space)
        return System.of(self.pde, space, self.device)

    @cached_property
    def solved(self) -> dict[Kind, Solved]:
        """Functions that solve the equation exactly, where these can be found."""
        symbol = self.system.symbol
        if symbol is None:
            return {}
        found: dict[Kind, Solved | None] = {
            "exact": Waves.of(*symbol),
            "faces": Plate.of(*symbol),
        }
        return {kind: each for kind, each in found.items() if each is not None}

    def scaled(self, s: Standardization) -> Standardization:
        """The same for the function of the equations, whose sign may be another."""
        sign = -1.0 if self.is_negated else 1.0
        return Standardization(sign * s.shift, sign * s.scale)

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n outputs"],
        warm: Json | None = None,
    ) -> Model:
        """A model with hyper-parameters of maximal evidence, climbed from `warm`."""
        known = [Belief.from_json(m) for m in (warm or {}).get("members", [])]
        points = (warm or {}).get("points", self.system.first_points)
        beliefs = self._beliefs(_Case.of(X, Y, points), known)
        weights = _weights(beliefs)
        kept = [i for i, w in enumerate(weights) if w >= _PRUNED]
        total = sum(weights[i] for i in kept)
        members = [{**beliefs[i].to_json(), "weight": weights[i] / total} for i in kept]
        hyper = {"members": members, "points": points}
        model = self.restore(X, Y, hyper)
        moved = model.moved_points()
        return (
            model if moved is None else self.restore(X, Y, {**hyper, "points": moved})
        )

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], hyper: Json
    ) -> PhysicsModel:
        """A model with known hyper-parameters."""
        case = _Case.of(X, Y, hyper["points"])
        beliefs = [Belief.from_json(form) for form in hyper["members"]]
        parts = [self._member(belief, case) for belief in beliefs]
        weights = [form["weight"] for form in hyper["members"]]
        return PhysicsModel(parts, weights, case.standardization, self, hyper)

    def hyper(self, model: Model) -> Json:
        """Beliefs, weights and points, exact through JSON."""
        assert isinstance(model, PhysicsModel)
        return model.hyper

    def evidence_of(self, model: PhysicsModel, belief: Belief) -> Evidence:
        """The evidence that a belief of a model was fitted to."""
        y, s = model.members[0].Y[0], model.standardization
        case = _Case(model.train_X, y, s, model.hyper["points"])
        C = None
        if not self.system.is_linear:
            C = self._derivatives(self._member(belief, case), case)
        return self._evidence(belief.kind, case, belief.theta(case.d), C)

    def _beliefs(self, case: _Case, known: list[Belief]) -> list[Belief]:
        """Those known, fitted anew; else all, without the one that is beaten anyway."""
        steps = 15 if known else 25
        holding: list[Kind] = ["held", *self.solved]
        kinds = [b.kind for b in known] or holding
        beliefs = [self._fitted(kind, case, known, steps) for kind in kinds]
        if known or not self.is_checked:
            return beliefs
        beliefs.append(self._fitted("none", case, [], steps))
        if _weights(beliefs)[-1] < 1.0 - _CLEAR:
            return beliefs
        return [*beliefs, self._fitted("bent", case, [], steps)]

    def _fitted(
        self, kind: Kind, case: _Case, known: list[Belief], n_steps: int
    ) -> Belief:
        """A belief; where the equations are not linear, in turns with linearizing."""
        theta = self._first_theta(kind, known).to(case.X)
        C: list[Tensor] | None = None
        belief: Belief | None = None
        n_turns = 1 if self._is_closed or kind == "none" else 3
        for turn in range(n_turns):
            if not self.system.is_linear and kind != "none":
                start = belief or self._plain(case)
                C = self._derivatives(self._member(start, case), case)
            evidence = self._evidence(kind, case, theta, C)
            warm = known if belief is None else [belief]
            belief = evidence.fitted(kind, warm, n_steps if turn == 0 else 15)
            theta = belief.theta(case.d)
        assert belief is not None  # there is at least one turn
        return belief

    @property
    def _is_closed(self) -> bool:
        """Whether one linearization is exact, also in unknown coefficients."""
        return self.system.is_linear and not self.system.unknowns

    def _first_theta(self, kind: str, known: list[Belief]) -> Tensor:
        k = 0 if kind == "none" else len(self.system.unknowns)
        for belief in known:
            if belief.kind == kind and k:
                return belief.psi[-k:]
        return torch.full((k,), 0.5, dtype=torch.float64)

    def _plain(self, case: _Case) -> Belief:
        """A belief without equations, whose mean is where linearizing starts."""
        evidence = self._evidence("none", case, case.X.new_zeros(0), None)
        return evidence.fitted("none", max_iterations=15)

    def _evidence(
        self, kind: Kind, case: _Case, theta: Tensor, C: list[Tensor] | None
    ) -> Evidence:
        if kind == "none" or kind in self.solved:
            linearization = Linearization.empty()
        else:
            linearization = Linearization.of(self.system, case.points, theta, C)
        s = self.scaled(case.standardization)
        shift, scale = float(s.shift[0]), float(s.scale[0])
        solved, is_resolved = self.solved.get(kind), bool(self.solved)
        return Evidence(
            linearization, case.X, case.y, shift, scale, solved, is_resolved
        )

    def _derivatives(self, member: Member, case: _Case) -> list[Tensor]:
        s = self.scaled(case.standardization)
        return member.derivatives(self.system, case.points, s)

    def _member(self, belief: Belief, case: _Case) -> Member:
        """The posterior of a belief; derivatives C are found by iteration."""
        theta = belief.theta(case.d)

        def at(C: list[Tensor] | None) -> Member:
            return Member.of(belief, self._evidence(belief.kind, case, theta, C))

        if self.system.is_linear or belief.kind == "none":
            return at(None)
        free = Belief("none", belief.psi[: case.d + 2], 0.0)
        C = self._derivatives(self._member(free, case), case)
        for turn in range(_N_LINEARIZED):
            member = at(C)
            new = self._derivatives(member, case)
            share = 1.0 if turn < _N_LINEARIZED // 2 else 0.5
            moved = [c + share * (n - c) for c, n in zip(C, new, strict=True)]
            gaps = zip(moved, C, strict=True)
            change = max(float((a - b).norm() / (b.norm() + 1e-300)) for a, b in gaps)
            C = moved
            if change < _SETTLED:
                break
        return member


@dataclass(frozen=True)
class _Case:
    """What a belief is fitted to: standardized values, and points of the equations."""

    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    standardization: Standardization
    points: Sequence[Sequence[int]]

    @classmethod
    def of(cls, X: Tensor, Y: Tensor, points: Sequence[Sequence[int]]) -> _Case:
        """The rows with a value."""
        if Y.ndim != 2 or Y.shape[1] != 1:
            raise InputError(
                f"Y has the shape {tuple(Y.shape)}; equations are of one output, "
                "(n, 1)."
            )
        is_known = ~Y[:, 0].isnan()
        s = standardization_of(Y[is_known])
        return cls(X[is_known], s.apply(Y[is_known])[0], s, points)

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self.X.shape[1]


def _weights(beliefs: Sequence[Belief]) -> list[float]:
    """Posterior probabilities of the beliefs."""
    logs = [b.evidence + _LOG_ODDS[b.kind] for b in beliefs]
    weights: list[float] = torch.softmax(
        torch.tensor(logs, dtype=torch.float64), dim=0
    ).tolist()
    return weights
