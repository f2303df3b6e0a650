"""Models of GO-UCB: the user's own law, or the paper's network, checked and scaled.

Notation: w parameters in the module's units, θ the same on a scale of 1 (`Parametric`),
so that θ ~ N(0, I) is what is believed before any data. For a user's law θ = 0 is the
module's initial value and the scale is that value's size, or half the width of bounds;
for the network the scales are those of a random network whose values have spread 1.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from wideopt.data.units import Units
from wideopt.exceptions import InputError
from wideopt.numerics.parametric import (
    LinearSigmoidLinear,
    Parametric,
    flat_names,
    flat_parameters,
)
from wideopt.search.design import seed_from, sobol_points
from wideopt.space import Space

__all__ = ["Law", "check_law", "network", "user_law"]

_MAX_PARAMETERS = 5000  # a square matrix of them is kept
_HIDDEN, _BIAS, _READOUT = 4.0, 3.0, 4.0  # prior scales of the network's weights
_N_PROBES = 8
_N_QUOTED = 120  # characters of an error that is quoted

Bounds = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Law:
    """A model of one output, before its output is scaled.

    Attributes:
        model: the function; its values are the module's own.
        is_own: whether it is the user's, in the user's units.
        factory: makes the module anew, with other random weights.
    """

    model: Parametric
    is_own: bool
    factory: Callable[[], nn.Module] | None = None

    def starts(self, n: int, generator: torch.Generator) -> Float[Tensor, "n p"]:
        """Points θ to start a regression from: draws of what is believed at first."""
        model = self.model
        if self.factory is not None:
            w = [_drawn(self.factory, seed_from(generator)) for _ in range(n)]
            W = torch.stack([flat_parameters(m) for m in w]).to(model.origin)
            return (W - model.origin) / model.scale
        theta = torch.randn(n, model.p, generator=generator, dtype=torch.float64)
        theta = theta.to(model.origin)
        if self.is_own:
            # constants of nature keep their sign: every other start is a multiple
            ratio = theta[::2].exp() - 1.0
            theta[::2] = ratio * torch.sign(model.origin * model.scale + 1e-300)
            theta = torch.clamp(theta, model.low, model.high)
        return theta


def network(n_inputs: int, n_units: int, device: torch.device) -> Law:
    """The paper's network on the cube scaled to [-1, 1]."""
    module = LinearSigmoidLinear(n_inputs, n_units).to(device)
    scales = [
        torch.full((n_units * n_inputs,), _HIDDEN / math.sqrt(n_inputs)),
        torch.full((n_units,), _BIAS),
        torch.full((n_units,), _READOUT / math.sqrt(n_units)),
        torch.ones(1),
    ]
    scale = torch.cat(scales).to(device=device, dtype=torch.float64)
    end = torch.full_like(scale, torch.inf)
    zero = torch.zeros_like(scale)
    model = Parametric(module, _centered, zero, scale, -end, end)
    return Law(model, is_own=False)


def _centered(U: Tensor) -> Tensor:
    return 2.0 * U - 1.0


def user_law(
    given: Any, bounds: Bounds, space: Space, device: torch.device | str
) -> Law:
    """The law of a module, or of a function that makes one."""
    factory = None if isinstance(given, nn.Module) else given
    made = given if factory is None else _made(factory)
    module = copy.deepcopy(made).to(device=device, dtype=torch.float64).eval()
    origin = flat_parameters(module)
    low, high = _flat_bounds(module, bounds, origin)
    width = torch.where(torch.isfinite(high - low), (high - low) / 2, origin.abs())
    scale = torch.where(width > 0, width, 1.0)
    model = Parametric(
        module,
        Units.of(space, device),
        origin,
        scale,
        (low - origin) / scale,
        (high - origin) / scale,
    )
    return Law(model, is_own=True, factory=factory)


def _made(factory: Any) -> nn.Module:
    if not callable(factory):
        raise InputError(
            "Option model must be a torch.nn.Module, or a function that makes one, but "
            f"got {factory!r}."
        )
    try:
        module = _drawn(factory, 0)
    except Exception as error:
        raise InputError(
            f"The function that makes the model failed: {_line(error)}."
        ) from error
    if not isinstance(module, nn.Module):
        raise InputError(
            "A function given as model must take nothing and return a torch.nn.Module, "
            f"but it returned {module!r}."
        )
    return module


def _drawn(factory: Callable[[], Any], seed: int) -> Any:
    """A module with the random weights of a seed; the global stream is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return factory()


def _flat_bounds(
    module: nn.Module, bounds: Bounds, origin: Float[Tensor, " p"]
) -> tuple[Float[Tensor, " p"], Float[Tensor, " p"]]:
    """Bounds of every entry of w; one pair serves all entries of a named parameter."""
    low = torch.full_like(origin, -torch.inf)
    high = torch.full_like(origin, torch.inf)
    trained = {n: p.numel() for n, p in module.named_parameters() if p.requires_grad}
    for name, (least, most) in bounds.items():
        if name not in trained:
            raise InputError(
                f"Option bounds names {name!r}, but the model's parameters are "
                f"{', '.join(trained)}."
            )
        names = list(trained)
        begin = sum(trained[other] for other in names[: names.index(name)])
        part = slice(begin, begin + trained[name])
        low[part], high[part] = least, most
        if bool(((origin[part] < least) | (origin[part] > most)).any()):
            raise InputError(
                f"The model starts with {name} = {origin[part].tolist()}, outside its "
                f"bounds [{least}, {most}]; change one of the two."
            )
    return low, high


def check_law(law: Law, space: Space, what: str) -> None:
    """Raise unless the law gives one finite, differentiable number for each row."""
    model = law.model
    p = model.p
    if p == 0:
        raise InputError(f"{what} has no parameters to estimate; add an nn.Parameter.")
    if p > _MAX_PARAMETERS:
        raise InputError(
            f"{what} has {p} parameters; go-ucb keeps a square matrix of them and "
            f"takes at most {_MAX_PARAMETERS}. Use a smaller one, or neural-bo."
        )
    U = torch.from_numpy(space.snap(sobol_points(space.n_dims, _N_PROBES, 0).numpy()))
    U = U.to(model.origin)
    _check_shape(model, U, what)
    theta = torch.zeros_like(model.origin)
    try:
        h, G = model.at(theta, U)
    except Exception as error:
        raise InputError(
            f"{what} cannot be differentiated by torch.func (no .item(), no NumPy, no "
            f"branches on values): {_line(error)}."
        ) from error
    whole = model.one(theta, U)
    size = float(h[torch.isfinite(h)].abs().sum())
    if not torch.allclose(whole, h, rtol=1e-6, atol=1e-9 * size, equal_nan=True):
        raise InputError(
            f"{what} must treat every row of its input by itself, without chance, but "
            "a row alone gives another value than the same row among others."
        )
    _check_finite(model, U, h, G, what)


def _check_shape(model: Parametric, U: Float[Tensor, "n d"], what: str) -> None:
    X = model.inputs(U)
    n, d = X.shape
    try:
        with torch.no_grad():
            y = model.module(X)
    except Exception as error:
        raise InputError(
            f"{what} failed on an input of shape ({n}, {d}), one row a point: "
            f"{_line(error)}."
        ) from error
    if not isinstance(y, Tensor) or y.shape not in {(n,), (n, 1)}:
        shape = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
        raise InputError(
            f"{what} must return one number for each row, of shape ({n},) or ({n}, 1) "
            f"for an input of shape ({n}, {d}), but it returned {shape}."
        )


def _check_finite(
    model: Parametric, U: Tensor, h: Tensor, G: Tensor, what: str
) -> None:
    if not h.is_floating_point() or bool((G == 0).all()):
        raise InputError(
            f"{what} is not differentiable in its parameters: every derivative is 0 at "
            "its initial parameters. Rounding, comparing, detaching, .item() do that."
        )
    is_bad = ~(torch.isfinite(h) & torch.isfinite(G).all(dim=1))
    if bool(is_bad.any()):
        x = model.inputs(U)[is_bad][0].tolist()
        names = ", ".join(
            f"{name} = {value:g}"
            for name, value in zip(
                flat_names(model.module)[:8], model.origin.tolist(), strict=False
            )
        )
        raise InputError(
            f"{what} gives {float(h[is_bad][0])} (or such a derivative) at the point "
            f"{x} with its initial parameters {names}; start from others."
        )


def _line(error: Exception) -> str:
    """The first sentence of an error; PyTorch's go on for a paragraph."""
    text = str(error).strip().splitlines()
    if not text:
        return repr(error)
    sentence = re.split(r"\. (?=[A-Z])", text[0])[0].rstrip(".")
    return f"{type(error).__name__}: {shorten(sentence, _N_QUOTED, placeholder='...')}"
