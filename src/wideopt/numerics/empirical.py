"""The empirical tangent kernel of a finite network, without parameter-long vectors.

Papers: Neural-CBO eq. 3-4, NeuralBO Alg. 1 (features g = ∂h/∂θ at θ_0).

Notation:
    H_{l-1} (..., n, in)   inputs of layer l at n points
    D_l     (..., n, out)  sensitivities ∂h/∂z_l; 1 for the readout
    g_l = D_l ⊗ H_{l-1}    the gradient of layer l, p = Σ out·in features in all
    K = o² Σ_l (H_{l-1} H'_{l-1}ᵀ) ∘ (D_l D'_lᵀ),   o the output scale
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.activations import Activation, Turns
from wideopt.numerics.kernel import Draw, Kernel, aligned, cat_rows
from wideopt.numerics.network import Architecture, Weights, fold
from wideopt.numerics.scales import Scales, require_float64

__all__ = ["TangentDraw", "TangentKernel", "TangentSide"]

# One layer's (H, D), the output scale multiplied into D; D is None for the readout,
# whose H carries the output scale.
Layer = tuple[Tensor, Tensor | None]


@dataclass(frozen=True)
class TangentSide:
    """The contributing layers' (H, D) at a set of points."""

    layers: tuple[Layer, ...]

    def joined(self, other: TangentSide) -> TangentSide:
        """Return the side of both sets of points."""
        pairs = zip(self.layers, other.layers, strict=True)
        return TangentSide(
            tuple(
                (cat_rows(H, G), None if D is None or E is None else cat_rows(D, E))
                for (H, D), (G, E) in pairs
            )
        )

    def split(self, n_rows: int) -> list[TangentSide]:
        """Return the sides of consecutive groups of n_rows points."""
        H = [H.split(n_rows, dim=-2) for H, _ in self.layers]
        D = [
            [None] * len(H[0]) if D is None else D.split(n_rows, dim=-2)
            for _, D in self.layers
        ]
        return [
            TangentSide(tuple((h[i], e[i]) for h, e in zip(H, D, strict=True)))
            for i in range(len(H[0]))
        ]


@dataclass(frozen=True)
class TangentKernel(Kernel[TangentSide]):
    """k(x, x') = o² <∂h/∂θ, ∂h'/∂θ> at any weights θ (usually θ_0).

    Prefer `TangentKernel.of`, which halves antisymmetric networks and leaves out layers
    without gradient. `layers` says which weight matrices count: (depth,) alone is
    Bayesian regression on the last layer's features.
    """

    architecture: Architecture
    weights: Weights
    scales: Scales
    layers: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        require_float64(**{f"W_{i + 1}": W for i, W in enumerate(self.weights)})
        shapes = self.architecture.shapes(self.scales.d)
        if tuple(tuple(W.shape[-2:]) for W in self.weights) != shapes:
            raise InputError(
                f"weights have shapes {[tuple(W.shape) for W in self.weights]}; "
                f"this architecture with d = {self.scales.d} needs {shapes}."
            )
        if not self.layers:
            object.__setattr__(self, "layers", self.architecture.trained_layers)

    @classmethod
    def of(
        cls, architecture: Architecture, weights: Weights, scales: Scales
    ) -> TangentKernel:
        """Return the kernel in its cheapest exact form (see `network.fold`)."""
        is_readout_only = architecture.init == "zero-last" and not weights[-1].any()
        layers = (architecture.depth,) if is_readout_only else ()
        return cls(*fold(architecture, weights), scales, layers)

    @property
    def batch(self) -> torch.Size:
        """Shape of the batch of outputs."""
        shapes = (W.shape[:-2] for W in self.weights)
        return torch.Size(torch.broadcast_shapes(self.scales.batch, *shapes))

    @property
    def n_features(self) -> int:
        """Number p of features."""
        shapes = self.architecture.shapes(self.scales.d)
        return sum(shapes[i][0] * shapes[i][1] for i in self.layers)

    def rescaled(
        self, scales: Scales, rows: Int[Tensor, " r"] | None = None
    ) -> TangentKernel:
        """Return the kernel with other scales, for some rows of a batch of weights."""
        weights = self.weights
        if rows is not None:
            weights = tuple(W[rows] if W.ndim > 2 else W for W in weights)
        return replace(self, scales=scales, weights=weights)

    def represent(self, X: Float[Tensor, "... n d"]) -> TangentSide:
        """Return (H, D) of every contributing layer: one forward, one backward pass."""
        inputs, slopes = self._forward(self.scales.embed(X))
        o = self.scales.output[..., None, None]
        layers: list[Layer] = []
        if self.architecture.depth in self.layers:
            layers.append((inputs[-1] * o, None))
        D = self.weights[-1] * o
        for i in range(self.architecture.depth - 1, min(self.layers) - 1, -1):
            D = D * slopes[i]
            if i in self.layers:
                layers.append((inputs[i], D))
            if i > 0:
                D = D @ self.weights[i]
        return TangentSide(tuple(reversed(layers)))

    def _forward(
        self, Z: Float[Tensor, "... n d1"]
    ) -> tuple[list[Tensor], list[Tensor]]:
        phi, c = self.architecture.phi, self.architecture.layer_scale
        inputs, slopes = [Z], []
        for W in self.weights[:-1]:
            z = inputs[-1] @ W.mT
            inputs.append(c * phi.phi(z))
            slopes.append(c * phi.dphi(z))
        return inputs, slopes

    def block_from(self, a: TangentSide, b: TangentSide) -> Float[Tensor, "... q n"]:
        """Return the kernel block: two matrix products a layer."""
        pairs = zip(reversed(a.layers), reversed(b.layers), strict=True)
        K: Tensor | None = None
        for (H, D), (G, E) in pairs:
            HG = H @ G.mT
            if D is None or E is None:
                K = HG
            elif K is None:
                K = HG * (D @ E.mT)
            else:
                K = torch.addcmul(K, HG, D @ E.mT)
        if K is None:
            raise InputError("this kernel has no layers: its features are empty.")
        return K

    def diag_from(self, a: TangentSide) -> Float[Tensor, "... n"]:
        """Return k(x, x)."""
        return _summed(
            H.square().sum(-1) * (1.0 if D is None else D.square().sum(-1))
            for H, D in a.layers
        )

    def features_from(self, a: TangentSide) -> Float[Tensor, "... n p"]:
        """Return o·∂h/∂θ, row by row."""
        blocks = [
            H if D is None else (D.unsqueeze(-1) * H.unsqueeze(-2)).flatten(-2)
            for H, D in a.layers
        ]
        batch = torch.broadcast_shapes(*(G.shape[:-1] for G in blocks))
        return torch.cat([G.expand(*batch, G.shape[-1]) for G in blocks], dim=-1)

    def features(self, A: Float[Tensor, "... n d"]) -> Float[Tensor, "... n p"]:
        """Return the features G of A, with block(A, B) = G_A G_Bᵀ."""
        return self.features_from(self.represent(A))

    def jvp_from(
        self, a: TangentSide, w: Float[Tensor, "... p"]
    ) -> Float[Tensor, "... n"]:
        """Return features(A) w without forming the features."""
        return _summed(
            (H @ V.mT).squeeze(-1) if D is None else (D * (H @ V.mT)).sum(-1)
            for (H, D), V in zip(a.layers, self._split(w), strict=True)
        )

    def jvp(
        self, A: Float[Tensor, "... n d"], w: Float[Tensor, "... p"]
    ) -> Float[Tensor, "... n"]:
        """Return features(A) w, the directional derivative of o·h along w.

        For one hidden layer with the constants folded into w: as few passes over the
        (n, m) activations as there can be, since these are what a draw costs.
        """
        if self.architecture.depth > 1 or self.layers != (0, 1):
            return self.jvp_from(self.represent(A), w)
        Z = self.scales.embed(A)
        V, v = self._split(w)
        W, q = self.weights
        oc = self.architecture.layer_scale * self.scales.output[..., None, None]
        v, V = oc * v, oc * q.mT * V
        phi: Activation | Turns = self.architecture.phi
        curved: Tensor | float = 0.0
        if isinstance(phi, Activation) and phi.turns is not None:
            phi = phi.turns  # all squares are one quadratic form Zᵀ M Z
            odd = W[..., 1::2, :]
            M = odd.mT @ (phi.square * (v[..., 1::2].mT * odd + 2 * V[..., 1::2, :]))
            curved = ((Z @ M) * Z).sum(-1)
            W, V, v = W[..., ::2, :], V[..., ::2, :], v[..., ::2]
        z = Z @ W.mT
        outer = (phi.phi(z) @ v.mT).squeeze(-1)
        return outer + (phi.dphi(z) * (Z @ V.mT)).sum(-1) + curved

    def vjp_from(
        self, a: TangentSide, r: Float[Tensor, "... n"]
    ) -> Float[Tensor, "... p"]:
        """Return features(A)ᵀ r without forming the features."""
        blocks = [
            (r.unsqueeze(-2) @ H).squeeze(-2)
            if D is None
            else ((r.unsqueeze(-1) * D).mT @ H).flatten(-2)
            for H, D in a.layers
        ]
        batch = torch.broadcast_shapes(*(g.shape[:-1] for g in blocks))
        return torch.cat([g.expand(*batch, g.shape[-1]) for g in blocks], dim=-1)

    def shifted(self, w: Float[Tensor, "... p"]) -> Weights:
        """Return the weights θ + w, with w in the order of the features."""
        weights = list(self.weights)
        for i, V in zip(self.layers, self._split(w), strict=True):
            weights[i] = weights[i] + V
        return tuple(weights)

    def _split(self, w: Float[Tensor, "... p"]) -> list[Tensor]:
        shapes = self.architecture.shapes(self.scales.d)
        sizes = [shapes[i][0] * shapes[i][1] for i in self.layers]
        parts = w.split(sizes, dim=-1)
        pairs = zip(parts, self.layers, strict=True)
        return [V.reshape(*V.shape[:-1], *shapes[i]) for V, i in pairs]

    def prior_draw(
        self, generator: torch.Generator, shape: tuple[int, ...] = (1,)
    ) -> TangentDraw:
        """Draw f(x) = g(x)ᵀw with w ~ N(0, I)."""
        w = torch.randn(
            (*shape, self.n_features),
            generator=generator,
            dtype=torch.float64,
            device=generator.device,
        )
        return TangentDraw(self, w)

    def posterior_draw(
        self,
        generator: torch.Generator,
        shape: tuple[int, ...],
        X: Float[Tensor, "... n d"],
        solve: Callable[[Float[Tensor, "s ... n"]], Float[Tensor, "s ... n"]],
        nu: float = 1.0,
    ) -> TangentDraw:
        """Draw by Matheron's rule; the correction is a shift of the weights, Gᵀv."""
        side = self.represent(X)
        prior = TangentDraw(self, nu * self.prior_draw(generator, shape).w)
        return TangentDraw(self, prior.w + self.vjp_from(side, solve(prior.at(side))))


@dataclass(frozen=True)
class TangentDraw(Draw):
    """Functions g(x)ᵀw, linear in the features, one per leading entry of w."""

    kernel: TangentKernel
    w: Float[Tensor, "s ... p"]

    def at(self, side: TangentSide) -> Float[Tensor, "s ... n"]:
        """Return the values at the points of a side."""
        n_batch = side.layers[-1][0].ndim - 2
        return self.kernel.jvp_from(side, aligned(self.w, n_batch))

    def __call__(self, X: Float[Tensor, "... n d"]) -> Float[Tensor, "s ... n"]:
        """Return the values of all functions at X: one Jacobian-vector product."""
        return self.kernel.jvp(X, aligned(self.w, X.ndim - 2))


def _summed(parts: Iterable[Tensor]) -> Tensor:
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
