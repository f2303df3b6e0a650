"""Wide networks without biases, in the tangent parametrization.

Papers: Neural-CBO (Phan-Trong et al. 2025) eq. 1; NeuralBO (Phan-Trong et al. 2023)
sec. 4 and 7.

Notation:
    z_l = W_l h_{l-1},  h_l = (gain/√m) φ(z_l),  h_0 = Z,  h(Z; θ) = W_{L+1} h_L
    L depth (hidden layers), m width, θ = (W_1, ..., W_{L+1})
    W_1 (m, d+1), W_l (m, m), W_{L+1} (1, m); gain = √2 for relu, else 1
    k(x, x') = <∂h/∂θ, ∂h'/∂θ>, tends to the tangent kernel as m grows, for every
    initialization below except zero-last (where it is the NNGP kernel)

W_1 has no 1/√d: inputs come scaled by one learned factor per dimension (`Scales`).

Initializations:
    gaussian       all weights N(0, 1)
    zero-last      the same with W_{L+1} = 0, so h(.; θ_0) = 0 and only the readout
                   has a gradient at θ_0
    antisymmetric  W_1 = (Ψ_1; Ψ_1), W_l = blockdiag(Ψ_l, Ψ_l), W_{L+1} = (q, -q):
                   h(.; θ_0) = 0 with a full gradient. Ψ_1, q ~ N(0, 1) and, since
                   half of each inner matrix is zero, Ψ_l ~ N(0, 2) for l >= 2
Readout "fixed" draws W_{L+1} from ±1 and never trains it.

The papers' parametrizations, for relu (which is homogeneous), w̃ being their weights:
    NeuralBO  h̃ = √m W̃_{L+1} φ(...φ(W̃_1 x)), N(0, 2/m) inside, zero last: h̃ = h and
              <g̃, g̃'>/m = k. With N(0, 1/m) everywhere: h̃ = 2^(-L/2) h and
              <g̃, g̃'>/m = 2^(-L) k. There w̃ = w/√m: their ridge mλ‖θ̃ - θ̃_0‖² is
              λ‖θ - θ_0‖² here, and their learning rate η is m η here.
    Neural-CBO  ã of eq. 1 has 1/√m outside the weights as here, no gain, Ψ_l ~ N(0, 1):
              ã = 2^(-L+1/2) h, and layer l's part of <g̃, g̃'> is that of k times
              2^(1-2L) for l = 1, 2^(2-2L) for 2 <= l <= L. That is has_gain=False.
A constant factor is absorbed by the output scale; the last is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.activations import Activation, get_activation
from wideopt.numerics.scales import require_float64

__all__ = ["Architecture", "Weights", "fold"]

Weights = tuple[Tensor, ...]
Init = Literal["antisymmetric", "zero-last", "gaussian"]
Readout = Literal["trained", "fixed"]


@dataclass(frozen=True)
class Architecture:
    """A network: shape, activation, initialization, readout.

    It is fully connected, unless it `is_additive`: then each unit sees one input, and
    there is the closed form of `additive` only. Without the gain, nor the factor of Ψ,
    it is as Neural-CBO prints it, and signals fade from layer to layer; closed forms
    have the gain.
    """

    depth: int = 1
    width: int = 512
    activation: str = "erf"
    init: Init = "antisymmetric"
    readout: Readout = "trained"
    is_additive: bool = False
    has_gain: bool = True

    def __post_init__(self) -> None:
        get_activation(self.activation)
        if self.depth < 1:
            raise InputError(f"depth is {self.depth}; at least one hidden layer.")
        if self.width < 1:
            raise InputError(f"width is {self.width}; it must be at least 1.")
        self._check_choices()

    def _check_choices(self) -> None:
        if self.init not in get_args(Init):
            raise InputError(f"init is {self.init!r}; choose one of {get_args(Init)}.")
        if self.readout not in get_args(Readout):
            raise InputError(
                f"readout is {self.readout!r}; choose one of {get_args(Readout)}."
            )
        if self.init == "antisymmetric" and self.width % 2:
            raise InputError(
                f"width is {self.width}; antisymmetric networks have two equal halves, "
                "so it must be even."
            )
        if self.init == "zero-last" and self.readout == "fixed":
            raise InputError(
                "init='zero-last' with readout='fixed' is the zero function: "
                "train the readout, or choose another init."
            )

    @property
    def phi(self) -> Activation:
        """The activation and its derivative."""
        return get_activation(self.activation)

    @property
    def layer_scale(self) -> float:
        """Factor gain/√m of every hidden layer's output."""
        gain = self.phi.gain if self.has_gain else 1.0
        return gain / math.sqrt(self.width)

    @property
    def trained_layers(self) -> tuple[int, ...]:
        """Indices of the weight matrices that are trained."""
        return tuple(range(self.depth + (self.readout == "trained")))

    def shapes(self, d: int) -> tuple[tuple[int, int], ...]:
        """Return the shapes of W_1, ..., W_{L+1} for d inputs (and the bias)."""
        m = self.width
        return ((m, d + 1), *[(m, m)] * (self.depth - 1), (1, m))

    def initial_weights(
        self, d: int, generator: torch.Generator, batch: tuple[int, ...] = ()
    ) -> Weights:
        """Draw θ_0 for d inputs, of shapes (*batch, out, in)."""
        if d < 1:
            raise InputError(f"d is {d}; a network needs at least one input.")
        if self.init == "antisymmetric":
            half = replace(self, width=self.width // 2, init="gaussian")
            first, *others, q = half.initial_weights(d, generator, batch)
            if not self.has_gain:  # Ψ_l ~ N(0, 1)
                others = [W / math.sqrt(2.0) for W in others]
            return _unfold((first, *others, q))
        *inner, last = self.shapes(d)
        weights = [_normal((*batch, *shape), generator) for shape in inner]
        return (*weights, self._initial_readout((*batch, *last), generator))

    def _initial_readout(
        self, shape: tuple[int, ...], generator: torch.Generator
    ) -> Float[Tensor, "... 1 m"]:
        q = _normal(shape, generator)
        if self.init == "zero-last":
            return torch.zeros_like(q)
        # torch.sign would map an exact zero to zero
        return torch.where(q < 0, -1.0, 1.0).to(q) if self.readout == "fixed" else q

    def forward(
        self, weights: Weights, Z: Float[Tensor, "... n d1"]
    ) -> Float[Tensor, "... n"]:
        """Return h(Z; θ); weights and Z broadcast over their leading dimensions."""
        require_float64(Z=Z)
        H = Z
        for W in weights[:-1]:
            H = self.layer_scale * self.phi.phi(H @ W.mT)
        return (H @ weights[-1].mT).squeeze(-1)


def _normal(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.randn(
        shape, generator=generator, dtype=torch.float64, device=generator.device
    )


def _unfold(weights: Weights) -> Weights:
    """Return the antisymmetric network of twice the width and the same kernel."""
    first, *inner, q = weights
    blocks = []
    for W in inner:
        Psi, zero = math.sqrt(2.0) * W, torch.zeros_like(W)
        rows = torch.cat([Psi, zero], -1), torch.cat([zero, Psi], -1)
        blocks.append(torch.cat(rows, -2))
    return (torch.cat([first, first], -2), *blocks, torch.cat([q, -q], -1))


def fold(architecture: Architecture, weights: Weights) -> tuple[Architecture, Weights]:
    """Return a network with the same tangent kernel, of half the width if possible.

    At an antisymmetric θ_0 both halves of every layer are equal, so
    h·h' = 2 ĥ·ĥ' and D·D' = 2 D̂·D̂' over one half: the kernel is exactly that of the
    half alone as a gaussian network (of weights Ψ_l/√2), with half the cost of a kernel
    block and a half to a quarter of the features. Weights without that symmetry (after
    training) come back as they are.
    """
    if architecture.init != "antisymmetric":
        return architecture, weights
    m = architecture.width // 2
    first, *inner, q = weights
    halves = (
        first[..., :m, :],
        *[W[..., :m, :m] / math.sqrt(2.0) for W in inner],
        q[..., :m],
    )
    # Dividing and multiplying by √2 rounds, hence the comparison with a tolerance.
    same = all(
        torch.allclose(W, V, rtol=1e-12, atol=0.0)
        for W, V in zip(weights, _unfold(halves), strict=True)
    )
    if not same:
        return architecture, weights
    return replace(architecture, width=m, init="gaussian"), halves
