import pytest
import torch

from wideopt.numerics.threads import threads_for


@pytest.fixture(autouse=True)
def _two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("n", "expected"), [(10, 1), (999, 1), (5000, 2)])
def test_small_matrices_take_one_thread(n, expected):
    with threads_for(n):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == 2


def test_the_users_setting_comes_back_after_an_error():
    with pytest.raises(ZeroDivisionError), threads_for(1):
        raise ZeroDivisionError
    assert torch.get_num_threads() == 2
