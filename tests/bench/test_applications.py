import csv
import math

import numpy as np
import pytest
import torch

from wideopt import InputError, WideoptError, bench
from wideopt.bench.applications import documents, robot_pushing
from wideopt.bench.applications import sensitive_samples as samples
from wideopt.bench.applications.data_files import data_file
from wideopt.bench.detection import best_images, detection_section
from wideopt.search import sobol_points


@pytest.fixture(scope="module")
def original():
    return samples.classifier()


@pytest.fixture(scope="module")
def images():
    return sobol_points(49, 40, seed=0)


def test_the_classifier_is_as_accurate_as_printed(original):
    digits = samples.load_digits()
    X, y = digits.X_test, digits.y_test
    assert original.accuracy(X, y) == pytest.approx(0.93, abs=0.01)
    copies = [samples.tampered(original, i) for i in range(200)]
    mean = np.mean([copy.accuracy(X, y) for copy in copies])
    assert mean == pytest.approx(0.8773, abs=0.01)


def test_training_gives_the_same_weights_again(original):
    again = samples.classifier.__wrapped__()
    for a, b in zip(original.weights, again.weights, strict=True):
        assert torch.equal(a, b)


def test_sensitivity_is_the_norm_of_the_jacobian(original, images):
    """By hand: p = softmax(z), ∂p/∂z = diag(p) - ppᵀ, h = relu(a), a = W1 x + b1."""
    W1, b1, W2, b2 = original.weights
    for image in images[:5]:
        x = samples.upscaled(image[None])[0]
        a = W1 @ x + b1
        h = a.relu()
        p = (W2 @ h + b2).softmax(0)
        J = torch.diag(p) - torch.outer(p, p)
        inner = J @ (W2 * (a > 0))
        # a layer's jacobian is an outer product with its input, 1 for the bias
        square = J.square().sum() * (h @ h + 1) + inner.square().sum() * (x @ x + 1)
        assert samples.sensitivity(original, image) == pytest.approx(float(square**0.5))


def test_upscaling_keeps_constants_and_the_middle():
    assert torch.allclose(
        samples.upscaled(torch.full((1, 49), 0.3, dtype=torch.float64)),
        torch.full((1, 784), 0.3, dtype=torch.float64),
    )
    image = torch.zeros(1, 49, dtype=torch.float64)
    image[0, 24] = 1
    large = samples.upscaled(image).reshape(28, 28)
    assert large.argmax() in (13 * 28 + 13, 13 * 28 + 14, 14 * 28 + 13, 14 * 28 + 14)
    assert torch.equal(large, large.T)
    assert torch.allclose(large, large.flip(0))


def test_sensitive_images_detect_more_than_random_ones(original, images):
    """What the search is for: the best fifth detects twice as often as the rest."""
    values = torch.tensor([samples.sensitivity(original, x) for x in images])
    order = values.argsort(descending=True)
    rates = samples.changed_labels(samples.upscaled(images), 100).double().mean(dim=1)
    assert rates[order[:8]].mean() > 2 * rates[order[8:]].mean()


def test_rates_of_subsets_are_means_over_all_subsets():
    generator = torch.Generator().manual_seed(0)
    detects = torch.rand(5, 40, generator=generator) < 0.3
    rates = samples.any_of_subset(detects)
    for k in range(1, 6):
        subsets = torch.combinations(torch.arange(5), k)
        brute = detects[subsets].any(dim=1).double().mean()
        assert float(rates[k - 1]) == pytest.approx(float(brute))
    first = samples.any_of_first(detects)
    assert [float(r) for r in first] == [
        float(detects[:k].any(dim=0).double().mean()) for k in range(1, 6)
    ]


def test_detection_is_reported_from_records(tmp_path, make_run, images):
    X = tuple(image.tolist() for image in images[:6])
    Y = [-1.0, -5.0, -3.0, -5.0, -2.0, -4.0]
    runs = [
        make_run(Y, method=method, seed=seed, X=(*X[:3], X[1], *X[4:]))
        for method in ("a", "b")
        for seed in (0, 1)
    ]
    best = best_images(runs[0], 10)  # five distinct ones, the best first
    assert torch.equal(best, samples.upscaled(images[[1, 5, 2, 4, 0]]))
    text = detection_section(runs, tmp_path, n_tampered=40)
    rate = samples.changed_labels(best[:1], 40).double().mean()
    assert text.count(f"| a | {rate:.3f} |") == 2  # N = 1: the best, in both tables
    assert "(digits of the test set)" in text
    assert (tmp_path / "detection-across.png").exists()
    assert (tmp_path / "detection-within.png").exists()


def test_missing_and_wrong_data_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("WIDEOPT_DATA", str(tmp_path))
    with pytest.raises(WideoptError, match="set WIDEOPT_DATA"):
        samples.load_digits()
    images = np.zeros((3, 28, 28), dtype=np.uint8)
    path = tmp_path / "mnist_10k.npz"
    np.savez(path, images=images, labels=np.zeros(3, dtype=np.uint8))
    assert data_file("mnist_10k.npz", "") == path
    with pytest.raises(InputError, match=r"\(3, 28, 28\)"):
        samples.load_digits()


def test_hierarchical_f1_by_hand():
    wanted = frozenset("abc")
    assert documents.hierarchical_f1(wanted, wanted) == 1
    assert documents.hierarchical_f1(frozenset("xy"), wanted) == 0
    # hP = 2/4, hR = 2/3
    assert documents.hierarchical_f1(frozenset("abxy"), wanted) == pytest.approx(4 / 7)
    assert documents.hierarchical_f1(frozenset("a"), wanted) == pytest.approx(1 / 2)


def test_hierarchical_f1_is_dices_coefficient():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = (frozenset(map(str, rng.integers(9, size=5))) for _ in "ab")
        dice = 2 * len(a & b) / (len(a) + len(b))
        assert documents.hierarchical_f1(a, b) == pytest.approx(dice)


@pytest.fixture
def reviews(tmp_path):
    """A file in the form of Kaggle's: two unknown categories, two equal counts."""
    rows = [
        ("Puzzle, puzzle\nwith a train", "toys games", "puzzles", "jigsaw puzzles"),
        ("train puzzle puzzle", "toys games", "puzzles", "jigsaw puzzles"),
        ("A fast train", "toys games", "vehicles", "trains"),
        ("Soft cream, cream", "beauty", "skin care", "face"),
        ("Cream train", "beauty", "unknown", "face"),
        ("Cream puzzle", "beauty", "skin care", "Unknown"),
    ]
    header = ["productId", "Title", "userId", "Helpfulness", "Score", "Time", "Text"]
    path = tmp_path / "amazon_reviews.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*header, "Cat1", "Cat2", "Cat3"])
        writer.writerows(("B0", "t", "u", "0/0", "5.0", "1", *row) for row in rows)
    return path


def test_reviews_of_unknown_category_are_left_out(reviews):
    found = documents.amazon(reviews)
    assert len(found) == 4
    assert found[2].categories == {
        "toys games",
        "toys games > vehicles",
        "toys games > vehicles > trains",
    }
    assert documents.hierarchical_f1(
        found[0].categories, found[2].categories
    ) == pytest.approx(1 / 3)


def test_word_counts_are_distinct_rows(reviews):
    corpus = documents.index_words(documents.amazon(reviews), n_words=3)
    assert corpus.words == ("cream", "puzzle", "train")
    assert len(corpus.counts) == len(corpus.categories) == 3
    column = corpus.words.index("puzzle")
    assert corpus.counts[:, column].tolist() == [2, 0, 0]
    score = corpus.score(1)
    assert [score(row) for row in corpus.counts] == pytest.approx([1 / 3, 1, 0])


def test_reviews_make_a_task(reviews, monkeypatch):
    monkeypatch.setenv("WIDEOPT_DATA", str(reviews.parent))
    task = bench.get("documents-amazon").task("amazon-0", is_smoke=True)
    values = [task.truth(row)[0] for row in task.space.candidates.rows]
    assert min(values) == task.optimum == -1
    assert task.to_json()["space"]["candidates"] == [3, task.space.n_dims]
    monkeypatch.setenv("WIDEOPT_DATA", str(reviews.parent / "nowhere"))
    bench.suites.documents._reviews.cache_clear()
    with pytest.raises(WideoptError, match="kashnitsky"):
        bench.get("documents-amazon").task("amazon-0", is_smoke=True)


def test_other_csv_files_are_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("Text,Cat1\nx,y\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column Cat2, Cat3"):
        documents.amazon(path)


# Lines in the form of wndb(5): 1 is the root; 5 has two parents; 6 is an instance.
NOUNS = """\
  1 This software and database is being provided to you
00000001 03 n 01 entity 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | what exists
00000002 03 n 02 thing 0 object 1 001 @ 00000001 n 0000 | a separate thing
00000003 03 n 01 idea 0 002 @ 00000001 n 0000 + 00000009 v 0101 | a mental thing
00000004 03 n 0a a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 001 @ 00000002 n 0000 | ten
00000005 03 n 01 book 0 002 @ 00000004 n 0000 @ 00000003 n 0000 | pages; "a | b"
00000006 03 n 01 Faust 0 001 @i 00000005 n 0000 | a play
"""


def test_hypernyms_are_followed_on_every_path(tmp_path):
    path = tmp_path / "data.noun"
    path.write_text(NOUNS, encoding="utf-8")
    found = documents.wordnet(path)
    assert [sorted(int(c) for c in d.categories) for d in found] == [
        [2],
        [2, 3, 4],
        [2, 3, 4, 5],
    ]
    assert [d.text.strip() for d in found] == ["ten", 'pages; "a | b"', "a play"]
    assert documents.wordnet(path, 2) == documents.wordnet(path, 2)
    assert len(documents.wordnet(path, 2)) == 2


def test_absent_wordnet_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    with pytest.raises(WideoptError, match="wordnet-base"):
        documents.wordnet_path()


@pytest.fixture
def at_rest():
    """Hands that move away from everything."""
    hand = [4.5, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0]
    return np.array([*hand, -4.5, 0.0, -1.0, *hand[3:]])


def test_untouched_objects_stay(at_rest):
    assert robot_pushing.push(at_rest) == ((0, 2), (0, -2))
    assert robot_pushing.reward(robot_pushing.instance(0).goals, at_rest) == 0


def test_a_push_moves_the_object_ahead_of_the_hand(at_rest):
    x = at_rest.copy()
    x[:7] = [-3, 2, 3, 0, 15, 0, 0]  # for 1.5 s to the right, from the left
    (x1, y1), second = robot_pushing.push(x)
    hand = -3 + 3 * 1.5 + 0.3  # where its face comes to, at most
    assert hand - 0.5 + 1 < x1 < hand + 1.5
    assert y1 == pytest.approx(2, abs=0.05)
    assert second == (0, -2)
    goals = robot_pushing.instance(0).goals
    gained = math.dist((0, 2), goals[0]) - math.dist((x1, y1), goals[0])
    assert robot_pushing.reward(goals, x) == pytest.approx(gained)
    assert robot_pushing.push(x) == ((x1, y1), second)  # the same again


def test_hands_are_alike_under_a_turn(at_rest):
    """Turning the plane by 180° swaps the objects, so it may swap the hands."""
    x = at_rest.copy()
    x[:7] = [-2, 2.5, 4, 0.5, 8, 0.3, 1]
    turned = np.concatenate([x[7:], x[:7]])
    for i in (0, 1, 2, 3, 7, 8, 9, 10):
        turned[i] *= -1
    turned[[5, 12]] += math.pi
    (a, b), (c, d) = robot_pushing.push(x)
    (e, f), (g, h) = robot_pushing.push(turned)
    assert (-g, -h) == pytest.approx((a, b), abs=1e-3)
    assert (-e, -f) == pytest.approx((c, d), abs=1e-3)


def test_instances_differ_in_their_goals():
    assert robot_pushing.instance(0).goals == ((4, 3.5), (-4, 3.5))
    assert robot_pushing.instance(1) == robot_pushing.instance(1)
    assert robot_pushing.instance(1) != robot_pushing.instance(2)
    assert len(robot_pushing.space()) == 14


def test_a_simple_search_beats_random_pushes():
    """Climbing from the best of 50 random pushes gains 0.5 or more, on three goals."""
    low, high = np.array([(p.low, p.high) for p in robot_pushing.space().parameters]).T
    for seed in range(3):
        rng = np.random.default_rng(seed)
        goals = robot_pushing.instance(seed).goals
        X = rng.uniform(low, high, size=(50, 14))
        values = [robot_pushing.reward(goals, x) for x in X]
        x, best = X[np.argmax(values)], max(values)
        reached = best
        for _ in range(80):
            step = 0.1 * rng.standard_normal(14) * (rng.random(14) < 0.4)
            other = np.clip(x + (high - low) * step, low, high)
            value = robot_pushing.reward(goals, other)
            if value > reached:
                x, reached = other, value
        bound = sum(
            math.dist(s, g) for s, g in zip(((0, 2), (0, -2)), goals, strict=True)
        )
        assert best + 0.5 < reached <= bound
