"""Hypothesis strategies: parameters of all kinds, and spaces of them."""

import math

from hypothesis import strategies as st

import wideopt as wo

_FINITE = {"allow_nan": False, "allow_infinity": False}


@st.composite
def reals(draw):
    if draw(st.booleans()):
        bound = st.floats(1e-300, 1e300)
        ends = st.tuples(bound, bound).filter(
            lambda b: math.log(b[0]) != math.log(b[1])
        )
        low, high = sorted(draw(ends))
        return wo.Real(low, high, log=True)
    bound = st.floats(-1e300, 1e300)
    low, high = sorted(draw(st.tuples(bound, bound).filter(lambda b: b[0] != b[1])))
    return wo.Real(low, high)


@st.composite
def integers(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(2**40), 2**40 - 1))
    width = draw(st.one_of(st.integers(1, 10), st.integers(1, 2**40)))
    return wo.Integer(low, min(low + width, 2**40), log=log)


_CHOICES = st.one_of(
    st.text(max_size=3), st.integers(), st.floats(**_FINITE), st.booleans(), st.none()
)


def categoricals():
    return (st.lists(_CHOICES, min_size=2, max_size=6, unique=True)).map(wo.Categorical)


parameters = st.one_of(reals(), integers(), categoricals())

# Not spaces: beartype draws random items to check, which a strategy must not do.
definitions = st.one_of(
    st.lists(parameters, min_size=1, max_size=4),
    st.dictionaries(st.text(min_size=1), parameters, min_size=1, max_size=4),
)


@st.composite
def values_of(draw, parameter):
    """A legal value, often at an end."""
    if isinstance(parameter, wo.Categorical):
        return draw(st.sampled_from(parameter.choices))
    low, high = parameter.low, parameter.high
    inner = st.integers if isinstance(parameter, wo.Integer) else st.floats
    return draw(st.one_of(st.sampled_from([low, high]), inner(low, high)))


@st.composite
def points(draw, n_dims):
    """A point of the unit cube, often at its boundary."""
    u = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1))
    return draw(st.lists(u, min_size=n_dims, max_size=n_dims))


def is_close(parameter, value, other):
    """Equal, but for the rounding of a real number."""
    if not isinstance(parameter, wo.Real):
        return value == other and type(value) is type(other)
    if parameter.log:
        return math.isclose(value, other, rel_tol=1e-12)
    return abs(value - other) <= 1e-14 * max(abs(parameter.low), abs(parameter.high))
