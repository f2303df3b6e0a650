"""Random forests by scikit-learn, with the variance that a Gaussian posterior needs.

Hutter, Xu, Hoos and Leyton-Brown (2014), section 4.3.2: each tree b predicts the mean
μ_b and the variance σ_b² of the training targets in the leaf of x. By the law of total
variance the forest predicts

    μ = mean_b μ_b,    σ² = var_b μ_b + mean_b σ_b²

Between two points the covariance is that of the trees' means, cov_b(μ_b(x), μ_b(x')).
As in that paper, a split lies anywhere between the two observations that it separates,
uniformly at random, not halfway: the mean of many trees then interpolates, and the
variance grows with the distance from the observations. Still, a forest is constant
between its splits: there are no gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.exceptions.errors import UnsupportedError
from botorch.models.model import Model
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.surrogates.base import Hyper
from wideopt.surrogates.moments import MomentModel, Standardization

__all__ = ["ForestModel", "Leaves", "RandomForest"]


@dataclass(frozen=True)
class RandomForest:
    """One random forest per output; the same seed gives the same forest.

    Attributes:
        n_trees: trees of each forest.
        min_split: a node with fewer observations is a leaf.
        share: of the dimensions, the part that each split may choose from.
        seed: of the bootstrap samples and of the splits.
    """

    n_trees: int = 50
    min_split: int = 3
    share: float = 5 / 6
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.n_trees, int) or self.n_trees < 2:
            raise InputError(f"n_trees must be at least 2, but got {self.n_trees}.")
        if not isinstance(self.min_split, int) or self.min_split < 2:
            raise InputError(f"min_split must be at least 2, but got {self.min_split}.")
        if not 0 < self.share <= 1:
            raise InputError(f"share must be in (0, 1], but got {self.share}.")

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n outputs"],
        warm: Hyper | None = None,
    ) -> Model:
        """Forests grown with the recipe's seed."""
        del warm  # there is nothing to start from
        return self.restore(X, Y, {"seed": self.seed})

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], hyper: Hyper
    ) -> Model:
        """Forests grown with a known seed."""
        points, values = X.detach().cpu().numpy(), Y.detach().cpu().numpy()
        forests = []
        for y in values.T:
            known = ~np.isnan(y)
            forest = self.grown(points[known], y[known], hyper["seed"])
            forests.append(Leaves.of(forest))
        return ForestModel(forests, hyper["seed"], X)

    def hyper(self, model: Model) -> Hyper:
        """The seed: the rest follows from the data."""
        return {"seed": model.seed}

    def grown(
        self, points: NDArray[np.float64], y: NDArray[np.float64], seed: int
    ) -> Any:
        """Scikit-learn's forest, its splits moved as the head of this file says."""
        forest = self._blank(seed).fit(points, y)
        random = np.random.default_rng(seed)
        samples = forest.estimators_samples_
        for tree, sample in zip(forest.estimators_, samples, strict=True):
            _move_splits(tree, points[sample], random)
        return forest

    def _blank(self, seed: int) -> Any:
        try:
            from sklearn.ensemble import RandomForestRegressor
        except ImportError:
            raise InputError(
                "A random forest needs scikit-learn; install it with "
                "`pip install wideopt[bench]`."
            ) from None
        return RandomForestRegressor(
            self.n_trees,
            min_samples_split=self.min_split,
            max_features=self.share,
            random_state=seed % 2**32,
        )


def _move_splits(
    tree: Any, points: NDArray[np.float64], random: np.random.Generator
) -> None:
    """Put each threshold of a tree anywhere between the points that it separates."""
    nodes = tree.tree_
    (inner,) = np.nonzero(nodes.children_left >= 0)
    visits = tree.decision_path(points).toarray().astype(bool)  # (points, nodes)
    values = points[:, nodes.feature[inner]]
    is_left = visits[:, nodes.children_left[inner]]
    is_right = visits[:, nodes.children_right[inner]]
    below = np.where(is_left, values, -np.inf).max(axis=0, initial=-np.inf)
    above = np.where(is_right, values, np.inf).min(axis=0, initial=np.inf)
    share = random.uniform(0.01, 0.99, len(inner))  # off the points themselves
    nodes.threshold[inner] = below + share * (above - below)


@dataclass(frozen=True)
class Leaves:
    """A fitted forest: its trees, and mean and variance of the targets by node."""

    trees: list[Any]
    mean: list[NDArray[np.float64]]
    variance: list[NDArray[np.float64]]

    @classmethod
    def of(cls, forest: Any) -> Leaves:
        """The leaves of scikit-learn's forest."""
        trees = [estimator.tree_ for estimator in forest.estimators_]
        # The impurity of squared error is the variance of a node's targets.
        return cls(
            trees,
            [tree.value[:, 0, 0] for tree in trees],
            [tree.impurity.clip(min=0.0) for tree in trees],
        )

    @property
    def noise(self) -> float:
        """Mean variance of the targets within a leaf."""
        pairs = zip(self.variance, self.trees, strict=True)
        leaves = [variance[tree.children_left < 0] for variance, tree in pairs]
        return float(np.concatenate(leaves).mean())

    def at(
        self, points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of each tree's leaf: both (trees, points)."""
        single = points.astype(np.float32)  # as scikit-learn stores its thresholds
        leaf = [tree.apply(single) for tree in self.trees]
        mean = np.stack([m[i] for m, i in zip(self.mean, leaf, strict=True)])
        variance = np.stack([v[i] for v, i in zip(self.variance, leaf, strict=True)])
        return mean, variance


class ForestModel(MomentModel):
    """Forests as a BoTorch model, in the units of the data.

    Conditioning on more observations is absent: a forest is grown anew.
    """

    def __init__(self, forests: Sequence[Leaves], seed: int, like: Tensor) -> None:
        o = len(forests)
        # Splits do not depend on shift and scale, so nothing is standardized.
        units = Standardization(like.new_zeros(o), like.new_ones(o))
        super().__init__(units, batch=torch.Size())
        self.forests, self.seed = list(forests), seed

    def marginals(
        self, X: Float[Tensor, "... q d"]
    ) -> tuple[Float[Tensor, "... o q"], Float[Tensor, "... o q"]]:
        """Mean and variance, point by point."""
        mean, within = self._leaves(X)
        return mean.mean(dim=0), mean.var(dim=0, correction=0) + within.mean(dim=0)

    def moments(
        self, X: Float[Tensor, "... q d"]
    ) -> tuple[Float[Tensor, "... o q"], Float[Tensor, "... o q q"]]:
        """Joint mean and covariance."""
        mean, within = self._leaves(X)
        centered = mean - mean.mean(dim=0)
        C = (centered.unsqueeze(-1) * centered.unsqueeze(-2)).mean(dim=0)
        return mean.mean(dim=0), C + torch.diag_embed(within.mean(dim=0))

    def _leaves(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of every leaf: both (trees, ..., o, q)."""
        points = X.detach().cpu().numpy().reshape(-1, X.shape[-1])
        pairs = [forest.at(points) for forest in self.forests]
        mean, variance = (
            torch.from_numpy(np.stack(part, axis=1)).to(X)
            for part in zip(*pairs, strict=True)
        )
        shape = (*mean.shape[:2], *X.shape[:-1])  # trees, o, ..., q
        return mean.reshape(shape).movedim(1, -2), variance.reshape(shape).movedim(
            1, -2
        )

    @property
    def noise(self) -> Float[Tensor, " o"]:
        """Mean variance within leaves, over all leaves of all trees."""
        means = [forest.noise for forest in self.forests]
        return torch.tensor(means).to(self.standardization.shift)

    def subset_output(self, idcs: list[int]) -> ForestModel:
        """The model of some of the outputs."""
        chosen = [self.forests[i] for i in idcs]
        return ForestModel(chosen, self.seed, self.standardization.shift)

    def condition_on_observations(  # type: ignore[override] # as in MomentModel
        self, X: Tensor, Y: Tensor, **kwargs: Any
    ) -> MomentModel:
        """Not for forests: fit again with `RandomForest`."""
        del X, Y, kwargs
        raise UnsupportedError("A forest cannot be conditioned; fit it again.")
