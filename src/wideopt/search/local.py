"""Maximize an acquisition that has no gradients: score, then step by step uphill.

After the local search of SMAC, Hutter, Hoos and Leyton-Brown (2011), section 4.3: from
the best candidates, move to the best of random neighbors while that is an improvement.
"""

from __future__ import annotations

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from wideopt.data.dataset import Dataset
from wideopt.search.candidates import around, candidates, snapped
from wideopt.search.maximize import Search, best_new, score
from wideopt.search.mixed import neighbors
from wideopt.surrogates.base import quiet

__all__ = ["maximize_locally"]

_N_STEPS = 16  # neighbors tried around each point, in a round


def maximize_locally(
    acqf: AcquisitionFunction,
    data: Dataset,
    generator: torch.Generator,
    search: Search | None = None,
) -> Float[Tensor, " d"]:
    """The best new legal point found with values alone; `max_iter` counts rounds."""
    search = search or Search()
    X = candidates(data, search.n_global, search.n_local, generator)
    known = torch.cat([data.X, data.X_pending])
    with quiet():
        values = score(acqf, X)
        best = values.argsort(descending=True, stable=True)[: search.n_restarts]
        tops, heights = X[best], values[best]
        for _ in range(search.max_iter):
            risen = _round(acqf, data, tops, heights, generator)
            if torch.equal(risen[0], tops):
                break
            tops, heights = risen
    return best_new(torch.cat([tops, X]), torch.cat([heights, values]), known)


def _round(
    acqf: AcquisitionFunction,
    data: Dataset,
    tops: Float[Tensor, "r d"],
    heights: Float[Tensor, " r"],
    generator: torch.Generator,
) -> tuple[Float[Tensor, "r d"], Float[Tensor, " r"]]:
    """Each top replaced by the best of its neighbors, if that is better."""
    pools = [_neighborhood(data, top, generator) for top in tops]
    values = score(acqf, torch.cat(pools)).split([len(pool) for pool in pools])
    best = torch.stack([v.max() for v in values])
    points = torch.stack(
        [pool[int(v.argmax())] for pool, v in zip(pools, values, strict=True)]
    )
    is_better = best > heights
    return (
        torch.where(is_better[:, None], points, tops),
        torch.where(is_better, best, heights),
    )


def _neighborhood(
    data: Dataset, top: Float[Tensor, " d"], generator: torch.Generator
) -> Float[Tensor, "m d"]:
    near = snapped(data.space, around(top[None, :], _N_STEPS, generator))
    return torch.cat([near, neighbors(data.space, top)])
