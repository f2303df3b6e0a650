"""The physics surrogate: a wide network that obeys equations, tuned by evidence.

PINN-BO (Phan-Trong's thesis), Lemma 5.3.4: the posterior given values and residuals, in
closed form for linear equations. Others are linearized at the posterior mean, again and
again: the limit is the most likely function, with the uncertainty around it. Three ways
to believe in the equations are averaged by evidence (see `physics_evidence`), so that
wrong physics loses its weight as values contradict it.
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
from wideopt.numerics.linearization import Linearization
from wideopt.numerics.physics_evidence import Belief, Evidence, Kind
from wideopt.pde._system import System
from wideopt.space import Space
from wideopt.surrogates.moments import Standardization
from wideopt.surrogates.physics_model import Member, PhysicsModel, standardization_of

__all__ = ["Physics"]

Json: TypeAlias = "dict[str, Any]"

_LOG_ODDS = {"held": 0.0, "bent": -math.log(10.0), "none": -math.log(10.0)}
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

    def scaled(self, s: Standardization) -> Standardization:
        """The same for the function of the equations, whose sign may be another."""
        sign = -1.0 if self.is_negated else 1.0
        return Standardization(sign * s.shift, sign * s.scale)

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n 1"],
        warm: Json | None = None,
    ) -> Model:
        """A model with hyper-parameters of maximal evidence, climbed from `warm`."""
        X, Y = _known(X, Y)
        known = [Belief.from_json(m) for m in (warm or {}).get("members", [])]
        points = (warm or {}).get("points", self.system.first_points)
        beliefs = self._beliefs(X, Y, points, known)
        weights = _weights(beliefs)
        kept = [i for i, w in enumerate(weights) if w >= _PRUNED]
        total = sum(weights[i] for i in kept)
        members = [{**beliefs[i].to_json(), "weight": weights[i] / total} for i in kept]
        hyper = {"members": members, "points": points}
        model = self.restore(X, Y, hyper)
        moved = model.moved_points()
        return model if moved is None else self.restore(X, Y, {**hyper, "points": moved})

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n 1"], hyper: Json
    ) -> PhysicsModel:
        """A model with known hyper-parameters."""
        X, Y = _known(X, Y)
        standardization = standardization_of(Y)
        y = standardization.apply(Y)[0]
        parts = []
        for form in hyper["members"]:
            belief = Belief.from_json(form)
            parts.append(self._member(belief, X, y, standardization, hyper["points"]))
        weights = [form["weight"] for form in hyper["members"]]
        return PhysicsModel(parts, weights, standardization, self, hyper)

    def hyper(self, model: Model) -> Json:
        """Beliefs, weights and points, exact through JSON."""
        assert isinstance(model, PhysicsModel)
        return model.hyper

    def evidence_of(self, model: PhysicsModel, belief: Belief) -> Evidence:
        """The evidence that a belief of a model was fitted to."""
        s, points = model.standardization, model.hyper["points"]
        X, y = model.train_X, model.members[0].Y[0]
        theta = belief.theta(X.shape[1])
        C = None
        if not self.system.is_linear:
            member = self._member(belief, X, y, s, points)
            C = member.derivatives(self.system, points, self.scaled(s))
        return self._evidence(belief.kind, X, y, s, points, theta, C)

    def _beliefs(
        self,
        X: Tensor,
        Y: Tensor,
        points: Sequence[Sequence[int]],
        known: list[Belief],
    ) -> list[Belief]:
        """Those known, fitted anew; else all, without the one that is beaten anyway."""
        steps = 15 if known else 40
        kinds: list[Kind] = [b.kind for b in known] or ["held"]
        beliefs = [self._fitted(kind, X, Y, points, known, steps) for kind in kinds]
        if known or not self.is_checked:
            return beliefs
        beliefs.append(self._fitted("none", X, Y, points, [], steps))
        if _weights(beliefs)[0] > _CLEAR:
            return beliefs
        return [*beliefs, self._fitted("bent", X, Y, points, [], steps)]

    def _fitted(
        self,
        kind: Kind,
        X: Tensor,
        Y: Tensor,
        points: Sequence[Sequence[int]],
        known: list[Belief],
        n_steps: int,
    ) -> Belief:
        """A belief; where the equations are not linear, in turns with linearizing."""
        standardization = standardization_of(Y)
        y = standardization.apply(Y)[0]
        theta = self._first_theta(kind, known).to(X)
        C: list[Tensor] | None = None
        belief: Belief | None = None
        n_turns = 1 if self._is_closed or kind == "none" else 3
        for turn in range(n_turns):
            if not self.system.is_linear and kind != "none":
                start = belief or self._plain(X, y, standardization)
                C = self._member(start, X, y, standardization, points).derivatives(
                    self.system, points, self.scaled(standardization)
                )
            evidence = self._evidence(kind, X, y, standardization, points, theta, C)
            warm = known if belief is None else [belief]
            belief = evidence.fitted(kind, warm, n_steps if turn == 0 else 15)
            theta = belief.theta(X.shape[1])
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

    def _plain(self, X: Tensor, y: Tensor, standardization: Standardization) -> Belief:
        """A belief without equations, whose mean is where linearizing starts."""
        points = [[] for _ in self.system.locals]
        theta = torch.zeros(0, dtype=torch.float64)
        evidence = self._evidence("none", X, y, standardization, points, theta, None)
        return evidence.fitted("none", max_iterations=15)

    def _evidence(
        self,
        kind: str,
        X: Tensor,
        y: Tensor,
        standardization: Standardization,
        points: Sequence[Sequence[int]],
        theta: Tensor,
        C: list[Tensor] | None,
    ) -> Evidence:
        if kind == "none":
            linearization = Linearization.empty()
        else:
            linearization = Linearization.of(self.system, points, theta, C)
        s = self.scaled(standardization)
        return Evidence(linearization, X, y, float(s.shift[0]), float(s.scale[0]))

    def _member(
        self,
        belief: Belief,
        X: Tensor,
        y: Tensor,
        standardization: Standardization,
        points: Sequence[Sequence[int]],
    ) -> Member:
        """The posterior of a belief; derivatives C are found by iteration."""
        theta = belief.theta(X.shape[1])
        is_linear = self.system.is_linear or belief.kind == "none"

        def at(C: list[Tensor] | None) -> Member:
            kind = belief.kind
            evidence = self._evidence(kind, X, y, standardization, points, theta, C)
            return Member.of(belief, evidence)

        if is_linear:
            return at(None)
        free = Belief("none", belief.psi[: X.shape[1] + 2], 0.0)
        start = self._member(free, X, y, standardization, points)
        s = self.scaled(standardization)
        C = start.derivatives(self.system, points, s)
        for turn in range(_N_LINEARIZED):
            member = at(C)
            new = member.derivatives(self.system, points, s)
            share = 1.0 if turn < _N_LINEARIZED // 2 else 0.5
            moved = [c + share * (n - c) for c, n in zip(C, new, strict=True)]
            gaps = zip(moved, C, strict=True)
            change = max(float((a - b).norm() / (b.norm() + 1e-300)) for a, b in gaps)
            C = moved
            if change < _SETTLED:
                break
        return member


def _known(X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """The rows with a value."""
    if Y.ndim != 2 or Y.shape[1] != 1:
        raise InputError(
            f"Y has the shape {tuple(Y.shape)}; equations are of one output, (n, 1)."
        )
    is_known = ~Y[:, 0].isnan()
    return X[is_known], Y[is_known]


def _weights(beliefs: Sequence[Belief]) -> list[float]:
    """Posterior probabilities of the beliefs."""
    logs = [b.evidence + _LOG_ODDS[b.kind] for b in beliefs]
    weights: list[float] = torch.softmax(
        torch.tensor(logs, dtype=torch.float64), dim=0
    ).tolist()
    return weights
