"""Maximize over the point and the parameters of its models together.

Paper: GO-UCB, Algorithm 1, step 5: argmax over x of the max over w in Ball_t.

Candidates are scored by what the first-order best parameters promise, and the best few
climb by L-BFGS over the real dimensions of the point and the parameters of every model,
in coordinates v in which each ball is the unit ball, so that projection onto it is
exact. `ascend` is the paper's own way: gradient steps and Euclidean projections.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.acquisition.optimism import (
    Belief,
    FirstStep,
    optimistic_value,
    penalized,
)
from wideopt.data.dataset import Dataset
from wideopt.numerics.ellipsoid import Projector
from wideopt.numerics.lbfgs import minimize_each
from wideopt.search.candidates import candidates, snapped
from wideopt.search.maximize import Search, best_new, score
from wideopt.search.mixed import improve_mixed, real_dims

__all__ = ["ascend", "climb", "maximize_jointly"]


def maximize_jointly(
    beliefs: Sequence[Belief],
    data: Dataset,
    generator: torch.Generator,
    search: Search,
) -> Float[Tensor, " d"]:
    """The best new legal point that the joint search finds."""
    X = search.candidates(data, generator)
    known = torch.cat([data.X, data.X_pending])
    acqf = FirstStep(beliefs)
    values = score(acqf, X)
    starts = X[values.argsort(descending=True, stable=True)[: search.n_restarts]]
    free = real_dims(data.space)
    climbed, heights = climb(beliefs, starts, free, search)
    if not data.space.is_continuous:
        walked = improve_mixed(acqf, data, snapped(data.space, climbed), search.box)
        again, higher = climb(beliefs, walked, free, search)
        climbed, heights = torch.cat([again, climbed]), torch.cat([higher, heights])
    pool = torch.cat([snapped(data.space, climbed), X])
    return best_new(pool, torch.cat([heights, values]), known)


def climb(
    beliefs: Sequence[Belief],
    starts: Float[Tensor, "r d"],
    free: list[int],
    search: Search,
) -> tuple[Float[Tensor, "r d"], Float[Tensor, " r"]]:
    """Joint ascent from each start: the points, with `free` moved, and their values."""
    sizes = [belief.model.p for belief in beliefs]
    with torch.no_grad():
        V = [belief.first_step(starts)[1] for belief in beliefs]

    def fun(z: Tensor, index: Int[Tensor, " r"]) -> tuple[Tensor, Tensor]:
        z = z.detach().requires_grad_()
        u, *v = z.split([len(free), *sizes], dim=1)
        U = starts[index].index_copy(1, columns, u)
        loss = -optimistic_value(beliefs, v, U)
        (grad,) = torch.autograd.grad(loss.sum(), z)
        return loss.detach(), grad

    columns = torch.tensor(free, dtype=torch.long, device=starts.device)
    z0 = torch.cat([starts[:, free], *V], dim=1)
    end = torch.full_like(z0[0], torch.inf)
    low, high = -end, end.clone()
    low[: len(free)], high[: len(free)] = search.limits(starts.shape[1])[:, free]
    found = minimize_each(
        fun,
        z0,
        bounds=(low, high),
        max_iterations=search.max_iter,
        tolerance=1e-5,
        floor=1e-3,
    )
    points = starts.index_copy(1, columns, found.x[:, : len(free)])
    return points, -found.f


def ascend(
    beliefs: Sequence[Belief],
    data: Dataset,
    generator: torch.Generator,
    *,
    n_steps: int = 2000,
    rate: float = 1e-4,
) -> Float[Tensor, " d"]:
    """The paper's search (appendix D.1): gradient steps over x and w from one point."""
    u = candidates(data, 1, 0, generator)[:1]
    free = torch.zeros_like(u)
    free[:, real_dims(data.space)] = 1.0
    projectors = [Projector.of(belief.ball) for belief in beliefs]
    W = [belief.ball.center[None, :] for belief in beliefs]
    for _ in range(n_steps):
        u, W = u.detach().requires_grad_(), [w.detach().requires_grad_() for w in W]
        pairs = zip(beliefs, W, strict=True)
        outputs = [b.model.values(w, u.unsqueeze(1))[:, 0] for b, w in pairs]
        du, *dW = torch.autograd.grad(penalized(outputs).sum(), [u, *W])
        if not bool(torch.isfinite(du).all()):
            break
        u = (u + rate * free * du).clamp(0.0, 1.0)
        moved = zip(projectors, W, dW, strict=True)
        W = [project(w + rate * dw.nan_to_num()) for project, w, dw in moved]
    known = torch.cat([data.X, data.X_pending])
    spare = candidates(data, 64, 0, generator)
    pool = torch.cat([snapped(data.space, u.detach()), spare])
    return best_new(pool, -torch.arange(len(pool)).to(pool), known)
