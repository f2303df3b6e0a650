"""Acquisitions: model → value of a point (larger is better), as BoTorch modules."""

from wideopt.acquisition.draws import PenalizedDraw
from wideopt.acquisition.improvement import (
    LogFeasibility,
    LogOptimisticImprovement,
    SumOfLogs,
)

__all__ = [
    "LogFeasibility",
    "LogOptimisticImprovement",
    "PenalizedDraw",
    "SumOfLogs",
]
