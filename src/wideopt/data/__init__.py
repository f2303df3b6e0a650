"""Observations ↔ tensors: trials, and the data set the methods see."""

from wideopt.data._trial import Trial, TrialState, best_trial, check_outcome

__all__ = ["Trial", "TrialState", "best_trial", "check_outcome"]
