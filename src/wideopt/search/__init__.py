"""Acquisition → best point: designs, candidates, gradients, mixed spaces."""

from wideopt.search.candidates import candidates
from wideopt.search.design import sobol_points
from wideopt.search.maximize import Search, maximize

__all__ = ["Search", "candidates", "maximize", "sobol_points"]
