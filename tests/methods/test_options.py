from dataclasses import fields

import pytest

import wideopt as wo
from wideopt.methods import catalog
from wideopt.methods.catalog import has_option, object_options
from wideopt.methods.options import check_present, split_options


class Thing:
    pass


def test_objects_stand_beside_what_json_holds():
    thing = Thing()
    options = {"model": thing, "kappa": 2, "constraint_models": [None, thing]}
    plain, objects = split_options("go-ucb", options)
    assert plain == {
        "model": {"object": "Thing"},
        "kappa": 2,
        "constraint_models": {"object": "[None, Thing]"},
    }
    assert objects == {"model": thing, "constraint_models": [None, thing]}
    check_present({**plain, **objects})
    with pytest.raises(wo.InputError, match="model = Thing"):
        check_present(plain)


def test_a_class_is_named_like_its_instances():
    assert split_options("go-ucb", {"model": Thing})[0] == {
        "model": {"object": "Thing"}
    }


def test_what_json_holds_is_no_object():
    assert split_options("go-ucb", {"model": None}) == ({"model": None}, {})
    assert split_options("random", None) == ({}, {})


@pytest.mark.parametrize("options", [{"n_init": Thing()}, {"x": float("nan")}, 3])
def test_other_options_are_json(options):
    with pytest.raises(wo.InputError, match=r"JSON|dict"):
        split_options("go-ucb", options)


def test_which_methods_take_what():
    assert object_options("gp-ei") == object_options("nonsense") == ()
    assert has_option("go-ucb", "is_maximized")
    assert not has_option("gp-ei", "is_maximized")
    assert not has_option("gp-ei", "acquisition")  # fixed by its name
    assert not has_option("nonsense", "is_maximized")


@pytest.mark.parametrize("method", list(wo.methods()))
def test_an_option_of_the_wrong_kind_is_refused_in_a_sentence(method):
    preset = dict(catalog._CATALOG[method].preset)
    for option in fields(catalog._cls(method)):
        if not option.init or option.name in preset:
            continue
        if option.name in object_options(method):
            continue  # a model is checked with the space, by the optimizer
        for value in ("no such word", [1], {"a": 1}):
            with pytest.raises(wo.InputError, match=option.name):
                catalog.create(method, {option.name: value})


@pytest.mark.parametrize("value", [1, 0, "yes", None])
def test_a_switch_is_true_or_false(value):
    with pytest.raises(wo.InputError, match="must be True or False"):
        catalog.create("neural-bo", {"faithful": value})


@pytest.mark.parametrize("value", [True, 2.5, "3"])
def test_a_count_is_a_whole_number(value):
    with pytest.raises(wo.InputError, match="n_restarts of gp-ei must be a whole"):
        catalog.create("gp-ei", {"n_restarts": value})
