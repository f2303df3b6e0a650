"""Sensitive samples that look like digits."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from wideopt import bench
from wideopt.bench.applications import realism
from wideopt.bench.applications import sensitive_samples as samples
from wideopt.bench.detection import best_images, detection_section
from wideopt.bench.single import run_one
from wideopt.bench.suites.sensitive_samples_constrained import constrained_task
from wideopt.search import sobol_points


@pytest.fixture(scope="module")
def score():
    return realism.learned_realism()


@pytest.fixture(scope="module")
def digits():
    """Digits of the test set in 7 x 7, which the score has not seen."""
    return realism.shrunk(samples.load_digits().X_test)


def rated(score, images):
    return score.of_all(samples.upscaled(images))


def test_digits_are_realistic_and_noise_is_not(score, digits):
    noise = sobol_points(49, 1024, seed=0)
    assert (rated(score, digits) > 0.5).double().mean() > 0.97
    assert (rated(score, noise) > 0.5).double().mean() < 0.01
    assert (rated(score, realism._blurred(digits)) > 0.5).double().mean() < 0.03


def test_the_score_follows_the_share_of_the_digit(score, digits):
    noise = sobol_points(49, len(digits), seed=1)
    shares = torch.linspace(0, 1, 6)
    means = [float(rated(score, digits + a * (noise - digits)).mean()) for a in shares]
    assert all(a > b + 0.05 for a, b in pairwise(means))


def test_training_gives_the_same_score_and_leaves_the_global_stream(score):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    again = realism.learned_realism.__wrapped__()
    assert torch.equal(torch.get_rng_state(), before)
    image = sobol_points(784, 1, seed=0)
    assert torch.equal(again.of_all(image), score.of_all(image))
    assert score(image.reshape(28, 28)) == pytest.approx(float(score.of_all(image)[0]))


def test_shrinking_undoes_blocks():
    small = sobol_points(49, 3, seed=0)
    blocks = small.reshape(3, 7, 7).repeat_interleave(4, 1).repeat_interleave(4, 2)
    assert torch.allclose(realism.shrunk(blocks.flatten(1)), small)


def test_a_reviewer_of_your_own_is_asked():
    shown = []

    def reviewer(image):
        shown.append(image)
        return 0.8

    task = constrained_task(realism=reviewer, threshold=0.6, n_evals=8)
    x = np.linspace(0, 1, 49)
    y, c = task.truth(x)
    assert c == [pytest.approx(-0.2)]
    assert y == -samples.sensitivity(samples.classifier(), torch.tensor(x))
    assert shown[0].shape == (28, 28)
    record = run_one("random", task, 0)
    assert record["status"] == "complete"
    assert len(shown) == 1 + 8


def test_the_suite_rates_with_the_score(score, digits):
    suite = bench.get("sensitive-samples-constrained")
    task = suite.task("mnist-7x7-realistic")
    assert (task.n_evals, task.n_constraints, task.space.n_dims) == (200, 1, 49)
    assert suite.task("mnist-7x7-realistic", is_smoke=True).n_evals == 8
    for image in digits[:3]:
        _, (c,) = task.truth(image.numpy())
        assert c == pytest.approx(0.5 - float(rated(score, image[None])[0]))
        assert c < 0


def test_only_feasible_images_detect(make_run, tmp_path):
    images = sobol_points(49, 4, seed=0)
    X = tuple(image.tolist() for image in images)
    Y = [-1.0, -4.0, -3.0, -2.0]
    some = make_run(Y, [[-1.0], [1.0], [0.0], [1.0]], method="some", X=X)
    none = make_run(Y, [[1.0]] * 4, method="none", X=X)
    more = make_run(Y, [[-1.0]] * 4, method="some", seed=1, X=X)
    assert torch.equal(best_images(some, 10), samples.upscaled(images[[2, 0]]))
    assert best_images(none, 10).shape == (0, 784)
    text = detection_section([some, none, more], tmp_path, n_tampered=20)
    assert text.count("| none | 0.000 |") == 2
    # the run with two samples counts with both of them among three and four
    few, many = (
        samples.any_of_first(samples.changed_labels(best_images(run, 10), 20))
        for run in (some, more)
    )
    within = text.split("### The N best")[1]
    row = next(line for line in within.splitlines() if line.startswith("| some |"))
    assert f"{float(few[1] + many[3]) / 2:.3f}" in row.split("|")[5]


def test_the_report_of_the_suite(make_run, tmp_path):
    X = tuple(image.tolist() for image in sobol_points(49, 2, seed=0))
    section = bench.get("sensitive-samples-constrained").section
    runs = [make_run([-1.0, -4.0], [[-1.0], [1.0]], X=X, optimum=None)]
    text = section(runs, tmp_path)
    assert "| t | 1/1, 1 |" in text
    assert "## Detection of tampering" in text
