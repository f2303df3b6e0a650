"""Estimated parameters of a user's model, with their uncertainty. Imports no torch.

Notation: ŵ least-squares estimate of p parameters from n observations,
σ̂² = RSS/(n - p), C = σ̂² (JᵀJ)⁻¹ their covariance, J the Jacobian of the predictions at
ŵ. The confidence ellipsoid of level α is {w : (w - ŵ)ᵀ C⁻¹ (w - ŵ) <= p F_α(p, n - p)};
see Seber and Wild (1989), chapters 2 and 5. All of it is to first order in w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from wideopt.exceptions import InputError

__all__ = ["Parameters"]

_MAX_SHOWN = 12


@dataclass(frozen=True, repr=False)
class Parameters:
    """Estimates in the model's own units; `parameters["k"]` is the one named k.

    Attributes:
        names: as in the model: `k`, or `k[0]`, `k[1]`, ... for a vector.
        values: ŵ.
        covariance: C; infinite with no more observations than parameters, or if they
            do not tell the parameters apart.
        residual_sd: σ̂, in the units of the objective.
        n: observations used.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    covariance: NDArray[np.float64]
    residual_sd: float
    n: int

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """√C_jj."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def dof(self) -> int:
        """Degrees of freedom, n - p."""
        return max(self.n - len(self.names), 0)

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise InputError(
                f"There is no parameter {name!r}; there are {', '.join(self.names)}."
            )
        return float(self.values[self.names.index(name)])

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of one parameter, by Student's t."""
        center = self[name]
        if self.dof == 0:
            return -np.inf, np.inf
        error = self.standard_errors[self.names.index(name)]
        half = float(stats.t.ppf(0.5 + level / 2, self.dof)) * float(error)
        return center - half, center + half

    def contains(self, values: ArrayLike, level: float = 0.95) -> bool:
        """Whether the confidence ellipsoid holds these values of all parameters."""
        if self.dof == 0 or not np.isfinite(self.covariance).all():
            return True
        gap = np.asarray(values, dtype=np.float64) - self.values
        distance = gap @ np.linalg.pinv(self.covariance, hermitian=True) @ gap
        p = len(self.names)
        return bool(distance <= p * stats.f.ppf(level, p, self.dof))

    def __repr__(self) -> str:
        items = zip(self.names, self.values, self.standard_errors, strict=True)
        shown = [_item(*item) for item in list(items)[:_MAX_SHOWN]]
        more = len(self.names) - len(shown)
        return ", ".join(shown) + (f", and {more} more" if more else "")


def _item(name: str, value: float, error: float) -> str:
    if not np.isfinite(error):
        return f"{name} = {value:.4g} ± ?"
    return f"{name} = {value:.4g} ± {error:.2g}"
