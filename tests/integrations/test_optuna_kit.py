"""Optuna's own tests of samplers, passed by `WideoptSampler`."""

import warnings

import optuna
import pytest
from optuna.testing import pytest_samplers as kit

from wideopt.integrations.optuna import WideoptSampler


@pytest.fixture(autouse=True)
def _quiet():
    """No log line for each trial."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        # The kit draws from ranges that are no multiples of their step.
        warnings.filterwarnings("ignore", "The distribution is specified by")
        yield
    optuna.logging.set_verbosity(level)


@pytest.mark.usefixtures("unchecked")  # or it takes twice as long
class _Kit(
    kit.BasicSamplerTestCase,
    kit.RelativeSamplerTestCase,
    kit.SingleOnlySamplerTestCase,
):
    pass


@pytest.mark.slow
class TestModel(_Kit):
    @pytest.fixture
    def sampler(self):
        options = {"n_init": 3, "n_candidates": 16, "n_restarts": 1}
        return lambda: WideoptSampler("gp-ei", seed=0, options=options)


class TestRandom(_Kit):
    @pytest.fixture
    def sampler(self):
        return lambda: WideoptSampler("random", seed=0)


@pytest.mark.slow
class TestAuto(_Kit):
    @pytest.fixture
    def sampler(self):
        return lambda: WideoptSampler(seed=0)
