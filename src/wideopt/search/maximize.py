"""Maximize an acquisition over the legal points of the unit cube.

Three stages: score candidates, climb from the best few by L-BFGS-B (BoTorch), and in a
mixed space alternate exact steps over the discrete parameters with climbs over the
real ones. The point returned is legal, and new unless every config is already known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.optim.optimize import optimize_acqf
from botorch.utils.sampling import manual_seed
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.search.candidates import candidates, moved_into, on_faces, snapped
from wideopt.search.design import seed_from
from wideopt.search.mixed import improve_mixed, real_dims
from wideopt.surrogates.base import quiet

__all__ = ["Search", "Vector", "best_new", "climb", "maximize", "score"]

Vector = NDArray[np.float64]
AtPoint = Callable[[Vector], tuple[float, Vector]]

_SAME = 1e-9  # points closer than this in every coordinate are the same point
_CHUNK = 256  # points scored at a time: wide draws of more would leave the cache


@dataclass(frozen=True)
class Search:
    """How hard to search.

    Attributes:
        n_global: candidates spread over the cube.
        n_local: candidates near the best observations.
        n_restarts: candidates from which a gradient climb starts.
        max_iter: steps of each climb.
        box: lower and upper corner of where to search; by default the whole cube.
        n_faces: of the candidates everywhere, how many are moved to a face of the cube.
    """

    n_global: int = 512
    n_local: int = 256
    n_restarts: int = 4
    max_iter: int = 60
    box: Float[Tensor, "2 d"] | None = None
    n_faces: int = 0

    def candidates(
        self, data: Dataset, generator: torch.Generator
    ) -> Float[Tensor, "n d"]:
        """Legal points to begin with, those of the box if there is one."""
        X = candidates(data, self.n_global, self.n_local, generator)
        is_all = data.space.n_configs <= self.n_global + self.n_local
        if self.n_faces and not is_all:
            n = self.n_faces
            X = torch.cat([snapped(data.space, on_faces(X[:n])), X[n:]])
        if self.box is None or is_all:
            return X
        return snapped(data.space, moved_into(self.box, X, self.n_global))

    def limits(self, d: int) -> Float[Tensor, "2 d"]:
        """The box, or the cube."""
        if self.box is not None:
            return self.box
        return torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, d)


def maximize(
    acqf: AcquisitionFunction,
    data: Dataset,
    generator: torch.Generator,
    search: Search | None = None,
    at_point: AtPoint | None = None,
) -> Float[Tensor, " d"]:
    """The best new legal point that the search finds.

    `at_point` gives -acqf and its gradient at a point, if there is a faster way to them
    than automatic differentiation.
    """
    search = search or Search()
    X = search.candidates(data, generator)
    known = torch.cat([data.X, data.X_pending])
    with quiet():
        values = score(acqf, X)
        starts = X[values.argsort(descending=True, stable=True)[: search.n_restarts]]
        climbed = climb(acqf, data, starts, search, generator, at_point)
        if not data.space.is_continuous:
            climbed = snapped(data.space, climbed)
            climbed = improve_mixed(acqf, data, climbed, search.box)
            climbed = climb(acqf, data, climbed, search, generator, at_point)
        climbed = snapped(data.space, climbed)
        pool = torch.cat([climbed, X])
        values = torch.cat([score(acqf, climbed), values])
    return best_new(pool, values, known)


def score(acqf: AcquisitionFunction, X: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Acquisition values of points, without gradients; NaN counts as worst."""
    with torch.no_grad():
        values = torch.cat([acqf(chunk.unsqueeze(-2)) for chunk in X.split(_CHUNK)])
    return values.nan_to_num(nan=-torch.inf)


def best_new(
    pool: Float[Tensor, "n d"], values: Float[Tensor, " n"], known: Float[Tensor, "k d"]
) -> Float[Tensor, " d"]:
    """The point of highest value that is not known yet (the very best if all are)."""
    order = values.argsort(descending=True, stable=True)
    point: Tensor
    for point in pool[order]:
        if not bool(((known - point).abs() <= _SAME).all(dim=1).any()):
            return point
    return pool[order[0]]


def climb(
    acqf: AcquisitionFunction,
    data: Dataset,
    starts: Float[Tensor, "r d"],
    search: Search,
    generator: torch.Generator,
    at_point: AtPoint | None = None,
) -> Float[Tensor, "r d"]:
    """Climb from all starts at once; discrete dimensions stay where they are."""
    free = real_dims(data.space)
    if not free or search.max_iter == 0:
        return starts
    if at_point is not None:
        return torch.stack([_climb_one(at_point, x, search, free) for x in starts])
    # In a mixed space one by one, each with what is discrete pinned at its start.
    batches = [starts] if len(free) == data.n_dims else list(starts.split(1))
    with manual_seed(seed_from(generator)):
        return torch.cat([_climb_batch(acqf, b, search, free) for b in batches])


def _climb_batch(
    acqf: AcquisitionFunction,
    starts: Float[Tensor, "r d"],
    search: Search,
    free: list[int],
) -> Float[Tensor, "r d"]:
    first = starts[0]
    pinned = {i: float(first[i]) for i in range(len(first)) if i not in free}
    try:
        climbed, _ = optimize_acqf(
            acqf,
            bounds=search.limits(len(first)).to(first),
            q=1,
            num_restarts=starts.shape[0],
            batch_initial_conditions=starts.unsqueeze(-2),
            fixed_features=pinned or None,
            options={"maxiter": search.max_iter},
            return_best_only=False,
            retry_on_optimization_warning=False,
        )
    except RuntimeError:  # a NaN gradient, a matrix that is not positive definite
        return starts
    return climbed.detach().reshape(starts.shape)


def _climb_one(
    at_point: AtPoint, start: Float[Tensor, " d"], search: Search, free: list[int]
) -> Float[Tensor, " d"]:
    point = start.cpu().numpy().copy()
    low, high = search.limits(len(point))[:, free].tolist()

    def at(x: Vector) -> tuple[float, Vector]:
        point[free] = x
        value, slope = at_point(point)
        return value, slope[free]

    found = minimize(
        at,
        start.cpu().numpy()[free],
        jac=True,
        bounds=list(zip(low, high, strict=True)),
        method="L-BFGS-B",
        options={"maxiter": search.max_iter},
    )
    if not np.isfinite(found.x).all():
        return start
    point[free] = found.x
    return torch.from_numpy(point).to(start)
