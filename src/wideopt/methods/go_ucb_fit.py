"""What GO-UCB knows: the regression oracle, and balls grown by one row at a time.

Paper: GO-UCB, eq. 2 to 6.

Notation:
    z         standardized targets of one output, with shift and spread frozen at a fit
    θ̂_0       oracle: argmin ½ Σ (h_θ(u_i) - z_i)² + λ/2 ‖θ‖²   (`numerics.parametric`)
    Σ, θ̂_t    shape and center of the ball; between fits they grow by eq. 3 and 5
    λ         ridge, by the least squared error of leaving one out (PRESS, Allen 1974)
    s²        zᵀ(JJᵀ + λI)⁻¹z / n, the most likely scale of the prior s² I of θ; then
              the noise variance is s²λ, and the covariance of θ is s²λ Σ⁻¹

PRESS and s² are those of the model linearized at θ̂_0, with J its Jacobian there.
With `is_faithful` the oracle is called once, after Phase I, and Σ starts from λI alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.acquisition.optimism import Belief
from wideopt.data.dataset import Dataset
from wideopt.methods.laws import Law
from wideopt.numerics.ellipsoid import Ball
from wideopt.numerics.levenberg_marquardt import solve
from wideopt.numerics.parametric import Parametric

__all__ = ["BallCache", "Oracle", "Output", "grown", "standardized", "targets", "tuned"]

_N_ROUGH, _N_FINE = 30, 60  # steps of a regression from each start, and of the best
_TRACE = 1e-6


@dataclass(frozen=True)
class Output:
    """A column of the data and the law that is to predict it.

    `sign` is -1 where the law predicts the negative of the column.
    """

    law: Law
    values: Float[Tensor, " n"]
    is_objective: bool
    sign: float = 1.0


@dataclass(frozen=True)
class Oracle:
    """How the regression of eq. 2 is solved.

    Attributes:
        n_starts: random starts, beside the last estimate.
        lams: values of λ to choose from.
        is_faithful: whether there is no ridge, and Σ starts from λI alone.
    """

    n_starts: int
    lams: tuple[float, ...]
    is_faithful: bool = False

    def fit(
        self,
        output: Output,
        U: Float[Tensor, "n d"],
        last: dict[str, Any] | None,
        generator: torch.Generator,
    ) -> dict[str, Any]:
        """θ̂_0, λ, s² and the scale of the targets, as JSON."""
        shift, spread = _scale(output)
        form: dict[str, Any] = {"shift": shift, "spread": spread}
        model = standardized(output, form)
        is_seen = ~output.values.isnan()
        z, U = targets(output, form)[is_seen], U[is_seen]
        lam = self.lams[0] if last is None else last["lam"]
        starts = self._starts(output.law, last, generator)
        theta = self._regression(model, U, z, starts, lam)
        chosen, size = tuned(model, U, z, theta[0], self.lams)
        if chosen != lam:
            theta = self._regression(model, U, z, theta, chosen)
        return {**form, "lam": chosen, "size": size, "theta": theta[0].tolist()}

    def _starts(
        self, law: Law, last: dict[str, Any] | None, generator: torch.Generator
    ) -> Float[Tensor, "b p"]:
        """The last estimate, or a user's initial guess, and random starts."""
        starts = law.starts(self.n_starts, generator)
        if last is not None:
            return torch.cat([starts.new_tensor(last["theta"])[None, :], starts])
        return (
            torch.cat([torch.zeros_like(starts[:1]), starts]) if law.is_own else starts
        )

    def _regression(
        self, model: Parametric, U: Tensor, z: Tensor, starts: Tensor, lam: float
    ) -> Float[Tensor, "1 p"]:
        """The best θ over all starts: roughly from each, then the best with care."""

        def residuals(theta: Tensor) -> tuple[Tensor, Tensor]:
            h, J = model.jacobians(theta, U)
            return h - z, J

        # eq. 2 has no ridge; a trace of one picks a solution where there are many
        ridge = _TRACE if self.is_faithful else lam
        bounds = model.low, model.high
        found = solve(
            residuals,
            starts,
            ridge=ridge,
            bounds=bounds,
            max_iterations=_N_ROUGH,
            tolerance=1e-3,
        )
        best = int(found.loss.argmin())
        theta = found.theta[best : best + 1]
        return solve(
            residuals,
            theta,
            ridge=ridge,
            bounds=bounds,
            max_iterations=_N_FINE,
            tolerance=1e-6,
        ).theta

    def ball(
        self, model: Parametric, U: Float[Tensor, "n d"], form: dict[str, Any]
    ) -> Ball:
        """The ball just after a fit to the rows U."""
        theta = U.new_tensor(form["theta"])
        if self.is_faithful or len(U) == 0:
            return Ball.around(theta, theta[None, :][:0], form["lam"])
        _, J = model.jacobians(theta[None, :], U)
        return Ball.around(theta, J[0].nan_to_num(0.0, 0.0, 0.0), form["lam"])


def tuned(
    model: Parametric,
    U: Float[Tensor, "n d"],
    z: Float[Tensor, " n"],
    theta: Float[Tensor, " p"],
    lams: Sequence[float],
) -> tuple[float, float]:
    """The λ of least PRESS, and s² for it, of the model linearized at θ."""
    h, J = model.jacobians(theta[None, :], U)
    J = J[0].nan_to_num(0.0, 0.0, 0.0)
    y = (z - h[0] + J @ theta).nan_to_num(0.0, 0.0, 0.0)  # J θ' should equal it
    P, k, _ = torch.linalg.svd(J, full_matrices=False)
    inner = P.T @ y
    outside = (y.square().sum() - inner.square().sum()).clamp_min(0.0)  # of J's range
    found = []
    for lam in lams:
        share = k.square() / (k.square() + lam)
        left_out = (y - P @ (share * inner)) / (1 - P.square() @ share).clamp_min(1e-9)
        size = ((inner.square() / (k.square() + lam)).sum() + outside / lam) / len(z)
        found.append((float(left_out.square().sum()), lam, float(size)))
    _, lam, size = min(found)
    return lam, min(max(size, 1e-12), 1e12)


def standardized(output: Output, form: dict[str, Any]) -> Parametric:
    """The law's model, in the units of the targets."""
    if not output.law.is_own:  # learns the targets as they are
        return output.law.model
    return replace(output.law.model, spread=output.sign * form["spread"])


def targets(output: Output, form: dict[str, Any]) -> Float[Tensor, " n"]:
    """The column in standard units; for a network with far tails compressed."""
    limited = output.values.clamp(-1e300, 1e300)
    z: Tensor = (limited - form["shift"]) / form["spread"]
    z = z.clamp(-1e300, 1e300)
    if output.law.is_own:
        return z
    start = torch.where(z < 0, 20.0, 5.0) if output.is_objective else z.new_tensor(5.0)
    excess = (z.abs() - start).clamp_min(0.0)
    return torch.where(excess > 0, z.sign() * (start + excess.log1p().log1p()), z)


def _scale(output: Output) -> tuple[float, float]:
    """Shift and spread: mean and deviation; 0 and a typical size if c or own.

    A law of the user may be off by far in places, so its spread is a robust one. For
    the network that would be the noise, once a search stays where all is equally good.
    """
    known = output.values[~output.values.isnan()].clamp(-1e300, 1e300)
    if not output.is_objective:
        return 0.0, _median(known.abs())
    if not output.law.is_own:
        most = known.abs().max().clamp_min(1e-300)  # its square may overflow
        spread = float(most * (known / most).std(correction=0))
        is_flat = not spread > 1e-12 * float(most)
        return float(most * (known / most).mean()), 1.0 if is_flat else spread
    center = known.median()
    spread = float(known.quantile(0.75) - known.quantile(0.25)) / 1.349
    if not spread > 1e-12 * abs(float(center)):  # more than half are equal
        spread = _median((known - center).abs())
    return 0.0, spread


def _median(sizes: Float[Tensor, " n"]) -> float:
    positive = sizes[sizes > 0]
    return max(float(positive.median()), 1e-300) if len(positive) else 1.0


class BallCache:
    """The last balls, so that an ask after one tell adds a row and no more.

    Never state: without it `grown` repeats the same steps from the last fit.
    """

    def __init__(self) -> None:
        self.key: Any = None
        self.X: Tensor = torch.zeros(0)
        self.Z: list[Tensor] = []
        self.balls: list[Ball] = []

    def lookup(self, key: Any, X: Tensor, Z: Sequence[Tensor]) -> int:
        """How many rows the kept balls hold, if those are the first rows; else 0."""
        n = len(self.X)
        if self.key != key or n > len(X) or not torch.equal(self.X, X[:n]):
            return 0
        pairs = zip(self.Z, Z, strict=True)
        is_same = all(torch.equal(a.nan_to_num(), b[:n].nan_to_num()) for a, b in pairs)
        return n if is_same else 0

    def keep(self, key: Any, X: Tensor, Z: list[Tensor], balls: list[Ball]) -> None:
        """Remember these."""
        self.key, self.X, self.Z, self.balls = key, X, Z, balls


def grown(
    outputs: Sequence[Output],
    data: Dataset,
    state: dict[str, Any],
    oracle: Oracle,
    cache: BallCache,
) -> list[Belief]:
    """Beliefs from the last fit, grown by every row since."""
    forms, at = state["outputs"], state["fitted_at"]
    models = [standardized(o, form) for o, form in zip(outputs, forms, strict=True)]
    Z = [targets(o, form) for o, form in zip(outputs, forms, strict=True)]
    begin = cache.lookup(forms, data.X, Z)
    if begin >= at:
        balls = list(cache.balls)
    else:
        begin, balls = at, []
        for model, z, form in zip(models, Z, forms, strict=True):
            balls.append(oracle.ball(model, data.X[:at][~z[:at].isnan()], form))
    for i in range(begin, data.n):
        triples = zip(models, balls, Z, strict=True)
        balls = [_with_row(model, ball, data.X[i], z[i]) for model, ball, z in triples]
    cache.keep(forms, data.X, Z, balls)
    return [Belief(model, ball) for model, ball in zip(models, balls, strict=True)]


def _with_row(model: Parametric, ball: Ball, u: Tensor, z: Tensor) -> Ball:
    """The ball after one more observation; unchanged if it tells nothing."""
    if bool(z.isnan()):
        return ball
    h, G = model.at(ball.center, u[None, :])
    h, G = h.detach(), G.detach()
    if not bool(torch.isfinite(h).all() & torch.isfinite(G).all()):
        return ball
    new = ball.updated(G[0], z - h[0])
    return replace(new, center=torch.clamp(new.center, model.low, model.high))
