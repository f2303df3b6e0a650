"""What a run found: the best observation, and how it was come by."""

from wideopt.result._result import Result

__all__ = ["Result"]
