"""Taylor-mode differentiation of any function that is written with torch.

A `Jet` is a tensor that carries the Taylor series of a function along one direction:
torch functions applied to it apply the rules of `_series` to all its coefficients.
Functions without a rule raise `NoRuleError`, upon which `derivative` differentiates by
nested forward mode (`torch.func.jvp`) instead, which is slower and gives the same.

Notation: u(x + t v) = Σ_n y_n tⁿ, so that the n-th derivative along v is n! y_n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

import torch
from torch import Tensor

from wideopt.pde import _series
from wideopt.pde._line import Lazy, Series

__all__ = ["Jet", "NoRuleError", "derivative", "is_inside_a_jet"]

Function: TypeAlias = Callable[[Tensor], Tensor]

# A jet inside the function of another one is of a higher level; in an operation of both
# the outer one is a constant. Without levels the two directions would be confused.
_LEVEL: ContextVar[int] = ContextVar("level", default=0)


class NoRuleError(Exception):
    """A function of torch has no rule for Taylor series; never reaches the user."""


class Jet(Tensor):
    """A tensor with the higher coefficients of its Taylor series along a direction.

    The wrapper has the shape of its value and no storage: all that reaches it beneath
    `__torch_function__` has no rule.
    """

    series: Series
    level: int

    @staticmethod
    def __new__(cls, series: Series, level: int) -> Jet:
        value = series[0]
        jet: Jet = Tensor._make_wrapper_subclass(  # noqa: SLF001
            cls, value.shape, dtype=value.dtype, device=value.device
        )
        jet.series, jet.level = series, level
        return jet

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _apply(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NoRuleError(str(func))


def derivative(u: Function, x: Tensor, v: Tensor, order: int) -> Tensor:
    """Return the derivative of u at x along v, of an order >= 1."""
    if is_inside_a_jet():
        return _by_jet(u, x, v, order)
    try:
        return _by_jet(u, x, v, order)
    except NoRuleError:
        return _by_nesting(u, x, v, order)


def is_inside_a_jet() -> bool:
    """Whether a function is being evaluated on a jet at this moment."""
    return _LEVEL.get() > 0


def _by_jet(u: Function, x: Tensor, v: Tensor, order: int) -> Tensor:
    level = _LEVEL.get() + 1
    token = _LEVEL.set(level)
    try:
        y = u(Jet([x, v, *[None] * (order - 1)], level))
    finally:
        _LEVEL.reset(token)
    if not isinstance(y, Jet) or y.level != level:
        return torch.zeros_like(y)
    last = y.series[order]
    if last is None:
        return torch.zeros_like(y.series[0])
    derived: Tensor = math.factorial(order) * last
    return derived


def _by_nesting(u: Function, x: Tensor, v: Tensor, order: int) -> Tensor:
    if order == 0:
        return u(x)
    results = torch.func.jvp(lambda z: _by_nesting(u, z, v, order - 1), (x,), (v,))
    derived: Tensor = results[1]
    return derived


# The rules, by the name of a function or method of torch.

_UNARY: dict[str, Callable[[Series], Series]] = {
    "neg": _series.negative,
    "negative": _series.negative,
    "square": _series.square,
    "reciprocal": _series.reciprocal,
    "sqrt": _series.sqrt,
    "rsqrt": lambda z: _series.power(z, -0.5),
    "exp": _series.exp,
    "log": _series.log,
    "tanh": _series.tanh,
    "tan": _series.tan,
    "sigmoid": _series.sigmoid,
    "special_expit": _series.sigmoid,
    "silu": _series.silu,
    "softplus": _series.softplus,
    "erf": _series.erf,
    "special_erf": _series.erf,
    "atan": _series.arctan,
    "arctan": _series.arctan,
    "sin": _series.sin,
    "cos": _series.cos,
    "sinh": _series.sinh,
    "cosh": _series.cosh,
}
_BINARY: dict[str, Callable[[Series, Series], Series]] = {
    "add": _series.added,
    "sub": lambda a, b: _series.added(a, b, -1),
    "subtract": lambda a, b: _series.added(a, b, -1),
    "rsub": lambda a, b: _series.added(b, a, -1),
    "__rsub__": lambda a, b: _series.added(b, a, -1),
    "mul": _series.product,
    "multiply": _series.product,
    "div": _series.quotient,
    "divide": _series.quotient,
    "true_divide": _series.quotient,
    "__rdiv__": lambda a, b: _series.quotient(b, a),
    "__rtruediv__": lambda a, b: _series.quotient(b, a),
}
_BILINEAR = {
    name: getattr(torch, name)
    for name in ("matmul", "mm", "mv", "bmm", "dot", "inner", "outer", "kron")
} | {"__matmul__": torch.matmul, "linalg_vecdot": torch.linalg.vecdot}
# fmt: off
_LINEAR = frozenset((
    "__getitem__", "sum", "mean", "cumsum", "reshape", "view", "flatten", "ravel",
    "squeeze", "unsqueeze", "transpose", "permute", "movedim", "t", "T", "mT", "expand",
    "broadcast_to", "clone", "contiguous", "double", "diff", "flip", "roll", "repeat",
    "tile", "narrow", "select", "index_select", "diagonal", "trace", "unbind", "split",
    "chunk",
))
_OF_A_LIST = frozenset(("stack", "cat", "concat", "concatenate", "hstack", "vstack"))
_OF_THE_VALUE = frozenset((
    "shape", "size", "dim", "ndim", "dtype", "device", "layout", "numel",
    "is_floating_point", "is_complex", "is_sparse", "requires_grad", "__len__",
    "zeros_like", "ones_like", "new_zeros", "new_ones", "new_tensor", "new_full",
    "new_empty", "gt", "lt", "ge", "le", "eq", "ne", "__gt__", "__lt__", "__ge__",
    "__le__", "__eq__", "__ne__", "isnan", "isfinite",
))
# fmt: on


def _apply(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Apply a function of torch to arguments among which there are jets."""
    name = getattr(func, "__name__", "")
    if name == "__get__":  # of a property, such as `shape`
        name = func.__self__.__name__
    if any(isinstance(value, Jet) for value in kwargs.values()):
        raise NoRuleError(name)
    top = _top(args)
    if name in _OF_THE_VALUE:
        return func(*(_value(each) for each in args), **kwargs)
    if name in _LINEAR or name in _OF_A_LIST:
        return _linear(name, func, args, kwargs, top)
    if name == "__iter__":
        return iter(torch.unbind(top))
    return _nonlinear(name, args, kwargs, top)


def _nonlinear(name: str, args: Any, kwargs: dict[str, Any], top: Jet) -> Any:
    """Apply a rule of `_series`; options such as `alpha` or `out` have none."""
    if name == "linear":
        return _affine(*args, **kwargs)
    if name == "addcmul" and len(args) == 3 and set(kwargs) <= {"value"}:
        return args[0] + kwargs.get("value", 1.0) * (args[1] * args[2])
    if any(value is not False for value in kwargs.values()):  # inplace=False is none
        raise NoRuleError(name)
    return _jet(_computed(name, args, top), top.level)


def _computed(name: str, args: Sequence[Any], top: Jet) -> Series:
    """Return the series of a function without options."""
    rule = _binary_rule(name)
    if name in _UNARY and len(args) == 1:
        return _UNARY[name](top.series)
    if rule is not None and len(args) == 2:
        return rule(*(_series_of(each, top) for each in args))
    if name in ("pow", "__pow__") and isinstance(args[1], int | float):
        return _power(top.series, args[1])
    if name == "where" and len(args) == 3:
        return _where(args[0], *(_series_of(each, top) for each in args[1:]))
    raise NoRuleError(name)


def _binary_rule(name: str) -> Callable[[Series, Series], Series] | None:
    if name in _BILINEAR:
        return lambda a, b: _series.product(a, b, _BILINEAR[name])
    return _BINARY.get(name)


def _power(z: Series, exponent: float) -> Series:
    if exponent == 0:
        return [torch.ones_like(z[0]), *[None] * (len(z) - 1)]
    return _series.power(z, exponent)


def _affine(x: Any, weight: Any, bias: Any = None) -> Any:
    z = x @ weight.mT if weight.ndim > 1 else x @ weight
    return z if bias is None else z + bias


def _where(condition: Any, a: Series, b: Series) -> Series:
    pairs = zip(a, b, strict=True)
    condition = _value(condition)
    return [
        None
        if x is None and y is None
        else torch.where(condition, 0.0 if x is None else x, 0.0 if y is None else y)
        for x, y in pairs
    ]


def _linear(
    name: str, func: Any, args: Sequence[Any], kwargs: dict[str, Any], top: Jet
) -> Any:
    """Apply a linear function to each coefficient of its first argument."""
    first, *rest = args
    if name in _OF_A_LIST:
        columns = zip(*(_filled(each, top) for each in first), strict=True)
        results: Series = [func(list(each), *rest, **kwargs) for each in columns]
    elif first is not top:
        raise NoRuleError(name)  # a jet among the sizes or indices
    else:
        series = top.series
        results = Lazy(
            len(series),
            lambda n: None if series[n] is None else func(series[n], *rest, **kwargs),
        )
    if not isinstance(results[0], tuple | list):
        return _jet(results, top.level)
    parts = len(results[0])
    return tuple(
        _jet([None if each is None else each[i] for each in results], top.level)
        for i in range(parts)
    )


def _jet(series: Series, level: int) -> Any:
    """Return the jet of a series, its coefficients broadcast to the value's shape."""
    shape = series[0].shape

    def full(n: int) -> Any:
        each = series[n]
        return each if each is None or each.shape == shape else each.expand(shape)

    return Jet(Lazy(len(series), full), level)


def _top(args: Sequence[Any]) -> Jet:
    """Return a jet of the highest level."""
    flat = [
        leaf
        for each in args
        for leaf in (each if isinstance(each, list | tuple) else (each,))
    ]
    jets = [each for each in flat if isinstance(each, Jet)]
    return max(jets, key=lambda jet: jet.level)


def _series_of(value: Any, top: Jet) -> Series:
    if isinstance(value, Jet) and value.level == top.level:
        return value.series
    return [value, *[None] * (len(top.series) - 1)]


def _filled(value: Any, top: Jet) -> Series:
    """Return the series of one item of a list, with its zeros written out."""
    series = _series_of(value, top)
    return [torch.zeros_like(series[0]) if each is None else each for each in series]


def _value(value: Any) -> Any:
    """Return the value of a jet, of all its levels; what is no jet comes back."""
    while isinstance(value, Jet):
        value = value.series[0]
    return value
