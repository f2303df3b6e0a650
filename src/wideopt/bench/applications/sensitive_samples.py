"""Sensitive samples: images whose labels tell a tampered classifier from the original.

He, Zhang and Lee (2018); 004, section 7.2.1. Notation:

    f_θ(x)      the probabilities of the 10 digits, a network of one hidden layer
    s(x) = ‖∂f_θ(x)/∂θ‖_F        the sensitivity, to be maximized over 7 x 7 images
    θ' = θ + σ ε, ε ~ N(0, I)    a tampered copy; there are 1,000
    a sample detects θ'          if the label argmax f_θ'(x) is not argmax f_θ(x)

Left open by the papers, chosen here: the outputs are probabilities, as a service gives
(with logits the norm mostly follows an image's brightness, which detects nothing);
σ is such that accuracy falls as printed, from 93% to 87.7%; upscaling is bilinear.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from wideopt.bench.applications.data_files import data_file
from wideopt.exceptions import InputError

__all__ = [
    "N_TAMPERED",
    "SIDE",
    "Classifier",
    "Digits",
    "any_of_first",
    "any_of_subset",
    "changed_labels",
    "classifier",
    "load_digits",
    "sensitivity",
    "tampered",
    "upscaled",
]

Weights: TypeAlias = tuple[Tensor, ...]  # W1 (m x 784), b1 (m), W2 (10 x m), b2 (10)

SIDE = 7  # of the images that are searched
_SIDE_FULL = 28
_N_TRAIN = 8000
_WIDTH = 32
_N_EPOCHS = 6
_BATCH = 100
_SIGMA = 0.0731  # takes accuracy from 93% to 87.7%, the mean of 1,000 copies
N_TAMPERED = 1000


@dataclass(frozen=True)
class Digits:
    """Images of digits in [0, 1], shuffled, for training and for testing."""

    X_train: Float[Tensor, "n 784"]
    y_train: Int[Tensor, "n"]
    X_test: Float[Tensor, "t 784"]
    y_test: Int[Tensor, "t"]


@dataclass(frozen=True)
class Classifier:
    """A network x ↦ softmax(W2 relu(W1 x + b1) + b2)."""

    weights: Weights

    def labels(self, X: Float[Tensor, "n 784"]) -> Int[Tensor, "n"]:
        """The most probable digit of each image."""
        return _logits(self.weights, X).argmax(dim=-1)

    def accuracy(self, X: Float[Tensor, "n 784"], y: Int[Tensor, "n"]) -> float:
        """The share of images whose label is right."""
        return float((self.labels(X) == y).double().mean())


def load_digits(path: Path | None = None) -> Digits:
    """The 10,000 digits of `mnist_10k.npz`, of which 8,000 train."""
    path = path or data_file("mnist_10k.npz", "10,000 digits of MNIST, in benchmarks/")
    with np.load(path) as arrays:
        images, labels = arrays["images"], arrays["labels"]
    if images.shape[1:] != (_SIDE_FULL, _SIDE_FULL) or len(images) <= _N_TRAIN:
        raise InputError(
            f"{path} has images of the shape {images.shape}; give more than {_N_TRAIN} "
            f"of {_SIDE_FULL} x {_SIDE_FULL}."
        )
    order = torch.randperm(len(images), generator=_generator(0))  # they come by label
    X = torch.from_numpy(images).double().flatten(1)[order] / 255
    y = torch.from_numpy(labels).long()[order]
    return Digits(X[:_N_TRAIN], y[:_N_TRAIN], X[_N_TRAIN:], y[_N_TRAIN:])


@functools.cache
def classifier() -> Classifier:
    """The original: trained on the digits, in seconds, always to the same weights."""
    digits = load_digits()
    generator = _generator(1)
    shapes = ((_WIDTH, _SIDE_FULL**2), (_WIDTH,), (10, _WIDTH), (10,))
    weights = tuple(_initial(shape, generator).requires_grad_() for shape in shapes)
    adam = torch.optim.Adam(weights, lr=2e-3)
    for _ in range(_N_EPOCHS):
        order = torch.randperm(_N_TRAIN, generator=generator)
        for rows in order.split(_BATCH):
            adam.zero_grad()
            logits = _logits(weights, digits.X_train[rows])
            torch.nn.functional.cross_entropy(logits, digits.y_train[rows]).backward()
            adam.step()
    return Classifier(tuple(weight.detach() for weight in weights))


def sensitivity(original: Classifier, image: Float[Tensor, "49"]) -> float:
    """s(x) of a 7 x 7 image."""
    x = upscaled(image[None])[0]

    def probabilities(*weights: Tensor) -> Tensor:
        return _logits(weights, x).softmax(dim=-1)

    parts = range(len(original.weights))
    jacobian = torch.func.jacrev(probabilities, argnums=tuple(parts))
    squares = (part.square().sum() for part in jacobian(*original.weights))
    return math.sqrt(float(torch.stack(list(squares)).sum()))


def upscaled(images: Float[Tensor, "n 49"]) -> Float[Tensor, "n 784"]:
    """7 x 7 images as 28 x 28 ones, bilinearly."""
    small = images.reshape(-1, 1, SIDE, SIDE)
    size = (_SIDE_FULL, _SIDE_FULL)
    large = torch.nn.functional.interpolate(small, size, mode="bilinear")
    return large.flatten(1)


def tampered(original: Classifier, i: int) -> Classifier:
    """The copy number i, with noise on each weight."""
    generator = _generator(10_000 + i)
    return Classifier(
        tuple(
            weight + _SIGMA * _normal(weight.shape, generator)
            for weight in original.weights
        )
    )


def changed_labels(
    images: Float[Tensor, "n 784"], n_tampered: int = N_TAMPERED
) -> Bool[Tensor, "n copies"]:
    """Whether an image (row) detects a tampered copy (column)."""
    original = classifier()
    before = original.labels(images)
    columns = [tampered(original, i).labels(images) for i in range(n_tampered)]
    return torch.stack(columns, dim=1) != before[:, None]


def any_of_first(detects: Bool[Tensor, "n copies"]) -> Float[Tensor, "n"]:
    """Detection rates of the first 1, ..., n samples: one of them detects the copy."""
    return detects.double().cummax(dim=0).values.mean(dim=1)


def any_of_subset(detects: Bool[Tensor, "n copies"]) -> Float[Tensor, "n"]:
    """Mean detection rates of all subsets of 1, ..., n samples.

    With j of n samples that detect a copy, C(n - j, k) / C(n, k) of the subsets of
    size k miss it.
    """
    n = len(detects)
    n_detecting = detects.sum(dim=0).tolist()
    rates = [
        1 - sum(math.comb(n - j, k) for j in n_detecting) / len(n_detecting) / total
        for k, total in ((k, math.comb(n, k)) for k in range(1, n + 1))
    ]
    return torch.tensor(rates, dtype=torch.float64)


def _logits(weights: Weights, X: Float[Tensor, "*n 784"]) -> Float[Tensor, "*n 10"]:
    W1, b1, W2, b2 = weights
    return torch.relu(X @ W1.T + b1) @ W2.T + b2


def _initial(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """He's initialization of a matrix; a bias is zero."""
    if len(shape) == 1:
        return torch.zeros(shape, dtype=torch.float64)
    return math.sqrt(2 / shape[1]) * _normal(shape, generator)


def _normal(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
