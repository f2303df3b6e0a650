"""PINN-BO: optimization of what a partial differential equation governs.

Phan-Trong, doctoral thesis, ch. 5. The objective obeys N[f] = g; boundary conditions
need not be known. By default values and residuals have one joint posterior
(`surrogates.Physics`), and the next point maximizes the expected improvement on it,
with unknown constraints within their lower bounds, as in `neural-cbo`. `faithful` is
Algorithm 4 as printed (see `FaithfulPinnBO`).

Wrong physics: whether the equations hold, hold roughly or say nothing is a matter of
evidence. Where they are contradicted, a warning and the message say so; where nothing
of them is left, points are those of `neural-bo`, or `neural-cbo` with constraints.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.data.dataset import Dataset
from wideopt.exceptions import InputError, WideoptWarning
from wideopt.methods.base import (
    ModelCache,
    State,
    check_counts,
    fitted,
    incumbent,
    one_by_one,
)
from wideopt.methods.faithful import check_mode
from wideopt.methods.faithful_pinn_bo import FaithfulPinnBO
from wideopt.methods.neural_bo import NeuralBO
from wideopt.methods.neural_cbo import NeuralCBO
from wideopt.methods.parameters import Parameters
from wideopt.methods.pinn_unknowns import estimated_unknowns
from wideopt.search.design import seed_from
from wideopt.search.maximize import Search, maximize
from wideopt.search.stride import lengthened
from wideopt.space import Space
from wideopt.surrogates.base import outputs_of
from wideopt.surrogates.physics import Physics
from wideopt.surrogates.physics_model import PhysicsModel
from wideopt.surrogates.runs import joined
from wideopt.surrogates.tangent import Tangent

__all__ = ["PinnBO"]

_PAPER_ONLY = (
    *("activation", "depth", "width", "lr", "epochs"),
    *("lam", "B", "R", "delta"),
)
_DOUBTED = 0.05  # probability that the equations hold, below which the user is told
_NEAR = 0.01  # of the cube's side, within which points are next to each other
_LOST = 0.5  # probability that they say nothing, above which they are left out


class _Caches:
    """The examined equations and the last models; never state."""

    def __init__(self) -> None:
        self.objective, self.rest = ModelCache(), ModelCache()
        self.surrogates: dict[tuple[int, str], tuple[Space, Physics]] = {}


@dataclass(frozen=True)
class PinnBO:
    """Expected improvement on a posterior that obeys equations.

    Attributes:
        pde: physics of the objective, a `PDE` or a list of them; `minimize` and
            `Optimizer` set it from their argument of that name.
        is_maximized: whether the PDE is of what is maximized; `maximize` sets it.
        acquisition: "ei", or "ts" for Thompson sampling.
        is_checked: whether the data may contradict the equations; if not, these hold.
        n_candidates: points scored, before the gradient search unless faithful; by
            default 1024, and 10,000 if faithful.
        n_restarts: gradient climbs, 2 by default; there are none if faithful.
        faithful: whether to follow the thesis to the letter. These are for that only:
        activation: "tanh" by default; or "sin", "erf", "silu".
        depth: hidden layers, 1 by default.
        width: hidden units of each, 100 by default.
        lr: learning rate, as a multiple of the largest safe one; 1 by default.
        epochs: of training at every ask, 100 by default.
        lam: λ1 = λ2, variance of the noise of values and residuals, 1 by default.
        B: bound on the objective's norm in ν_t, 1 by default.
        R: deviation of the noise in ν_t, 0.1 by default.
        delta: probability that the bound behind ν_t fails, 0.1 by default.
    """

    pde: Any = None
    is_maximized: bool = False
    acquisition: Literal["ei", "ts"] = "ei"
    is_checked: bool = True
    n_candidates: int | None = None
    n_restarts: int | None = None
    faithful: bool = False
    activation: str | None = None
    depth: int | None = None
    width: int | None = None
    lr: float | None = None
    epochs: int | None = None
    lam: float | None = None
    B: float | None = None
    R: float | None = None
    delta: float | None = None
    caches: _Caches = field(
        default_factory=_Caches, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        counts = ("n_candidates", "n_restarts", "depth", "width", "epochs")
        check_counts(self, *(n for n in counts if getattr(self, n) is not None))
        check_mode(self, _PAPER_ONLY)
        if self.faithful:
            self._paper()

    def _paper(self) -> FaithfulPinnBO:
        names = ("n_candidates", *_PAPER_ONLY)
        given = {n: v for n in names if (v := getattr(self, n)) is not None}
        return FaithfulPinnBO(**given)

    @property
    def _counts(self) -> dict[str, int]:
        """How hard to search."""
        return {
            "n_candidates": self.n_candidates or 1024,
            "n_restarts": self.n_restarts or 2,
        }

    def check(self, space: Space, n_constraints: int) -> None:
        """Raise unless there are equations that suit the space."""
        del n_constraints
        if self.pde is None:
            raise InputError(
                "Method pinn-bo needs the physics of the objective: give "
                "pde=wideopt.PDE(operator, rhs), or use neural-bo."
            )
        self._surrogate(space, "cpu")

    def propose(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """Fit, then choose n points, each aware of the others."""
        rest, others = self._constraints(data, state.get("constraints", {}))
        if self.faithful:
            paper = self._paper()
            network, state = paper.trained(
                self._surrogate(data.space, str(data.X.device)).system,
                data,
                state,
                generator,
                is_negated=self.is_maximized,
            )
            points = paper.chosen(network, rest, data, n, generator)
            return points, {**state, "constraints": others}
        objective, own = self._objective(data, state.get("objective", {}))
        kept = {"objective": own, "constraints": others}
        told = self._verdict(objective, state)
        if told.pop("is_lost"):
            points, fallback = self._without(data, n, state, generator)
            return points, {**kept, **told, "without": fallback}

        def choose(data: Dataset) -> Tensor:
            outputs = _aware(objective, data)
            outputs += [] if rest is None else _aware(rest, data)
            return self._chosen(joined(outputs), data, generator)

        return one_by_one(data, n, choose), {**kept, **told}

    def parameters(self, data: Dataset, state: State) -> Parameters | None:
        """Estimates of unknown coefficients of the equations; None without any."""
        own = state.get("objective", {})
        surrogate = self._surrogate(data.space, str(data.X.device))
        if not surrogate.system.unknowns or "hyper" not in own:
            return None
        model = surrogate.restore(data.X, data.Y[:, :1], own["hyper"])
        return estimated_unknowns(model)

    def _surrogate(self, space: Space, device: str) -> Physics:
        known = self.caches.surrogates
        key = (id(space), device)
        if key not in known:  # the space is kept, so that its id stays its own
            known[key] = (
                space,
                Physics(
                    self.pde,
                    space,
                    is_checked=self.is_checked,
                    is_negated=self.is_maximized,
                    device=device,
                ),
            )
        return known[key][1]

    def _objective(self, data: Dataset, state: State) -> tuple[PhysicsModel, State]:
        """The model of the objective as told: compressed, it would obey no equation."""
        surrogate = self._surrogate(data.space, str(data.X.device))
        model, state = fitted(
            surrogate, data, state, self.caches.objective, data.Y[:, :1]
        )
        assert isinstance(model, PhysicsModel)
        return model, state

    def _constraints(self, data: Dataset, state: State) -> tuple[Model | None, State]:
        Z = data.Z[:, 1:]
        if Z.shape[1] == 0:
            return None, {}
        return fitted(Tangent(), data, state, self.caches.rest, Z)

    def _chosen(
        self, model: Model, data: Dataset, generator: torch.Generator
    ) -> Float[Tensor, " d"]:
        n, n_restarts = self._counts.values()
        device = str(data.X.device)
        # solutions of an elliptic equation have their extremes on the boundary
        search = Search(n - n // 2, n // 2, n_restarts, n_faces=n // 4)
        is_solved = bool(self._surrogate(data.space, device).solved)
        if is_solved and _is_circling(data):
            X = search.candidates(data, generator)[: max(search.n_faces, 1)]
            return _farthest(X, data)
        if self.acquisition == "ts":
            draw = PenalizedDraw.of(model, seed_from(generator))
            return maximize(draw, data, generator, search)
        if model.num_outputs > 1:
            within = NeuralCBO(n_candidates=n, n_restarts=n_restarts)
            return within.chosen(model, data, generator)[0]
        best = incumbent(model, data)
        improvement = LogExpectedImprovement(model, best_f=best, maximize=False)
        point = maximize(improvement, data, generator, search)
        return lengthened(point, model, data, best) if is_solved else point

    def _without(
        self, data: Dataset, n: int, state: State, generator: torch.Generator
    ) -> tuple[Float[Tensor, "n d"], State]:
        """The points of a method that knows nothing of equations."""
        is_free = data.Y.shape[1] == 1
        kind: Any = NeuralBO if is_free else NeuralCBO
        method = kind(**self._counts)
        points, fallback = method.propose(data, n, state.get("without", {}), generator)
        return points, fallback

    def _verdict(self, model: PhysicsModel, state: State) -> State:
        """What to tell of the equations; a warning where they first are in doubt."""
        shares = model.shares_by_kind
        told: State = {"is_lost": shares.get("none", 0.0) > _LOST}
        if model.held_share >= _DOUBTED:
            return told
        told["message"] = (
            "The data contradict the PDE: the probability that it holds is "
            f"{model.held_share:.2g}, so it counts for less"
            f"{' and is left out' if told['is_lost'] else ''}."
        )
        if "message" not in state:
            warnings.warn(told["message"], WideoptWarning, stacklevel=2)
        return told


def _is_circling(data: Dataset) -> bool:
    """Whether the last two observations are next to the best one.

    A model that solves its equation may be sure of a face on which nothing is known:
    now and then, a run that has settled looks elsewhere.
    """
    y = data.Y[:, 0].nan_to_num(nan=torch.inf)
    if data.n < 3 or data.Y.shape[1] > 1:
        return False
    gaps = (data.X[-2:] - data.X[y.argmin()]).abs().amax(dim=1)
    return bool((gaps < _NEAR).all())


def _farthest(X: Float[Tensor, "n d"], data: Dataset) -> Float[Tensor, " d"]:
    """The candidate farthest from all that is known or under way."""
    known = torch.cat([data.X, data.X_pending])
    point: Tensor = X[torch.cdist(X, known).min(dim=1).values.argmax()]
    return point


def _aware(model: Model, data: Dataset) -> list[Any]:
    """Each output, had every pending point come out at its posterior mean."""
    outputs: list[Any] = list(outputs_of(model))
    X = data.X_pending
    if X.shape[0] == 0:
        return outputs
    aware = []
    with torch.no_grad():
        for output in outputs:
            posterior: Any = output.posterior(X)
            # unlike a conditioned model, an extended one can be drawn from
            aware.append(output.extended(X, posterior.mean))
    return aware
