"""The fitted tangent surrogate: a mixture of tangent posteriors as a BoTorch model.

Each member is the posterior of one network (an initialization, an activation, a depth)
for all outputs at once; members are averaged with weights w (their evidence, or equal):

    mean = Σ w_i m_i,   C = Σ w_i (C_i + (m_i - mean)(m_i - mean)ᵀ)

A member is asked only about outputs for which it has weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wideopt.numerics.conditioning import ConditionedPosterior, Posterior
from wideopt.numerics.kernel import Draw
from wideopt.surrogates.moments import MomentModel, Standardization

__all__ = ["Share", "TangentDraws", "TangentModel"]


class Share(NamedTuple):
    """A member for the outputs on which it has weight; None stands for all of them."""

    member: Any
    outputs: Tensor | None
    weights: Float[Tensor, " o"]


class TangentModel(MomentModel):
    """Complete from birth; `extended` and `grown` return new models.

    Args:
        members: tangent posteriors, each of batch (o,).
        weights: of the members, for each output; they sum to one.
        standardization: under which the members saw their targets.
        recipe: the members' hyper-parameters, as JSON.
        batch: of the fantasies that the members were conditioned on.
    """

    def __init__(
        self,
        members: Sequence[Posterior],
        weights: Float[Tensor, "members o"],
        standardization: Standardization,
        *,
        recipe: list[dict[str, Any]],
        batch: torch.Size | None = None,
    ) -> None:
        super().__init__(standardization, batch=batch or torch.Size())
        self.members: tuple[Any, ...] = tuple(members)
        self.weights = weights
        self.recipe = recipe

    @cached_property
    def active(self) -> tuple[Share, ...]:
        """Each member with the outputs it counts for."""
        shares = []
        for member, weights in zip(self.members, self.weights, strict=True):
            outputs = weights.nonzero().flatten()
            is_whole = isinstance(member, ConditionedPosterior)  # of given points
            if outputs.numel() == weights.numel() or is_whole:
                shares.append(Share(member, None, weights))
            elif outputs.numel() > 0:
                part = member.selected(outputs.tolist())
                shares.append(Share(part, outputs, weights[outputs]))
        return tuple(shares)

    def moments(
        self, X: Float[Tensor, "... q d"]
    ) -> tuple[Float[Tensor, "... o q"], Float[Tensor, "... o q q"]]:
        """Joint mean and covariance of the standardized outputs."""
        parts: list[tuple[Tensor, Tensor]]
        parts = [share.member.moments(X.unsqueeze(-3)) for share in self.active]
        if len(parts) == 1:
            return parts[0]
        mean = self._mixed([m for m, _ in parts], 1)
        offs = self._from(mean, [m for m, _ in parts], 1)
        pairs = zip(parts, offs, strict=True)
        spreads = [C + off.unsqueeze(-1) * off.unsqueeze(-2) for (_, C), off in pairs]
        return mean, self._mixed(spreads, 2)

    def marginals(
        self, X: Float[Tensor, "... q d"]
    ) -> tuple[Float[Tensor, "... o q"], Float[Tensor, "... o q"]]:
        """Mean and variance of the standardized outputs, point by point."""
        parts: list[tuple[Tensor, Tensor]]
        parts = [share.member.marginals(X.unsqueeze(-3)) for share in self.active]
        return self._marginals(parts, 1)

    def means(self, X: Float[Tensor, "... d"]) -> Float[Tensor, "... o"]:
        """Mean of each output at each point, in the units of the data."""
        A = X.unsqueeze(-2)
        parts = [share.member.mean(A.unsqueeze(-3)) for share in self.active]
        mean = parts[0] if len(parts) == 1 else self._mixed(parts, 1)
        s = self.standardization
        return s.shift + s.scale * mean.squeeze(-1)

    def marginals_apart(
        self, X: Float[Tensor, "... o d"]
    ) -> tuple[Float[Tensor, "... o"], Float[Tensor, "... o"]]:
        """Mean and variance of each standardized output at a point of its own.

        The gradient of their sum is then the Jacobian of all outputs: one pass.
        """
        parts: list[tuple[Tensor, Tensor]] = []
        for share in self.active:
            own = X if share.outputs is None else X[..., share.outputs, :]
            mean, variance = share.member.marginals(own.unsqueeze(-2))
            parts.append((mean.squeeze(-1), variance.squeeze(-1)))
        return self._marginals(parts, 0)

    def _marginals(
        self, parts: list[tuple[Tensor, Tensor]], n_trailing: int
    ) -> tuple[Tensor, Tensor]:
        if len(parts) == 1:
            return parts[0]
        mean = self._mixed([m for m, _ in parts], n_trailing)
        offs = self._from(mean, [m for m, _ in parts], n_trailing)
        pairs = zip(parts, offs, strict=True)
        spreads = [v + off.square() for (_, v), off in pairs]
        return mean, self._mixed(spreads, n_trailing)

    def _mixed(self, parts: list[Tensor], n_trailing: int) -> Tensor:
        """Σ w_i part_i over shares, with n_trailing dimensions after the outputs'."""
        axis = -1 - n_trailing
        total: Tensor | None = None
        for share, part in zip(self.active, parts, strict=True):
            term = share.weights.reshape(-1, *(1,) * n_trailing) * part
            if share.outputs is not None:
                shape = list(term.shape)
                shape[axis] = self.num_outputs
                term = term.new_zeros(shape).index_add(axis, share.outputs, term)
            total = term if total is None else total + term
        assert total is not None
        return total

    def _from(self, mean: Tensor, parts: list[Tensor], n_trailing: int) -> list[Tensor]:
        """The means of shares, each seen from that of the mixture."""
        axis = -1 - n_trailing
        pairs = zip(self.active, parts, strict=True)
        return [
            part - (mean if s.outputs is None else mean.index_select(axis, s.outputs))
            for s, part in pairs
        ]

    def _average(self, parts: list[Tensor]) -> Tensor:
        """Σ w_i part_i over members, of numbers for all outputs."""
        total = self.weights[0] * parts[0]
        for weights, part in zip(self.weights[1:], parts[1:], strict=True):
            total = total + weights * part
        return total

    @property
    def noise(self) -> Float[Tensor, "... o"]:
        """Observation noise, averaged over the members."""
        return self._average([member.noise for member in self.members])

    @property
    def train_X(self) -> Float[Tensor, "n d"]:
        """Training points."""
        X: Tensor = self.members[0].X
        return X

    @property
    def train_Y(self) -> Float[Tensor, "n o"]:
        """Training outputs, in the units of the data."""
        s = self.standardization
        Y: Tensor = self.members[0].Y.mT * s.scale + s.shift
        return Y

    @property
    def information_gain(self) -> Float[Tensor, " o"]:
        """½ log det(I + K/λ) of the data, averaged over the members."""
        return self._average([member.information_gain for member in self.members])

    def _with(self, members: Sequence[Posterior], **changes: Any) -> TangentModel:
        settings = {
            "weights": self.weights,
            "standardization": self.standardization,
            "recipe": self.recipe,
            "batch": self.batch_shape,
            **changes,
        }
        return TangentModel(members, **settings)

    def extended(
        self, X: Float[Tensor, "q d"], Y: Float[Tensor, "q o"]
    ) -> TangentModel:
        """The model with q more observations, in O(n² q) (or O(p² q))."""
        return self.grown(X, torch.cat([self.train_Y, Y]))

    def grown(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "nq o"]) -> TangentModel:
        """The model with q more points, and targets given for all points."""
        s = Standardization.of(Y)
        targets = s.apply(Y)
        if X.shape[0] == 0:
            members = [m.with_targets(targets) for m in self.members]
        else:
            members = [m.extended(X, targets) for m in self.members]
        return self._with(members, standardization=s)

    def subset_output(self, idcs: list[int]) -> TangentModel:
        """The model of some of the outputs, of the members that count for them."""
        weights = self.weights[:, idcs]
        kept = [i for i, w in enumerate(weights) if bool(w.any())]
        return self._with(
            [self.members[i].selected(idcs) for i in kept],
            weights=weights[kept],
            recipe=[self.recipe[i] for i in kept],
            standardization=self.standardization.subset(idcs),
        )

    @property
    def has_grain(self) -> bool:
        """Whether any member that counts has one."""
        return any("grain" in known["hyper"] for known in self.recipe)

    def smooth(self) -> TangentModel:
        """The model of the trend alone; see `numerics.grain`."""
        return self._with([member.smooth() for member in self.members])

    def condition_on_observations(
        self, X: Tensor, Y: Tensor, **kwargs: Any
    ) -> TangentModel:
        """The model given more observations, for a whole batch of them at once.

        Nothing of the size of the data is copied, and gradients flow to X, as knowledge
        gradients need; `extended` is for observations that are there to stay.
        """
        del kwargs  # BoTorch passes noise levels, which this model has inferred
        batch = torch.broadcast_shapes(X.shape[:-2], Y.shape[:-2])
        if X.shape[-2] == 0:
            return self._with(self.members, batch=batch)
        targets = self.standardization.apply(Y)
        members = [m.conditioned(X.unsqueeze(-3), targets) for m in self.members]
        return self._with(members, batch=batch)

    def draw(
        self, generator: torch.Generator, n_draws: int = 1, nu: float = 1.0
    ) -> TangentDraws:
        """Joint posterior functions, each cheap and differentiable.

        Each is of one member, and of ν times the deviation from that member's mean.
        """
        cumulated = self.weights.cumsum(dim=0).cpu()
        u = torch.rand(
            (1, n_draws, self.num_outputs), generator=generator, dtype=torch.float64
        )
        chosen = (u > cumulated[:-1].unsqueeze(1)).sum(dim=0)
        parts: list[_Part] = []
        for i, member in enumerate(self.members):
            outputs = (chosen == i).any(dim=0).nonzero().flatten().tolist()
            if not outputs:
                continue
            is_all = len(outputs) == self.num_outputs
            part = member if is_all else member.selected(outputs)
            drawn = part.draw(generator, n_draws, nu)
            parts.append(_Part(drawn, outputs, chosen[:, outputs] == i))
        return TangentDraws(tuple(parts), self.standardization)

    def independent_draw(
        self, X: Float[Tensor, "... q d"], generator: torch.Generator
    ) -> Float[Tensor, "... q o"]:
        """Every point drawn on its own, as the papers' Thompson sampling does."""
        mean, variance = self.marginals(X)
        z = torch.randn(mean.shape, generator=generator, dtype=torch.float64).to(mean)
        s = self.standardization
        return (mean + variance.sqrt() * z).mT * s.scale + s.shift


@dataclass(frozen=True)
class _Part:
    """Functions of one member for some of the outputs, and which of them count."""

    draw: Draw
    outputs: list[int]
    is_chosen: Bool[Tensor, "s o"]


@dataclass(frozen=True)
class TangentDraws:
    """Sampled functions, each of one member."""

    parts: tuple[_Part, ...]
    standardization: Standardization

    def __call__(self, X: Float[Tensor, "... q d"]) -> Float[Tensor, "s ... q o"]:
        """Values of all s functions at X, in the units of the data."""
        s = self.standardization
        columns: list[Tensor | None] = [None] * s.shift.shape[0]
        for part in self.parts:
            values = part.draw(X.unsqueeze(-3)).movedim(-2, -1)  # (s, *t, q, o)
            for i, output in enumerate(part.outputs):
                column, known = values[..., i], columns[output]
                if known is not None:
                    mask = part.is_chosen[:, i].to(column.device)
                    mask = mask.reshape(-1, *(1,) * (column.ndim - 1))
                    column = torch.where(mask, column, known)
                columns[output] = column
        chosen = [column for column in columns if column is not None]
        return torch.stack(chosen, dim=-1) * s.scale + s.shift
