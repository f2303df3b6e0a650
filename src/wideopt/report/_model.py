"""The surrogate of a report: slices, importance, and how well it predicts.

The model is the tangent surrogate, fitted to the objective on the scale that methods
see (`Dataset.Z`); what is shown is in the user's units. The scale is a monotone map of
the objective, so bands and quantiles pass through it as they are.

Notation: z = scale(y); m, s mean and deviation of the model at a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.models.model import Model
from numpy.typing import NDArray

from wideopt.data.dataset import Dataset
from wideopt.report._snapshot import Snapshot
from wideopt.search.design import sobol_points
from wideopt.space import Space
from wideopt.surrogates.base import quiet
from wideopt.surrogates.tangent import Tangent

__all__ = ["Calibration", "Slice", "Surrogate"]

Array = NDArray[np.float64]

_MIN_TRIALS = 5  # with fewer complete trials nothing is fitted
_MAX_TRIALS = 1000  # the latest of them; more would take minutes
_N_FOLDS = 10
_N_SAMPLES = 256  # of the importance


@dataclass(frozen=True)
class Slice:
    """The model along one parameter through the best point: mean and a 95% band."""

    name: str
    values: list[Any]
    mean: Array
    low: Array
    high: Array
    is_log: bool


@dataclass(frozen=True)
class Calibration:
    """Observed values, and predictions made without them."""

    observed: Array
    mean: Array
    low: Array
    high: Array
    z_score: Array  # (observed - mean) / deviation, on the model's scale

    def coverage(self, level: float) -> float:
        """Share of observations in the central interval of a probability."""
        from scipy.stats import norm

        return float(np.mean(np.abs(self.z_score) <= norm.ppf(0.5 + level / 2)))


class Surrogate:
    """A fitted model of the objective; build it with `of`."""

    def __init__(self, snapshot: Snapshot, data: Dataset) -> None:
        self.space: Space = snapshot.space
        self._recipe = Tangent()
        self._X, self._z = data.X, data.Z[:, :1]
        self._y = snapshot.sign * data.Y[:, 0].numpy()
        with quiet():
            self._model = self._recipe.fit(self._X, self._z)

    @classmethod
    def of(cls, snapshot: Snapshot) -> Surrogate | None:
        """The model of a study; None if there is too little to learn from."""
        complete = snapshot.complete[-_MAX_TRIALS:]
        ys = {t.y for _, t in complete}
        if len(complete) < _MIN_TRIALS or len(ys) < 2:
            return None
        rows = [
            (
                snapshot.space.encode(snapshot.values(t)),
                type(t)(t.x, snapshot.sign * (t.y or 0.0)),
            )
            for _, t in complete
        ]
        return cls(snapshot, Dataset.of(snapshot.space, rows, [], 0))

    def _predict(self, X: Array, held_out: Model | None = None) -> tuple[Array, Array]:
        """Mean and deviation, point by point; with the noise if from a part only."""
        model = held_out or self._model
        with torch.no_grad(), quiet():
            posterior: Any = model.posterior(
                torch.tensor(X).unsqueeze(-2), observation_noise=held_out is not None
            )
            mean, variance = posterior.mean.flatten(), posterior.variance.flatten()
        return mean.numpy(), np.sqrt(variance.clamp_min(1e-18).numpy())

    def _user(self, z: Array) -> Array:
        """Values of the objective that stand for z: by what is observed between."""
        order = np.argsort(self._z[:, 0].numpy(), kind="stable")
        zs, ys = self._z[order, 0].numpy(), self._y[order]
        q = np.quantile(zs, [0.25, 0.75]) if len(zs) > 3 else zs[[0, -1]]
        y_q = np.interp(q, zs, ys)
        slope = (y_q[1] - y_q[0]) / max(q[1] - q[0], 1e-12)
        y = np.interp(z, zs, ys)
        y = np.where(z < zs[0], ys[0] + slope * (z - zs[0]), y)
        above: Array = np.where(z > zs[-1], ys[-1] + slope * (z - zs[-1]), y)
        return above

    def _band(self, mean: Array, sd: Array) -> tuple[Array, Array]:
        ends = self._user(mean - 1.96 * sd), self._user(mean + 1.96 * sd)
        return np.minimum(*ends), np.maximum(*ends)

    def slices(self, best: Array, n: int = 50) -> list[Slice]:
        """One slice for each parameter."""
        found = []
        parts = zip(
            self.space.names, self.space.parameters, self.space.slices, strict=True
        )
        for name, parameter, s in parts:
            codes = self._axis(parameter, n)
            X = np.tile(best, (len(codes), 1))
            X[:, s] = codes
            mean, sd = self._predict(X)
            values = [parameter.decode(code) for code in codes]
            is_log = bool(getattr(parameter, "log", False))
            low, high = self._band(mean, sd)
            found.append(Slice(name, values, self._user(mean), low, high, is_log))
        return found

    @staticmethod
    def _axis(parameter: Any, n: int) -> Array:
        """Points along a parameter: all its values if they are few."""
        if parameter.n_values <= n and hasattr(parameter, "every_value"):
            return np.array([parameter.encode(v) for v in parameter.every_value()])
        axis = np.linspace(0.0, 1.0, n)[:, None]
        snapped: Array = np.unique(parameter.snap(axis), axis=0)
        return snapped

    def importance(self) -> list[tuple[str, float]]:
        """Share of the model's variance that needs each parameter, largest first.

        Total-effect indices of Sobol, by the estimator of Jansen (1999).
        """
        d = self.space.n_dims
        AB = self.space.snap(sobol_points(2 * d, _N_SAMPLES, 0).numpy().reshape(-1, d))
        A, B = AB[0::2], AB[1::2]
        f_A, _ = self._predict(A)
        total = max(float(np.var(f_A)), 1e-12)
        found = []
        for name, s in zip(self.space.names, self.space.slices, strict=True):
            mixed = A.copy()
            mixed[:, s] = B[:, s]
            f_mixed, _ = self._predict(mixed)
            found.append((name, float(np.mean((f_A - f_mixed) ** 2)) / (2 * total)))
        return sorted(found, key=lambda item: -item[1])

    def calibration(self) -> Calibration:
        """Every observation predicted from the others, a tenth at a time."""
        n = self._X.shape[0]
        hyper = self._recipe.hyper(self._model)
        fold = np.arange(n) % min(_N_FOLDS, n)
        mean, sd = np.empty(n), np.empty(n)
        for k in range(min(_N_FOLDS, n)):
            out = fold == k
            kept = torch.tensor(~out)
            with torch.no_grad(), quiet():
                model = self._recipe.restore(self._X[kept], self._z[kept], hyper)
            mean[out], sd[out] = self._predict(self._X[~kept].numpy(), model)
        low, high = self._band(mean, sd)
        z_score = (self._z[:, 0].numpy() - mean) / sd
        return Calibration(self._y, self._user(mean), low, high, z_score)
