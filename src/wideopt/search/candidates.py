"""Candidate points: some everywhere, some near the best ones known."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.search.design import seed_from, sobol_points
from wideopt.space import Space

__all__ = [
    "around",
    "candidates",
    "distinct",
    "leaders",
    "merits",
    "moved_into",
    "on_faces",
    "scattered",
    "snapped",
]

_N_SPARE = 1024  # configs tried in place of a repeated one


def candidates(
    data: Dataset, n_global: int, n_local: int, generator: torch.Generator
) -> Float[Tensor, "n d"]:
    """Legal points: Sobol over the cube, and perturbations of the leaders.

    All of them, if the space has no more.
    """
    if data.space.n_configs <= n_global + n_local:
        return torch.from_numpy(data.space.every_point()).to(data.X)
    X = scattered(data.space, n_global, seed_from(generator)).to(data.X)
    centers = leaders(data, 4)
    if centers.shape[0] > 0:
        X = torch.cat([X, around(centers, n_local, generator)])
    return snapped(data.space, X)


def moved_into(
    box: Float[Tensor, "2 d"], X: Float[Tensor, "n d"], n_global: int
) -> Float[Tensor, "n d"]:
    """The first points shrunk into the box, the others moved to its nearest point."""
    low, high = box
    inside = low + (high - low) * X[:n_global]
    return torch.cat([inside, torch.maximum(torch.minimum(X[n_global:], high), low)])


def on_faces(X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """The points moved to faces of the cube, to each of the 2 d in turn."""
    n, d = X.shape
    rows = torch.arange(n, device=X.device)
    moved = X.clone()
    moved[rows, rows % d] = ((rows // d) % 2).to(X)
    return moved


def scattered(space: Space, n: int, seed: int, start: int = 0) -> Float[Tensor, "n d"]:
    """Legal points start, ..., start + n - 1 of a sequence that fills the space."""
    if space.candidates is None:
        return snapped(space, sobol_points(space.n_dims, n, seed, start))
    # Rows may lie anywhere in the cube: those next to Sobol points are not typical.
    codes = torch.from_numpy(space.candidates.codes)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(codes.shape[0], generator=generator)
    return codes[order[torch.arange(start, start + n) % codes.shape[0]]]


def leaders(data: Dataset, n: int) -> Float[Tensor, "m d"]:
    """The n best observed points: feasible ones first, then by violation."""
    if data.n_complete == 0:
        return data.X[:0]
    order = merits(data).argsort(stable=True)
    return data.X[order[: min(n, data.n_complete)]]


def merits(data: Dataset) -> Float[Tensor, " n"]:
    """How bad each observation is: by objective, then by violation, failures last."""
    Z = data.Z.nan_to_num(nan=10.0)  # a missing constraint is no recommendation
    violation = Z[:, 1:].clamp_min(0.0).sum(dim=1)
    merit = torch.where(violation > 0, 1e6 + violation, Z[:, 0])
    return merit.masked_fill(data.is_failed, torch.inf)


def snapped(space: Space, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """The points moved to the middle of their cells, so that each is legal."""
    if space.is_continuous:
        return X.clamp(0.0, 1.0)
    return torch.from_numpy(space.snap(X.detach().cpu().numpy())).to(X)


def distinct(
    space: Space,
    X: Float[Tensor, "n d"],
    known: Float[Tensor, "k d"],
    generator: torch.Generator,
) -> Float[Tensor, "n d"]:
    """X with every config that is known, or came before, replaced by a new one.

    While the search finds a new one, that is: a finite space may be exhausted.
    """
    if math.isinf(space.n_configs):
        return X  # two equal real numbers do not come out of a sequence
    taken = {_key(space, point) for point in known}
    spare: Tensor | None = None
    rows = []
    for point in X:
        chosen = point
        if _key(space, point) in taken:
            spare = _spare(space, generator) if spare is None else spare
            fresh = (p for p in spare if _key(space, p) not in taken)
            chosen = next(fresh, point)
        rows.append(chosen)
        taken.add(_key(space, chosen))
    return torch.stack(rows)


def _key(space: Space, point: Tensor) -> str:
    return repr(space.decode(point.cpu().numpy()))


def _spare(space: Space, generator: torch.Generator) -> Float[Tensor, "n d"]:
    if space.n_configs > _N_SPARE:
        return scattered(space, _N_SPARE, seed_from(generator))
    points = torch.from_numpy(space.every_point())
    return points[torch.randperm(points.shape[0], generator=generator)]


def around(centers: Tensor, n: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
    """Steps on scales from 1e-3 to 0.3, in all dimensions or a random few of them."""
    d = centers.shape[1]
    base = centers[torch.arange(n) % centers.shape[0]]
    kwargs = {"generator": generator, "dtype": torch.float64}
    scale = 10 ** (-3.0 + 2.5 * torch.rand(n, 1, **kwargs))  # type: ignore[call-overload]
    share = torch.rand(n, 1, **kwargs).clamp_min(1.0 / d)  # type: ignore[call-overload]
    moved = torch.rand(n, d, **kwargs) < share  # type: ignore[call-overload]
    steps: Tensor = torch.randn(n, d, **kwargs) * scale * moved  # type: ignore[call-overload]
    return (base + steps.to(base)).clamp(0.0, 1.0)
