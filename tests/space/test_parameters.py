import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wideopt as wo
from tests.space.strategies import is_close, parameters, points, reals, values_of
from wideopt.space._space import _from_json


@given(st.data(), parameters)
def test_decode_inverts_encode(data, parameter):
    value = data.draw(values_of(parameter))
    u = parameter.encode(parameter.check(value))
    assert u.shape == (parameter.n_dims,)
    assert np.all((u >= 0) & (u <= 1))
    assert is_close(parameter, parameter.decode(u), value)


@given(st.data(), parameters)
def test_every_point_of_the_cube_decodes_to_a_legal_value(data, parameter):
    value = parameter.decode(np.array(data.draw(points(parameter.n_dims))))
    assert is_close(parameter, parameter.check(value), value)
    if not isinstance(parameter, wo.Categorical):
        assert parameter.low <= value <= parameter.high


@given(st.data(), parameters)
def test_snap_is_the_encoding_of_the_decoded(data, parameter):
    u = np.array(data.draw(points(parameter.n_dims)))
    snapped = parameter.snap(u[None, :])[0]
    assert np.array_equal(parameter.snap(snapped[None, :])[0], snapped)
    if not isinstance(parameter, wo.Real):
        assert np.allclose(snapped, parameter.encode(parameter.decode(u)), atol=1e-15)


@given(reals())
def test_the_ends_are_reached(parameter):
    assert parameter.decode(np.zeros(1)) == pytest.approx(parameter.low, rel=1e-12)
    assert parameter.decode(np.ones(1)) == pytest.approx(parameter.high, rel=1e-12)


@given(parameters)
def test_json(parameter):
    form = json.loads(json.dumps(parameter.to_json()))
    assert _from_json(form) == parameter


@pytest.mark.parametrize(
    "parameter", [wo.Integer(3, 9), wo.Integer(1, 60, log=True), wo.Integer(-1, 0)]
)
def test_integers_all_have_a_cell_of_their_own(parameter):
    values = parameter.every_value()
    assert len(values) == parameter.n_values
    assert [parameter.decode(parameter.encode(v)) for v in values] == list(values)
    grid = np.linspace(0, 1, 2001)[:, None]
    assert {parameter.decode(u) for u in grid} == set(values)


def test_integer_cells_are_equally_wide():
    cells = [
        wo.Integer(0, 3).decode(np.array([u])) for u in (0.0, 0.24, 0.26, 0.74, 1.0)
    ]
    assert cells == [0, 0, 1, 2, 3]


def test_log_makes_ratios_equal():
    real = wo.Real(1e-4, 1.0, log=True)
    assert real.decode(np.array([0.5])) == pytest.approx(1e-2)
    assert real.decode(np.array([1.0])) == 1.0


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (wo.Real(0, 1), 1.1),
        (wo.Real(0, 1), -1e-6),
        (wo.Real(0, 1), math.nan),
        (wo.Real(0, 1), "0.5"),
        (wo.Real(0, 1), None),
        (wo.Real(0, 1), True),
        (wo.Integer(0, 5), 2.5),
        (wo.Integer(0, 5), 6),
        (wo.Integer(0, 5), math.inf),
        (wo.Integer(0, 5), "3"),
        (wo.Categorical(["a", "b"]), "c"),
        (wo.Categorical(["1", "2"]), 1),
        (wo.Categorical([1, 2]), True),
        (wo.Categorical([True, False]), 1),
        (wo.Categorical([None, "a"]), "None"),
        (wo.Categorical(["a", "b"]), ["a"]),
    ],
)
def test_illegal_values(parameter, value):
    with pytest.raises(wo.InputError) as caught:
        parameter.check(value)
    assert repr(value) in str(caught.value) or str(value) in str(caught.value)


@pytest.mark.parametrize(
    ("parameter", "value", "legal"),
    [
        (wo.Real(0, 1), 1 + 1e-12, 1.0),
        (wo.Real(0, 1), -1e-12, 0.0),
        (wo.Real(0, 1), np.float32(0.5), 0.5),
        (wo.Real(0, 1), 1, 1.0),
        (wo.Integer(0, 5), 3.0, 3),
        (wo.Integer(0, 5), np.int64(3), 3),
        (wo.Categorical([1, 2.5]), np.float64(1.0), 1),
        (wo.Categorical(["a", "b"]), np.str_("b"), "b"),
        (wo.Categorical([True, None]), np.True_, True),
    ],
)
def test_kindred_values_become_plain_ones(parameter, value, legal):
    checked = parameter.check(value)
    assert checked == legal
    assert type(checked) is type(legal)


def test_ends_with_equal_logarithms_are_refused():
    low = 1.2768783171216662e299
    with pytest.raises(wo.SpaceError, match="logarithms differ"):
        wo.Real(low, math.nextafter(low, math.inf), log=True)
