"""Realism: how much an image looks like a digit, as a reviewer would rate it.

000, section 5.5: people rate sensitive samples from 0 to 1, and the rating is a
constraint. A learned score stands in for them here; `constrained_outputs` takes any
callable, so a person can rate instead. Notation:

    x_a = (1 - a) digit + a z,  a ~ U(0, 1)     what the score learns from
    r(x) = expit(network(x)) ≈ 1 - a            the score, by cross-entropy

where z is an image at random, the digit's pixels in another order, or the digit
blurred. All of them are made of 7 x 7 pixels and upscaled, digits too: the search is
among such images, and no reviewer should reject them for that alone. With shares a
instead of two classes the score has no steep edge, as ratings have none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.bench.applications import sensitive_samples as samples

__all__ = [
    "Realism",
    "RealismScore",
    "constrained_outputs",
    "learned_realism",
    "shrunk",
]

Realism: TypeAlias = Callable[[Tensor], float]  # of a 28 x 28 image, in [0, 1]

_WIDTH = 64
_N_EPOCHS = 8
_BATCH = 100


@dataclass(frozen=True)
class RealismScore:
    """A network of one hidden layer whose output is a rating."""

    network: torch.nn.Sequential

    def __call__(self, image: Float[Tensor, "28 28"]) -> float:
        """The rating of one image."""
        return float(self.of_all(image.reshape(1, -1))[0])

    def of_all(self, images: Float[Tensor, "n 784"]) -> Float[Tensor, " n"]:
        """The ratings of many."""
        with torch.no_grad():
            ratings: Tensor = self.network(shrunk(images)).squeeze(-1).sigmoid()
        return ratings


@functools.cache
def learned_realism() -> RealismScore:
    """The score, trained on the digits in seconds, always to the same weights."""
    generator = torch.Generator().manual_seed(2)
    digits = shrunk(samples.load_digits().X_train)
    network = _network(generator)
    adam = torch.optim.Adam(network.parameters(), lr=2e-3)
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    for _ in range(_N_EPOCHS):
        order = torch.randperm(len(digits), generator=generator)
        for rows in order.split(_BATCH):
            X, share = _mixed(digits[rows], generator)
            adam.zero_grad()
            X = shrunk(samples.upscaled(X))
            loss(network(X).squeeze(-1), 1 - share).backward()
            adam.step()
    return RealismScore(network.requires_grad_(requires_grad=False))


def constrained_outputs(
    realism: Realism | None = None, threshold: float = 0.5
) -> Callable[[Any], tuple[float, list[float]]]:
    """Minus the sensitivity of a 7 x 7 image, and threshold - realism, which is <= 0.

    Args:
        realism: rates a 28 x 28 image from 0 to 1; by default `learned_realism`. It may
            show the image to a person and wait.
        threshold: the least rating of an image that is good enough.
    """
    original = samples.classifier()
    rate = learned_realism() if realism is None else realism

    def outputs(x: Any) -> tuple[float, list[float]]:
        image = torch.as_tensor(x, dtype=torch.float64)
        shown = samples.upscaled(image[None]).reshape(28, 28)
        return -samples.sensitivity(original, image), [threshold - float(rate(shown))]

    return outputs


def shrunk(images: Float[Tensor, "n 784"]) -> Float[Tensor, "n 49"]:
    """28 x 28 images as 7 x 7 ones, by the mean of 4 x 4 pixels."""
    large = images.reshape(-1, 1, 28, 28)
    return torch.nn.functional.avg_pool2d(large, 28 // samples.SIDE).flatten(1)


def _mixed(
    digits: Float[Tensor, "n 49"], generator: torch.Generator
) -> tuple[Float[Tensor, "n 49"], Float[Tensor, " n"]]:
    """x_a and a; the three kinds of z alike, and both ends of a are met."""
    n = len(digits)
    noise = torch.rand(digits.shape, generator=generator, dtype=torch.float64)
    order = noise.argsort(dim=1)
    kinds = torch.stack([noise, digits.gather(1, order), _blurred(digits)])
    kind = torch.randint(3, (n,), generator=generator)
    share = torch.rand(n, generator=generator, dtype=torch.float64)
    share = (1.2 * share - 0.1).clamp(0, 1)  # 0 and 1 in a twelfth of images each
    z = kinds[kind, torch.arange(n)]
    return digits + share[:, None] * (z - digits), share


def _blurred(images: Float[Tensor, "n 49"]) -> Float[Tensor, "n 49"]:
    small = images.reshape(-1, 1, samples.SIDE, samples.SIDE)
    wide = torch.nn.functional.avg_pool2d(small, 5, stride=1, padding=2)
    return wide.flatten(1)


def _network(generator: torch.Generator) -> torch.nn.Sequential:
    layers = []
    for n_in, n_out in ((samples.SIDE**2, _WIDTH), (_WIDTH, 1)):
        # the usual initialization would draw from torch's global stream
        layer = torch.nn.utils.skip_init(
            torch.nn.Linear, n_in, n_out, dtype=torch.float64
        )
        torch.nn.init.kaiming_normal_(layer.weight, generator=generator)
        torch.nn.init.zeros_(layer.bias)
        layers.append(layer)
    return torch.nn.Sequential(layers[0], torch.nn.SiLU(), layers[1])
