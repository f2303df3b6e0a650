"""Triangular factors that grow: the dual one by rows of K, the primal one by features.

Notation:
    K (..., n, n)  kernel matrix, λ (...) noise variance, j (...) jitter
    L (..., n, n)  lower, L Lᵀ = K + (λ + j) I
    G (..., n, p)  features, R (..., p, p) upper, Rᵀ R = λ I + Gᵀ G

Noise below rounding level (about 1e-11 of the mean of K's diagonal) gets jitter of that
level, more only if K is not positive semi-definite; per matrix of a batch, recorded.
The level is a power of ten, so that it seldom changes as the matrix grows (then the
factor is made anew), and a grown factor equals a fresh one.

The primal factor comes from QR of (√λ I; G), never from GᵀG, whose condition number is
squared. It grows by LAPACK's `tpqrt` (QR of a triangle with rows below it), in O(p²) a
row where a new factor takes O(p³).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.linalg.lapack import dtpqrt
from torch import Tensor

from wideopt.exceptions import FitError
from wideopt.numerics.kernel import folded_rows

__all__ = ["Factor", "PrimalFactor"]

# Least nugget relative to K's mean diagonal (times 1 to 10): small enough not to show
# in a posterior, large enough that two ways to factor K agree to 1e-8.
_LEVEL = 1e-12
# Diagonals of exactly 1 (or 10, 100) must not lie where the level jumps.
_OFFSET = 0.137
_TINY = 1e-250
_N_STEPS = 13  # of more and more jitter
_QR_BLOCK = 32


@dataclass(frozen=True)
class Factor:
    """Lower Cholesky factor L of K + (noise + jitter) I, for a batch of matrices."""

    L: Float[Tensor, "... n n"]
    noise: Float[Tensor, "..."]
    jitter: Float[Tensor, "..."]

    @classmethod
    def of(cls, K: Float[Tensor, "... n n"], noise: Float[Tensor, "..."]) -> Factor:
        """Factor K + noise·I, with as little jitter as it takes.

        Raises:
            FitError: K or noise is not finite. Nothing else.
        """
        if not (torch.isfinite(K).all() and torch.isfinite(noise).all()):
            raise FitError(
                "The kernel matrix is not finite: a hyper-parameter is out of range, "
                "or an input is NaN."
            )
        batch = torch.broadcast_shapes(K.shape[:-2], noise.shape)
        K, noise = K.expand(*batch, *K.shape[-2:]), noise.expand(batch)
        level = _level(K.detach().diagonal(dim1=-2, dim2=-1).mean(-1))
        jitter = _least_jitter(noise, level)
        L, is_sound = _cholesky(K, noise + jitter)
        k = 0
        while not is_sound.all():
            k += 1
            step = level * 10.0**k
            if k == _N_STEPS:  # makes any symmetric matrix diagonally dominant
                step = 2 * K.detach().abs().sum(-1).amax(-1).clamp_min(_TINY)
            jitter = torch.where(is_sound, jitter, step)
            L, is_sound = _cholesky(K, noise + jitter)
            if k == _N_STEPS:
                break
        return cls(L, noise, jitter)

    @property
    def n(self) -> int:
        """Size of the matrix."""
        return self.L.shape[-1]

    @property
    def nugget(self) -> Float[Tensor, "..."]:
        """What was added to the diagonal: noise + jitter."""
        return self.noise + self.jitter

    def extended(
        self, K_cross: Float[Tensor, "... q n"], K_new: Float[Tensor, "... q q"]
    ) -> Factor:
        """Return the factor of the matrix grown by q rows, in O(n² q).

        Equal to a fresh factor: where that would choose another jitter, it is made.
        """
        n, q = self.n, K_new.shape[-1]
        B = self.half_solve(K_cross)
        C, is_sound = _cholesky(K_new - B @ B.mT, self.nugget)
        # Where K took more jitter than the least, the grown matrix takes as much: its
        # leading block is the same.
        before, after = (
            _least_jitter(self.noise, _level(mean))
            for mean in self._means(K_new.detach())
        )
        is_due = (before != after) | ~is_sound
        if is_due.all() or (is_due.any() and is_due.ndim != 1):
            return Factor.of(self._grown_matrix(K_cross, K_new), self.noise)
        batch = torch.broadcast_shapes(self.L.shape[:-2], C.shape[:-2])
        grown = self.L.new_zeros(*batch, n + q, n + q)
        if self.L.stride(-2) == 1:  # LAPACK's order: copied twice as fast as across
            grown = grown.mT
        grown[..., :n, :n] = self.L
        grown[..., n:, :n] = B
        grown[..., n:, n:] = C
        jitter = self.jitter.expand(batch)
        if is_due.any():  # of a batch (o,), only these are made anew
            rows = is_due.nonzero().flatten().tolist()
            cross, new = (M.expand(*batch, *M.shape[-2:]) for M in (K_cross, K_new))
            some = self.selected(rows)
            K = some._grown_matrix(cross[rows], new[rows])  # noqa: SLF001
            made = Factor.of(K, some.noise)
            grown[rows] = made.L
            jitter = jitter.index_put((torch.tensor(rows),), made.jitter)
        return Factor(grown, self.noise.expand(batch), jitter)

    def _means(
        self, K_new: Float[Tensor, "... q q"]
    ) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
        """Return the means of K's diagonal, now and grown; tr(L Lᵀ) = ‖L‖²."""
        square: Tensor = torch.linalg.matrix_norm(self.L.detach()).square()
        old = square - self.n * self.nugget
        new = K_new.diagonal(dim1=-2, dim2=-1).sum(-1)
        return old / self.n, (old + new) / (self.n + K_new.shape[-1])

    def _grown_matrix(self, K_cross: Tensor, K_new: Tensor) -> Float[Tensor, "... N N"]:
        eye = torch.eye(self.n, dtype=self.L.dtype, device=self.L.device)
        K = self.L @ self.L.mT - self.nugget[..., None, None] * eye
        batch = torch.broadcast_shapes(K.shape[:-2], K_new.shape[:-2])
        K, K_cross, K_new = (
            M.expand(*batch, *M.shape[-2:]) for M in (K, K_cross, K_new)
        )
        top = torch.cat([K, K_cross.mT], dim=-1)
        return torch.cat([top, torch.cat([K_cross, K_new], dim=-1)], dim=-2)

    def selected(self, outputs: list[int]) -> Factor:
        """Return the factors of some matrices of a batch (o,); no copies of a row."""
        first, n = outputs[0], len(outputs)
        if outputs == list(range(first, first + n)):
            L = self.L[first : first + n]
        else:
            L = self.L.mT[outputs].mT  # in the order of the whole
        return Factor(L, self.noise[outputs], self.jitter[outputs])

    def half_solve(self, C: Float[Tensor, "... q n"]) -> Float[Tensor, "... q n"]:
        """Return V = C L⁻ᵀ, so that V Vᵀ = C (K + λI)⁻¹ Cᵀ; rows are points."""
        return _rows_solved(self.L, C, is_transposed=False)

    def solve(self, Y: Float[Tensor, "... n"]) -> Float[Tensor, "... n"]:
        """Return (K + λI)⁻¹ y for every vector of Y; leading dimensions broadcast."""
        rows = Y.unsqueeze(-2)
        rows = _rows_solved(self.L, rows, is_transposed=False)
        return _rows_solved(self.L, rows, is_transposed=True).squeeze(-2)

    @property
    def logdet(self) -> Float[Tensor, "..."]:
        """Logarithm of det(K + λI)."""
        return 2.0 * self.L.diagonal(dim1=-2, dim2=-1).log().sum(-1)


@dataclass(frozen=True)
class PrimalFactor:
    """Upper factor R with Rᵀ R = noise·I + Gᵀ G; noise must be positive."""

    R: Float[Tensor, "... p p"]
    noise: Float[Tensor, "..."]

    @classmethod
    def of(
        cls, p: int, chunks: Iterable[Float[Tensor, "... p"]], noise: Tensor
    ) -> PrimalFactor:
        """Factor from the features, chunk by chunk."""
        eye = torch.eye(p, dtype=noise.dtype, device=noise.device)
        R = noise.sqrt()[..., None, None] * eye
        for G in chunks:
            batch = torch.broadcast_shapes(R.shape[:-2], G.shape[:-2])
            stacked = torch.cat(
                [R.expand(*batch, p, p), G.expand(*batch, *G.shape[-2:])], dim=-2
            )
            R = torch.linalg.qr(stacked, mode="r").R
        return cls(_positive(R), noise.expand(R.shape[:-2]))

    def extended(self, G: Float[Tensor, "... q p"]) -> PrimalFactor:
        """Return the factor with rows of G added, in O(p² q); not differentiable."""
        p = self.R.shape[-1]
        Rs = self.R.detach().reshape(-1, p, p)
        Gs = G.detach().expand(*self.R.shape[:-2], -1, p).reshape(-1, G.shape[-2], p)
        grown = [_qr_with_rows(R, rows) for R, rows in zip(Rs, Gs, strict=True)]
        R = torch.stack(grown).reshape(self.R.shape)
        return PrimalFactor(_positive(R), self.noise)

    def half_solve(self, G: Float[Tensor, "... q p"]) -> Float[Tensor, "... q p"]:
        """Return V = G R⁻¹, so that V Vᵀ = G (λI + GᵀG)⁻¹ Gᵀ; rows are points."""
        return _rows_solved(self.R.mT, G, is_transposed=False)

    def back_solve(self, V: Float[Tensor, "... p"]) -> Float[Tensor, "... p"]:
        """Return R⁻¹ v for every vector of V."""
        rows = V.unsqueeze(-2)
        return _rows_solved(self.R.mT, rows, is_transposed=True).squeeze(-2)

    def solve(self, V: Float[Tensor, "... p"]) -> Float[Tensor, "... p"]:
        """Return (λI + GᵀG)⁻¹ v for every vector of V."""
        return self.back_solve(self.half_solve(V.unsqueeze(-2)).squeeze(-2))

    @property
    def logdet(self) -> Float[Tensor, "..."]:
        """Logarithm of det(λI + GᵀG)."""
        return 2.0 * self.R.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _cholesky(
    K: Float[Tensor, "... n n"], nugget: Float[Tensor, "..."]
) -> tuple[Float[Tensor, "... n n"], Bool[Tensor, "..."]]:
    """Return the factor of K + nugget·I and where it exists."""
    eye = torch.eye(K.shape[-1], dtype=K.dtype, device=K.device)
    L, info = torch.linalg.cholesky_ex(K + nugget[..., None, None] * eye)
    return L, info == 0


def _level(mean: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return the least nugget for a matrix of that mean diagonal, a power of ten."""
    return _LEVEL * 10.0 ** (mean.clamp_min(_TINY).log10() + _OFFSET).ceil()


def _least_jitter(
    noise: Float[Tensor, "..."], level: Float[Tensor, "..."]
) -> Float[Tensor, "..."]:
    return torch.where(noise < level, level, 0.0)


def _rows_solved(
    L: Float[Tensor, "... n n"], C: Float[Tensor, "... q n"], *, is_transposed: bool
) -> Float[Tensor, "... q n"]:
    """Return C L⁻ᵀ (or C L⁻¹ if transposed); L is not copied over C's batch."""
    batch = torch.broadcast_shapes(L.shape[:-2], C.shape[:-2])
    rows, unfold = folded_rows(C.expand(*batch, *C.shape[-2:]), L.ndim - 2)
    # Cᵀ of row-major rows is what LAPACK wants: no copy is made
    M = L.mT if is_transposed else L
    return unfold(torch.linalg.solve_triangular(M, rows.mT, upper=is_transposed).mT)


def _positive(R: Float[Tensor, "... p p"]) -> Float[Tensor, "... p p"]:
    """Return R with a positive diagonal, as in a Cholesky factor."""
    sign = torch.where(R.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(R)
    return sign.unsqueeze(-1) * R


def _qr_with_rows(
    R: Float[Tensor, "p p"], rows: Float[Tensor, "q p"]
) -> Float[Tensor, "p p"]:
    a = np.asfortranarray(R.cpu().numpy())
    b = np.asfortranarray(rows.cpu().numpy())
    grown, _, _, info = dtpqrt(0, min(_QR_BLOCK, a.shape[0]), a, b)
    if info != 0:
        raise FitError(f"LAPACK tpqrt failed with info = {info}; rows are not finite?")
    return torch.from_numpy(np.triu(grown)).to(R)
