"""Surrogates: frozen recipes whose `.fit(X, Y)` returns a BoTorch `Model`.

Inputs are points of the unit cube, outputs are on any scale (every recipe standardizes
them as part of the model) and NaN where missing.
"""

from wideopt.surrogates.base import Surrogate, outputs_of
from wideopt.surrogates.gp import GaussianProcess

__all__ = ["GaussianProcess", "Surrogate", "outputs_of"]
