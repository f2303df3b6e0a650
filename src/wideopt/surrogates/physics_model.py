"""The fitted physics surrogate: beliefs in the equations, averaged, as a BoTorch model.

Notation: u = scale · w + shift, w standardized; ℓ[u] = b an equation of u, hence
ℓ[w] = (b - shift ℓ[1])/scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.numerics.physics import PhysicsPosterior
from wideopt.numerics.physics_evidence import Belief, Evidence
from wideopt.numerics.smooth import Functionals, Indices
from wideopt.pde._system import System
from wideopt.surrogates.moments import Standardization
from wideopt.surrogates.tangent_model import TangentModel

if TYPE_CHECKING:
    from wideopt.surrogates.physics import Physics

__all__ = ["Member", "PhysicsModel", "standardization_of"]

_UNRESOLVED = 1e-2  # residuals, in prior deviations, that make points move


def standardization_of(Y: Float[Tensor, "n 1"]) -> Standardization:
    """Mean 0 and deviation 1, also where squares would overflow or vanish."""
    size = Y.abs().max()
    if not size > 0:
        return Standardization.of(Y)
    s = Standardization.of(Y / size)
    return Standardization(s.shift * size, s.scale * size)


@dataclass(frozen=True)
class Member:
    """One belief: its posterior, and the equations' right sides before scaling."""

    belief: Belief
    posterior: PhysicsPosterior
    b: Float[Tensor, " r"]
    ones: Float[Tensor, " r"]

    @classmethod
    def of(cls, belief: Belief, evidence: Evidence) -> Member:
        """Fit."""
        d = evidence.d
        theta = belief.theta(d).to(evidence.X)
        groups, rhs = evidence.equations(theta)
        _, b = evidence.linearization.at(theta)
        ones = torch.cat([g.of_one for g in groups]) if groups else b
        belief = replace(belief, psi=belief.psi.to(evidence.X))
        posterior = PhysicsPosterior.of(
            belief.physics(d, evidence.solved), groups, rhs, evidence.X, evidence.y
        )
        return cls(belief, posterior, b, ones)

    def rhs(self, s: Standardization) -> Float[Tensor, " r"]:
        """The right sides for a standardized function."""
        return (self.b - s.shift[0] * self.ones) / s.scale[0]

    def grown(
        self, X: Float[Tensor, "q d"], y: Float[Tensor, " nq"], s: Standardization
    ) -> Member:
        """With q more values, all of them standardized anew."""
        if X.shape[0] == 0:
            posterior = self.posterior.with_targets(y, self.rhs(s))
        else:
            posterior = self.posterior.extended(X, y, self.rhs(s))
        return replace(self, posterior=posterior)

    def derivatives(
        self, system: System, points: Sequence[Sequence[int]], s: Standardization
    ) -> list[Float[Tensor, "n k"]]:
        """∂^α of the mean at the points of each equation, in the units of the data."""
        found = []
        for local, chosen in zip(system.locals, points, strict=True):
            T = local.T[list(chosen)]
            if all(sum(alpha) <= 1 for alpha in local.alphas):
                found.append(self._first_derivatives(local.alphas, T, s))
                continue
            columns = []
            for alpha in local.alphas:
                one = Functionals(T, T.new_ones(len(T), 1), (alpha,))
                mean, _ = self.posterior.of_functionals(one)
                columns.append(s.scale[0] * mean + s.shift[0] * one.of_one)
            found.append(torch.stack(columns, dim=1))
        return found

    def _first_derivatives(
        self, alphas: Indices, T: Float[Tensor, "n d"], s: Standardization
    ) -> Float[Tensor, "n k"]:
        """The same without higher orders, which in many dimensions costs far less."""
        mean, slopes = self.posterior.slopes(T)
        columns = [
            s.scale[0] * (slopes[:, alpha.index(1)] if any(alpha) else mean)
            + (0.0 if any(alpha) else s.shift[0])
            for alpha in alphas
        ]
        return torch.stack(columns, dim=1)


class PhysicsModel(TangentModel):
    """Complete from birth; `extended` and `grown` return new models.

    Args:
        parts: the beliefs that are averaged.
        shares: their weights, which sum to one.
        standardization: under which they saw their targets.
        surrogate: the recipe.
        hyper: what `surrogate.restore` needs to make it again.
    """

    def __init__(
        self,
        parts: Sequence[Member],
        shares: Sequence[float],
        standardization: Standardization,
        surrogate: Physics,
        hyper: dict[str, Any],
    ) -> None:
        first = parts[0].posterior
        weights = first.sigma.new_tensor(shares).unsqueeze(1)
        posteriors = [part.posterior for part in parts]
        super().__init__(posteriors, weights, standardization, recipe=hyper["members"])
        self.parts = tuple(parts)
        self.shares = tuple(shares)
        self.surrogate = surrogate
        self.hyper = hyper

    def grown(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "nq 1"]) -> PhysicsModel:
        """The model with q more points, and targets given for all points."""
        s = standardization_of(Y)
        if not self.surrogate.system.is_linear:  # where to linearize may have moved
            return self.surrogate.restore(torch.cat([self.train_X, X]), Y, self.hyper)
        y, sides = s.apply(Y)[0], self.surrogate.scaled(s)
        parts = [part.grown(X, y, sides) for part in self.parts]
        return PhysicsModel(parts, self.shares, s, self.surrogate, self.hyper)

    def subset_output(self, idcs: list[int]) -> PhysicsModel:
        """The model itself, which has one output."""
        del idcs
        return self

    @property
    def shares_by_kind(self) -> dict[str, float]:
        """Probability of each belief that is left."""
        pairs = zip(self.parts, self.shares, strict=True)
        return {part.belief.kind: share for part, share in pairs}

    @property
    def held_share(self) -> float:
        """Probability that the equations hold."""
        shares = self.shares_by_kind
        return sum(shares.get(kind, 0.0) for kind in ("held", "exact", "faces"))

    @property
    def likeliest(self) -> Member:
        """The likeliest belief in which equations play a part, or the first."""
        pairs = zip(self.shares, self.parts, strict=True)
        used = [pair for pair in pairs if pair[1].belief.kind != "none"]
        return max(used, key=lambda pair: pair[0])[1] if used else self.parts[0]

    @property
    def unknowns(self) -> dict[str, float]:
        """Estimates of the unknown coefficients by the likeliest belief."""
        return self._values(self.likeliest.belief)

    def _values(self, belief: Belief) -> dict[str, float]:
        if belief.kind == "none":
            return {}
        return self.surrogate.system.values(belief.theta(self.train_X.shape[1]))

    def residuals(
        self, number: int, T: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
        """Residual of the mean at T, and over its prior deviation, of one equation."""
        system, s = self.surrogate.system, self.surrogate.scaled(self.standardization)
        part = self.likeliest
        local = system.locals[number].at(T)
        pool = replace(system, locals=(local,))
        (C,) = part.derivatives(pool, [range(len(T))], s)
        known = self._values(part.belief)
        names = [name for name in local.equation.unknowns if name in known]
        A, F = local.linearized(C, {name: known[name] for name in names})
        a = Functionals(T, A, local.alphas)
        _, sd = part.posterior.of_functionals(a)
        if part.belief.kind in (
            "exact",
            "faces",
        ):  # it has none: take that of its terms
            sd = _deviation_of_terms(part.posterior, a)
        residual = F - local.rhs
        return residual, residual / (s.scale[0] * sd)

    def moved_points(self) -> list[list[int]] | None:
        """Points for each equation, half of them where its residual is large.

        None if it is not believed that they hold, or if they hold between the points as
        well.
        """
        if self.likeliest.belief.kind != "held":
            return None
        system = self.surrogate.system
        moved, is_new = [], False
        for number, (local, n) in enumerate(
            zip(system.locals, system.n_points, strict=True)
        ):
            chosen = list(self.hyper["points"][number])
            if len(local.T) > n:
                _, relative = self.residuals(number, local.T)
                size = relative.abs()
                if float(size.max()) > _UNRESOLVED:
                    kept = n - n // 2
                    order = kept + size[kept:].argsort(descending=True, stable=True)
                    chosen = [*range(kept), *sorted(order[: n // 2].tolist())]
                    is_new = True
            moved.append(chosen)
        return moved if is_new else None


def _deviation_of_terms(
    posterior: PhysicsPosterior, a: Functionals
) -> Float[Tensor, " n"]:
    """Prior deviation, were the derivatives of a functional independent."""
    total = torch.zeros_like(a.A[:, 0])
    for j, alpha in enumerate(a.alphas):
        one = Functionals(a.T, a.A[:, j : j + 1], (alpha,))
        total = total + posterior.of_functionals(one)[1].square()
    return total.sqrt()
