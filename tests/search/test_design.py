import torch

from wideopt.search.design import generator_for, seed_from, sobol_points


def test_a_sequence_can_be_entered_anywhere():
    whole = sobol_points(3, 20, seed=4)
    parts = [sobol_points(3, 7, seed=4), sobol_points(3, 13, seed=4, start=7)]
    assert torch.equal(torch.cat(parts), whole)
    assert bool(((whole >= 0) & (whole <= 1)).all())
    assert not torch.equal(whole, sobol_points(3, 20, seed=5))


def test_points_fill_the_cube():
    X = sobol_points(2, 64, seed=0)
    cells = {(int(4 * a), int(4 * b)) for a, b in X.tolist()}
    assert len(cells) == 16


def test_each_trial_has_a_stream_of_its_own():
    pairs = [(seed, number) for seed in range(5) for number in range(5)]
    draws = {seed_from(generator_for(*pair)) for pair in pairs}
    assert len(draws) == 25
    assert seed_from(generator_for(3, 4)) == seed_from(generator_for(3, 4))


def test_global_streams_are_left_alone():
    before = torch.random.get_rng_state()
    sobol_points(2, 8, seed=1)
    seed_from(generator_for(0, 0))
    assert torch.equal(torch.random.get_rng_state(), before)
