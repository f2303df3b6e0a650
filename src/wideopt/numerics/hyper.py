"""Hyper-parameters of a tangent kernel, and what is thought of them beforehand.

Source: Hvarfner et al. 2024 (a prior on input scales that shrinks with √d keeps
high-dimensional models from being too rough).

Notation: ψ = (log s_1, ..., log s_d, t_1, ..., t_d, log b, log o, log λ), scales and
bends (see `scales`) and noise; no bends, if the prior gives them no spread. Outputs are
taken to be standardized, inputs to lie in the unit cube.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.scales import Scales

__all__ = ["Hyper", "Prior"]


@dataclass(frozen=True)
class Hyper:
    """Log hyper-parameters of a batch of outputs; noise is a variance."""

    log_input: Float[Tensor, "... d"]
    log_bias: Float[Tensor, "..."]
    log_output: Float[Tensor, "..."]
    log_noise: Float[Tensor, "..."]
    bend: Float[Tensor, "... d"] | None = None

    @property
    def scales(self) -> Scales:
        """Scales of the kernel."""
        bias, output = self.log_bias.exp(), self.log_output.exp()
        return Scales(self.log_input.exp(), bias, output, self.bend)

    @property
    def noise(self) -> Float[Tensor, "..."]:
        """Noise variance."""
        return self.log_noise.exp()

    @property
    def vector(self) -> Float[Tensor, "... k"]:
        """All of them, (..., d + 3) or (..., 2d + 3)."""
        rest = torch.stack([self.log_bias, self.log_output, self.log_noise], dim=-1)
        bends = [] if self.bend is None else [self.bend]
        return torch.cat([self.log_input, *bends, rest], dim=-1)

    @classmethod
    def from_vector(cls, psi: Float[Tensor, "... k"], d: int | None = None) -> Hyper:
        """Return the inverse of `vector`, of d inputs; by default without bends."""
        inputs = psi[..., :-3]
        is_bent = d is not None and inputs.shape[-1] > d
        bend = inputs[..., d:] if is_bent else None
        return cls(inputs[..., :d], psi[..., -3], psi[..., -2], psi[..., -1], bend)

    def selected(self, output: int) -> Hyper:
        """Return those of one output of a batch (o,)."""
        return replace(self, **{n: v[output] for n, v in self._present().items()})

    def merged(self, other: Hyper, is_other: Bool[Tensor, "..."]) -> Hyper:
        """Return those of the other where it says so."""
        d = self.log_input.shape[-1]
        psi = torch.where(is_other.unsqueeze(-1), other.vector, self.vector)
        return Hyper.from_vector(psi, d)

    def _present(self) -> dict[str, Tensor]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v for name, v in values.items() if v is not None}

    def inflated(self, factor: Float[Tensor, "..."]) -> Hyper:
        """Return those with the same posterior mean and `factor` times the variance."""
        return replace(
            self,
            log_output=self.log_output + 0.5 * factor.log(),
            log_noise=self.log_noise + factor.log(),
        )

    def to_json(self) -> dict[str, Any]:
        """Return lists of floats, which JSON keeps exactly."""
        return {name: v.tolist() for name, v in self._present().items()}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Hyper:
        """Return the inverse of `to_json`."""
        names = [f.name for f in fields(cls)]
        if set(state) | {"bend"} != set(names):
            raise InputError(f"expected the fields {names}, got {sorted(state)}.")
        found = {k: torch.tensor(v, dtype=torch.float64) for k, v in state.items()}
        return cls(**found)


@dataclass(frozen=True)
class Prior:
    """Normal priors on log hyper-parameters, and bounds.

    Medians: input scales `input_scale`/√d, and so on; spreads are standard deviations
    of the logarithm. The input scales share a common factor (`shared_spread`) from
    which each departs by `input_spread`: with few data per dimension, independent
    scales overfit. Bends are normal around 0; without a spread there are none. The
    defaults suit standardized outputs on the unit cube.
    """

    input_scale: float = 0.85
    input_spread: float = 0.5
    shared_spread: float = 1.0
    bend_spread: float = 0.0
    bias_scale: float = 1.0
    bias_spread: float = 1.0
    output_scale: float = 1.0
    output_spread: float = 1.0
    noise: float = 2.5e-3
    noise_spread: float = 2.0
    min_noise: float = 1e-11
    max_noise: float = 2.0

    def n_hyper(self, d: int) -> int:
        """Return the length of ψ."""
        return d + 3 + self._n_bends(d)

    def _n_bends(self, d: int) -> int:
        return d if self.bend_spread > 0 else 0

    def center(self, d: int) -> Float[Tensor, " k"]:
        """Return the prior means of ψ."""
        medians = [self.input_scale / math.sqrt(d)] * d
        medians += [1.0] * self._n_bends(d)  # whose logarithm is 0
        medians += [self.bias_scale, self.output_scale, self.noise]
        return torch.tensor(medians, dtype=torch.float64).log()

    def covariance(self, d: int) -> Float[Tensor, "k k"]:
        """Return the prior covariance of ψ."""
        spreads = [self.input_spread] * d + [self.bend_spread] * self._n_bends(d)
        spreads += [self.bias_spread, self.output_spread, self.noise_spread]
        C = torch.tensor(spreads, dtype=torch.float64).square().diag()
        C[:d, :d] += self.shared_spread**2
        return C

    def bounds(self, d: int) -> tuple[Float[Tensor, " k"], Float[Tensor, " k"]]:
        """Return lower and upper bounds of ψ: 6 spreads, and the range of noise."""
        center = self.center(d)
        reach = 6.0 * self.covariance(d).diagonal().sqrt()
        low, high = center - reach, center + reach
        low[-1], high[-1] = math.log(self.min_noise), math.log(self.max_noise)
        return low, high

    def fitting(self, hyper: Hyper) -> Hyper:
        """Return the hyper-parameters with bends, or without, as the prior has it."""
        if self.bend_spread <= 0:
            return replace(hyper, bend=None)
        if hyper.bend is not None:
            return hyper
        return replace(hyper, bend=torch.zeros_like(hyper.log_input))

    def typical(self, d: int, batch: tuple[int, ...] = ()) -> Hyper:
        """Return hyper-parameters at the prior's center, where a first fit starts."""
        low, high = self.bounds(d)
        psi = self.center(d).clamp(low, high)
        return Hyper.from_vector(psi.expand(*batch, len(psi)).clone(), d)

    def starts(self, d: int, batch: tuple[int, ...] = ()) -> list[Hyper]:
        """Return two starts: typical, and the same with far more noise.

        A function that looks rough has one optimum of the evidence where it is rough
        and one where it is noisy; a single start finds either by chance.
        """
        typical = self.typical(d, batch)
        high = self.bounds(d)[1][-1]
        noisy = (typical.log_noise + 1.5 * self.noise_spread).clamp_max(high)
        return [typical, replace(typical, log_noise=noisy)]
