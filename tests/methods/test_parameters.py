import numpy as np
import pytest
from scipy import stats

from wideopt import InputError
from wideopt.methods.parameters import Parameters

C = np.array([[4.0, 1.0], [1.0, 1.0]])


@pytest.fixture
def found():
    return Parameters(("a", "b"), np.array([1.5, -200.0]), C, 0.3, 12)


def test_errors_and_intervals(found):
    assert found.standard_errors.tolist() == [2.0, 1.0]
    assert found.dof == 10
    low, high = found.interval("a", 0.9)
    assert (low + high) / 2 == pytest.approx(found["a"]) == 1.5
    assert stats.t.cdf((high - 1.5) / 2.0, 10) == pytest.approx(0.95)


def test_the_ellipsoid_has_its_level(found):
    """Draws ŵ + C^½ z / √(χ²/ν) leave the ellipsoid as often as the level says."""
    rng = np.random.default_rng(0)
    z = rng.multivariate_normal(np.zeros(2), C, size=4000)
    draws = found.values + z / np.sqrt(rng.chisquare(10, size=(4000, 1)) / 10)
    inside = np.mean([found.contains(w, 0.8) for w in draws])
    assert inside == pytest.approx(0.8, abs=0.03)


def test_printed(found):
    assert repr(found) == "a = 1.5 ± 2, b = -200 ± 1"
    many = Parameters(
        tuple(f"w[{i}]" for i in range(20)), np.zeros(20), np.eye(20), 1.0, 30
    )
    assert repr(many).endswith("and 8 more")


def test_without_degrees_of_freedom():
    found = Parameters(("a",), np.array([1.0]), np.array([[np.inf]]), np.inf, 1)
    assert repr(found) == "a = 1 ± ?"
    assert found.interval("a") == (-np.inf, np.inf)
    assert found.contains([99.0])


def test_an_unknown_name(found):
    with pytest.raises(InputError, match="'c'; there are a, b"):
        found["c"]
