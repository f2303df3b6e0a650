"""`import wideopt` is quick, and its names are what the documentation promises."""

import subprocess
import sys

import pytest

import wideopt as wo


@pytest.mark.parametrize("name", wo.__all__)
def test_every_public_name_is_there(name):
    assert getattr(wo, name) is not None
    assert name in dir(wo)


def test_unknown_names():
    with pytest.raises(AttributeError, match="no attribute 'maximise'"):
        wo.maximise  # noqa: B018


def test_methods_is_a_list_and_a_package():
    from wideopt.methods import create

    assert wo.methods()["gp-ei"]
    assert create("random") is not None


@pytest.mark.parametrize(
    "code",
    [
        "import wideopt",
        "import wideopt as wo; wo.Space; wo.problems; wo.methods",
    ],
)
def test_torch_is_not_imported(code):
    code += "; import sys; print('torch' in sys.modules, 'optuna' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"


def test_a_worker_process_needs_no_torch():
    code = "import sys, wideopt.run._evaluate; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_errors_are_one_tree():
    for error in (wo.SpaceError, wo.InputError, wo.FitError, wo.StorageError):
        assert issubclass(error, wo.WideoptError)
    assert issubclass(wo.SpaceError, wo.InputError)
    assert issubclass(wo.InputError, ValueError)
    assert issubclass(wo.WideoptWarning, UserWarning)
