import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wideopt as wo
from tests.space.strategies import definitions, is_close, points, values_of


def drawn_values(data, space):
    return tuple(data.draw(values_of(p)) for p in space.parameters)


def are_close(space, values, others):
    pairs = zip(space.parameters, values, others, strict=True)
    return all(is_close(p, v, w) for p, v, w in pairs)


@given(st.data(), definitions)
def test_decode_inverts_encode(data, definition):
    space = wo.Space(definition)
    values = drawn_values(data, space)
    point = space.encode(values)
    assert point.shape == (space.n_dims,)
    assert are_close(space, space.decode(point), values)


@given(st.data(), definitions)
def test_configs_keep_their_values(data, definition):
    space = wo.Space(definition)
    values = drawn_values(data, space)
    config = space.config(values)
    assert isinstance(config, dict) == space.is_named
    assert space.values(config) == values
    assert space.values(space.config(space.values(config))) == values


@given(st.data(), definitions)
def test_every_point_of_the_cube_is_a_legal_config(data, definition):
    space = wo.Space(definition)
    point = np.array(data.draw(points(space.n_dims)))
    values = space.decode(point)
    assert space.values(space.config(values)) == values
    snapped = space.snap(point[None, :])
    assert np.array_equal(space.snap(snapped), snapped)
    assert are_close(space, space.decode(snapped[0]), values)


@given(definitions)
def test_json(definition):
    space = wo.Space(definition)
    form = json.loads(json.dumps(space.to_json()))
    again = wo.Space.from_json(form)
    assert again == space
    assert hash(again) == hash(space)
    assert repr(again) == repr(space)
    assert wo.Space(space) == space


def test_every_point():
    space = wo.Space([wo.Integer(1, 3), wo.Categorical(["x", "y", "z"])])
    found = space.every_point()
    assert found.shape == (9, 4)
    assert len({space.decode(point) for point in found}) == space.n_configs == 9


@pytest.mark.usefixtures("unchecked")
def test_bounds_may_be_a_numpy_array():
    assert wo.Space(np.array([[0, 1], [2, 3]])) == wo.Space([(0, 1), (2, 3)])


def test_pairs_are_reals():
    assert wo.Space([(0, 1), (2, 3)]) == wo.Space([wo.Real(0, 1), wo.Real(2, 3)])
    assert wo.Space({"a": (0, 1)}) != wo.Space([(0, 1)])
    assert wo.Space({"a": (0, 1), "b": (0, 1)}) != wo.Space({"b": (0, 1), "a": (0, 1)})
    assert wo.Space([(0, 1)]) != [(0, 1)]


@pytest.mark.parametrize(
    ("space", "config", "said"),
    [
        ([(0, 1)] * 2, [0.5], "2 values"),
        ([(0, 1)] * 2, [0.5, 2], "x1 is 2.0, outside [0.0, 1.0]"),
        ([(0, 1)] * 2, [[0.5, 0.5]], "2 values"),
        ([(0, 1)] * 2, {"x0": 1, "x1": 1}, "array of 2 values"),
        ([(0, 1)] * 2, "ab", "array of 2 values"),
        ([(0, 1)] * 2, 0.5, "array of 2 values"),
        ([(0, 1)] * 2, [0.5, None], "x1 is None"),
        ({"a": (0, 1)}, [0.5], "dict with the keys ['a']"),
        ({"a": (0, 1)}, {"b": 0.5}, "['b']"),
        ({"a": (0, 1)}, {"a": 0.5, "b": 1}, "['a', 'b']"),
        ({"a": (0, 1)}, {"a": 1.5}, "a is 1.5, outside"),
    ],
)
def test_illegal_configs(space, config, said):
    with pytest.raises(wo.InputError) as caught:
        wo.Space(space).values(config)
    assert said in str(caught.value)
    assert str(caught.value).endswith(".")


def test_numbers_too_big_for_a_float_stay_exact():
    space = wo.Space([wo.Categorical([2**60, 2**60 + 1])])
    values = (2**60 + 1,)
    assert space.values(space.config(values)) == values
