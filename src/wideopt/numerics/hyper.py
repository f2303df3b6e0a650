"""Hyper-parameters of a tangent kernel, and what is thought of them beforehand.

Source: Hvarfner et al. 2024 (a prior on input scales that shrinks with √d keeps
high-dimensional models from being too rough).

Notation: ψ = (log s_1, ..., log s_d, t_1, ..., t_d, log ρ, log τ, log b, log o, log λ),
scales, bends (see `scales`), grain (see `grain`) and noise; no bends, if the prior
gives them no spread, and no grain, unless it has any. Outputs are taken to be
standardized, inputs to lie in the unit cube.
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

__all__ = ["NO_GRAIN", "Hyper", "Prior"]

NO_GRAIN = -23.0  # log ρ of an output without grain: ρ² is lost in rounding


@dataclass(frozen=True)
class Hyper:
    """Log hyper-parameters of a batch of outputs; noise is a variance."""

    log_input: Float[Tensor, "... d"]
    log_bias: Float[Tensor, "..."]
    log_output: Float[Tensor, "..."]
    log_noise: Float[Tensor, "..."]
    bend: Float[Tensor, "... d"] | None = None
    grain: Float[Tensor, "... 2"] | None = None

    @property
    def scales(self) -> Scales:
        """Scales of the kernel."""
        bias, output = self.log_bias.exp(), self.log_output.exp()
        grain = None if self.grain is None else self.grain.exp()
        return Scales(self.log_input.exp(), bias, output, self.bend, grain)

    @property
    def noise(self) -> Float[Tensor, "..."]:
        """Noise variance."""
        return self.log_noise.exp()

    @property
    def is_grainy(self) -> Bool[Tensor, "..."]:
        """Which outputs have a grain."""
        if self.grain is None:
            return torch.zeros_like(self.log_bias, dtype=torch.bool)
        return self.grain[..., 0] > NO_GRAIN

    @property
    def vector(self) -> Float[Tensor, "... k"]:
        """All of them, (..., d + 3), with d more for bends and 2 for grain."""
        rest = torch.stack([self.log_bias, self.log_output, self.log_noise], dim=-1)
        extra = [each for each in (self.bend, self.grain) if each is not None]
        return torch.cat([self.log_input, *extra, rest], dim=-1)

    @classmethod
    def from_vector(
        cls,
        psi: Float[Tensor, "... k"],
        d: int | None = None,
        *,
        has_grain: bool = False,
    ) -> Hyper:
        """Return the inverse of `vector`, of d inputs; by default without bends."""
        inputs, grain = psi[..., :-3], None
        if has_grain:
            inputs, grain = inputs[..., :-2], inputs[..., -2:]
        is_bent = d is not None and inputs.shape[-1] > d
        bend = inputs[..., d:] if is_bent else None
        rest = psi[..., -3], psi[..., -2], psi[..., -1]
        return cls(inputs[..., :d], *rest, bend, grain)

    def selected(self, output: int) -> Hyper:
        """Return those of one output of a batch (o,)."""
        return replace(self, **{n: v[output] for n, v in self._present().items()})

    def merged(self, other: Hyper, is_other: Bool[Tensor, "..."]) -> Hyper:
        """Return those of the other where it says so."""
        d = self.log_input.shape[-1]
        psi = torch.where(is_other.unsqueeze(-1), other.vector, self.vector)
        return Hyper.from_vector(psi, d, has_grain=self.grain is not None)

    def _present(self) -> dict[str, Tensor]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v for name, v in values.items() if v is not None}

    def inflated(self, factor: Float[Tensor, "..."]) -> Hyper:
        """Return those with the same posterior mean and `factor` times the variance."""
        half = 0.5 * factor.log()
        grain = self.grain
        if grain is not None:
            size = torch.where(self.is_grainy, grain[..., 0] + half, grain[..., 0])
            grain = torch.stack([size, grain[..., 1]], dim=-1)
        return replace(
            self,
            log_output=self.log_output + half,
            log_noise=self.log_noise + 2.0 * half,
            grain=grain,
        )

    def to_json(self) -> dict[str, Any]:
        """Return lists of floats, which JSON keeps exactly."""
        return {name: v.tolist() for name, v in self._present().items()}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Hyper:
        """Return the inverse of `to_json`."""
        names = [f.name for f in fields(cls)]
        if set(state) | {"bend", "grain"} != set(names):
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
    pitch of a grain is that of a trend with scale 1. The defaults suit standardized
    outputs on the unit cube.
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
    has_grain: bool = False
    grain_size: float = 0.3
    grain_size_spread: float = 1.0
    grain_pitch: float = 30.0
    grain_pitch_spread: float = 1.5
    min_pitch: float = 4.0

    def n_hyper(self, d: int) -> int:
        """Return the length of ψ."""
        return d + 3 + self._n_bends(d) + 2 * self.has_grain

    def _n_bends(self, d: int) -> int:
        return d if self.bend_spread > 0 else 0

    def center(self, d: int) -> Float[Tensor, " k"]:
        """Return the prior means of ψ."""
        medians = [self.input_scale / math.sqrt(d)] * d
        medians += [1.0] * self._n_bends(d)  # whose logarithm is 0
        medians += [self.grain_size, self.grain_pitch] * self.has_grain
        medians += [self.bias_scale, self.output_scale, self.noise]
        return torch.tensor(medians, dtype=torch.float64).log()

    def covariance(self, d: int) -> Float[Tensor, "k k"]:
        """Return the prior covariance of ψ."""
        spreads = [self.input_spread] * d + [self.bend_spread] * self._n_bends(d)
        spreads += [self.grain_size_spread, self.grain_pitch_spread] * self.has_grain
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
        if self.has_grain:
            low[-5], low[-4] = NO_GRAIN, math.log(self.min_pitch)
        return low, high

    def fitting(self, hyper: Hyper) -> Hyper:
        """Return those with bends and grain, or without, as the prior has it."""
        bend, grain = hyper.bend, hyper.grain
        if self.bend_spread <= 0:
            bend = None
        elif bend is None:
            bend = torch.zeros_like(hyper.log_input)
        if not self.has_grain:
            grain = None
        elif grain is None:
            none = hyper.log_bias.new_tensor([NO_GRAIN, math.log(self.grain_pitch)])
            grain = none.expand(*hyper.log_bias.shape, 2).clone()
        return replace(hyper, bend=bend, grain=grain)

    def hyper(self, psi: Float[Tensor, "... k"], d: int) -> Hyper:
        """Return the hyper-parameters of a vector as this prior has it."""
        return Hyper.from_vector(psi, d, has_grain=self.has_grain)

    def typical(self, d: int, batch: tuple[int, ...] = ()) -> Hyper:
        """Return hyper-parameters at the prior's center, where a first fit starts.

        They are without grain.
        """
        low, high = self.bounds(d)
        psi = self.center(d).clamp(low, high)
        hyper = self.hyper(psi.expand(*batch, len(psi)).clone(), d)
        return self.fitting(replace(hyper, grain=None))

    def starts(self, d: int, batch: tuple[int, ...] = ()) -> list[Hyper]:
        """Return two starts: typical, and the same with far more noise.

        A function that looks rough has one optimum of the evidence where it is rough
        and one where it is noisy; a single start finds either by chance.
        """
        typical = self.typical(d, batch)
        high = self.bounds(d)[1][-1]
        noisy = (typical.log_noise + 1.5 * self.noise_spread).clamp_max(high)
        return [typical, replace(typical, log_noise=noisy)]
