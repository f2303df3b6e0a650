"""Annotations and shapes are checked at run time; Hypothesis has no deadline."""

import hypothesis
import jaxtyping
import matplotlib as mpl
import pytest
import torch

from tests import runtime_checks  # the hook finds it only once it is imported

# Before anything imports wideopt.
jaxtyping.install_import_hook("wideopt", f"{runtime_checks.__name__}.check")

mpl.use("Agg")
torch.set_num_threads(1)  # two workers of pytest-xdist, two cores
hypothesis.settings.register_profile("wideopt", deadline=None, max_examples=60)
hypothesis.settings.load_profile("wideopt")


@pytest.fixture
def unchecked():
    """No checks of annotations: what a user sees who gives a value of a wrong type."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def sqlite(tmp_path):
    """The URL of a storage that does not exist yet."""
    return f"sqlite:///{tmp_path / 'run.db'}"
