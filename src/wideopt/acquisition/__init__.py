"""Acquisitions: model → value of a point (larger is better), as BoTorch modules."""

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.acquisition.improvement import (
    LogOptimisticImprovement,
    SumOfLogs,
    log_feasibility,
)

__all__ = [
    "LogOptimisticImprovement",
    "PenalizedDraw",
    "SumOfLogs",
    "log_feasibility",
]
