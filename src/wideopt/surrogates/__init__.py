"""Surrogates: frozen recipes whose `.fit(X, Y)` returns a BoTorch `Model`.

Inputs are points of the unit cube, outputs are on any scale (every recipe standardizes
them as part of the model) and NaN where missing.
"""

from wideopt.surrogates.base import Surrogate, outputs_of
from wideopt.surrogates.gp import GaussianProcess
from wideopt.surrogates.kernels import NeuralTangentKernel
from wideopt.surrogates.last_layer import LastLayer
from wideopt.surrogates.physics import Physics
from wideopt.surrogates.squared_exponential import SquaredExponential
from wideopt.surrogates.tangent import Tangent

__all__ = [
    "GaussianProcess",
    "LastLayer",
    "NeuralTangentKernel",
    "Physics",
    "SquaredExponential",
    "Surrogate",
    "Tangent",
    "outputs_of",
]
