"""User values ↔ unit cube: parameters and the space they span."""

from wideopt.space._candidates import Candidates
from wideopt.space._conditional import Condition, Conditional
from wideopt.space._parameters import Categorical, Integer, Parameter, Real
from wideopt.space._space import Config, Space

__all__ = [
    "Candidates",
    "Categorical",
    "Condition",
    "Conditional",
    "Config",
    "Integer",
    "Parameter",
    "Real",
    "Space",
]
