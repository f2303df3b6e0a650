"""`auto`: what it is made of, and when."""

import numpy as np
import pytest

import wideopt as wo
from wideopt.methods import auto

BOX = [(0.0, 1.0)] * 3


def bowl(x):
    return float(np.square(np.asarray(x) - 0.3).sum())


def asked(fun, n, space=BOX, **options):
    """An optimizer after n evaluations, five of them of the design."""
    settings = {"n_init": 5, **options}
    opt = wo.Optimizer(space, seed=3, options=settings)
    for _ in range(n):
        x = opt.ask()
        opt.tell(x, fun(x))
    return opt


def test_without_a_region_it_is_neural_bo():
    opt = asked(bowl, 8, region_share=0.0)
    other = wo.Optimizer(BOX, method="neural-bo", seed=3, options={"n_init": 5})
    for _ in range(8):
        x = other.ask()
        other.tell(x, bowl(x))
    assert np.array_equal(opt.ask(2), other.ask(2))
    assert "region" not in opt.method_state


def test_points_of_the_region_and_of_networks_are_one_batch():
    opt = asked(bowl, 6, region_share=0.5)
    points = opt.ask(8)
    assert opt.method_state["region"]["seen"] == 6
    assert opt.method_state["fitted_at"] == 6
    assert len({tuple(x) for x in points}) == 8


def test_the_region_is_around_the_best_point():
    opt = asked(bowl, 6, region_share=0.99)
    opt.ask(4)
    center = opt.method_state["region"]["center"]
    assert np.allclose(center, opt.best.x)
    assert opt.method_state["fitted_at"] == 5  # no network was asked


@pytest.mark.parametrize("share", [1 / 3, 0.9])
def test_the_share_is_met(share):
    opt = asked(bowl, 6, region_share=share)
    method = opt._method
    data, state = opt._data(), opt.method_state
    counts = [
        method._n_region(data, 5, state, {}, wo.search.design.generator_for(seed, 0))
        for seed in range(200)
    ]
    assert np.mean(counts) == pytest.approx(5 * share, abs=0.3)
    assert max(counts) <= 5


def test_no_region_before_a_model_nor_where_nothing_was_learned():
    assert "region" not in asked(bowl, 6, region_share=0.9).method_state
    constant = asked(lambda x: 1.0, 9, region_share=0.9)
    assert "region" not in constant.method_state
    assert "constant" in constant.best.message


def test_no_region_beyond_the_size_that_a_gp_takes(monkeypatch):
    monkeypatch.setattr(auto, "N_MAX", 5)
    opt = asked(bowl, 7, region_share=0.9)
    assert "region" not in opt.method_state


def test_no_region_where_configs_are_finitely_many():
    space = [wo.Integer(0, 50), wo.Integer(0, 50)]
    opt = asked(bowl, 8, space, region_share=0.9)
    assert "region" not in opt.method_state


def test_verbose_tells_of_the_region():
    opt = asked(bowl, 8, region_share=0.9, verbose=True)
    assert "neural-bo" in opt.best.message
    assert "trust region" in opt.best.message
    assert "sums of functions of one parameter" in opt.best.message
    assert opt.best.message.count("Method ") == 1


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(wo.WideoptError):
        wo.Optimizer(BOX, options={"region_share": share})
