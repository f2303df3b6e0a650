"""Arithmetic of truncated Taylor series, the rules of Taylor-mode differentiation.

Source: Griewank and Walther (2008), Evaluating Derivatives, ch. 13.

Notation:
    z(t) = Σ_{n=0}^K z_n tⁿ, a list (z_0, ..., z_K); None stands for a zero z_n, n >= 1
    z'     the derivative in t, whose coefficients are (n + 1) z_{n+1}

For y = φ(z) with y' = s z', s = φ'(z):  n y_n = Σ_{j=1}^n j z_j s_{n-j}. The nonlinear
rules are this recurrence with s written in y or z. The cost is O(K²) products, where
nested differentiation takes O(2^K). Zeros are never multiplied: the input of a
network's first layer has z_n = 0 for all n >= 2.

Coefficients that may never be asked for are computed when they are (`Lazy`).

Coefficients only need operators and torch functions, so they may be series themselves
(`Jet`), which is how operators compose.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch

from wideopt.pde._line import Lazy, Series, along_line, is_line

__all__ = [
    "added",
    "arctan",
    "cos",
    "cosh",
    "erf",
    "exp",
    "log",
    "negative",
    "power",
    "product",
    "quotient",
    "reciprocal",
    "sigmoid",
    "silu",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "tan",
    "tanh",
]


def added(a: Series, b: Series, sign: int = 1) -> Series:
    """Return a + b, or a - b if the sign is -1."""
    return Lazy(len(a), lambda n: _plus(a[n], b[n] if sign > 0 else _minus(b[n])))


def negative(a: Series) -> Series:
    """Return -a."""
    return [_minus(x) for x in a]


def product(
    a: Series, b: Series, times: Callable[[Any, Any], Any] | None = None
) -> Series:
    """Return a times b, where `times` is linear in both of its arguments."""
    multiply = times or operator.mul
    if _is_constant(b):
        return Lazy(len(a), lambda n: None if a[n] is None else multiply(a[n], b[0]))
    if _is_constant(a):
        return Lazy(len(b), lambda n: None if b[n] is None else multiply(a[0], b[n]))
    if times is None:
        return [
            _total((1.0, a[j], b[n - j]) for j in range(n + 1)) for n in range(len(a))
        ]
    return [_total_of(times, a, b, n) for n in range(len(a))]


def square(a: Series) -> list[Any]:
    """Return a²."""
    return [_squared(a, n) for n in range(len(a))]


def quotient(a: Series, b: Series) -> Series:
    """Return q = a/b from q b = a."""
    q: list[Any] = []
    for n, top in enumerate(a):
        rest = _total(((-1.0, b[j], q[n - j]) for j in range(1, n + 1)), top)
        q.append(None if rest is None else rest / b[0])
    return q


def reciprocal(a: Series) -> Series:
    """Return 1/a."""
    return quotient([1.0, *[None] * (len(a) - 1)], a)


def power(z: Series, exponent: float) -> Series:
    """Return z to a constant power; natural powers are products, exact at z_0 = 0."""
    if exponent == int(exponent) and exponent >= 1:
        return _natural_power(z, int(exponent))
    # z y' = a y z', hence n z_0 y_n = Σ_{j=1}^n (a j - n + j) z_j y_{n-j}
    y: list[Any] = [z[0] ** exponent]
    for n in range(1, len(z)):
        total = _total(
            ((exponent * j - n + j) / n, z[j], y[n - j]) for j in range(1, n + 1)
        )
        y.append(None if total is None else total / z[0])
    return y


def sqrt(z: Series) -> Series:
    """Return √z."""
    return power(z, 0.5)


def exp(z: Series) -> Series:
    """Return eᶻ: s = y."""
    return _integrated(torch.exp(z[0]), z, operator.getitem)


def log(z: Series) -> Series:
    """Return log z: s = 1/z."""
    s = reciprocal(z)
    return _integrated(torch.log(z[0]), z, lambda _, n: s[n])


def tanh(z: Series) -> Series:
    """Return tanh z: s = 1 - y²."""
    y_0 = torch.tanh(z[0])
    if is_line(z):
        return along_line(y_0, z, (1, 0, -1))
    return _integrated(y_0, z, lambda y, n: _from_one(_squared(y, n, -1.0), n))


def tan(z: Series) -> Series:
    """Return tan z: s = 1 + y²."""
    y_0 = torch.tan(z[0])
    if is_line(z):
        return along_line(y_0, z, (1, 0, 1))
    return _integrated(y_0, z, lambda y, n: _from_one(_squared(y, n), n))


def sigmoid(z: Series) -> Series:
    """Return 1/(1 + e⁻ᶻ): s = y - y²."""
    y_0 = torch.sigmoid(z[0])
    if is_line(z):
        return along_line(y_0, z, (0, 1, -1))
    return _integrated(y_0, z, lambda y, n: _plus(y[n], _squared(y, n, -1.0)))


def silu(z: Series) -> Series:
    """Return z sigmoid(z)."""
    return product(z, sigmoid(z))


def softplus(z: Series) -> Series:
    """Return log(1 + eᶻ): s = sigmoid(z)."""
    s = sigmoid(z)
    return _integrated(torch.nn.functional.softplus(z[0]), z, lambda _, n: s[n])


def erf(z: Series) -> Series:
    """Return erf z: s = 2/√π exp(-z²)."""
    s = exp(negative(square(z)))
    dz = [None if x is None else 2 / math.sqrt(math.pi) * x for x in z]
    return _integrated(torch.erf(z[0]), dz, lambda _, n: s[n])


def arctan(z: Series) -> Series:
    """Return arctan z: s = 1/(1 + z²)."""
    one_more = square(z)
    one_more[0] = one_more[0] + 1.0
    s = reciprocal(one_more)
    return _integrated(torch.arctan(z[0]), z, lambda _, n: s[n])


def sin(z: Series) -> Series:
    """Return sin z."""
    return _waves(z, torch.sin(z[0]), torch.cos(z[0]), -1)[0]


def cos(z: Series) -> Series:
    """Return cos z."""
    return _waves(z, torch.sin(z[0]), torch.cos(z[0]), -1)[1]


def sinh(z: Series) -> Series:
    """Return sinh z."""
    return _waves(z, torch.sinh(z[0]), torch.cosh(z[0]), 1)[0]


def cosh(z: Series) -> Series:
    """Return cosh z."""
    return _waves(z, torch.sinh(z[0]), torch.cosh(z[0]), 1)[1]


def _waves(z: Series, odd: Any, even: Any, sign: int) -> tuple[Series, Series]:
    """Return p and q with p' = q z' and q' = ±p z'."""
    p, q = [odd], [even]
    for n in range(1, len(z)):
        p_n = _total((j / n, z[j], q[n - j]) for j in range(n, 0, -1))
        q.append(_total((sign * j / n, z[j], p[n - j]) for j in range(n, 0, -1)))
        p.append(p_n)
    return p, q


def _integrated(y_0: Any, z: Series, slope: Callable[[Series, int], Any]) -> Series:
    """Return y with y' = s z', where s_n = slope((y_0, ..., y_n), n)."""
    y, s = [y_0], []
    for n in range(1, len(z)):
        s.append(slope(y, n - 1))
        y.append(_total((j / n, z[j], s[n - j]) for j in range(n, 0, -1)))
    return y


def _is_constant(a: Series) -> bool:
    return isinstance(a, list) and all(x is None for x in a[1:])


def _natural_power(z: Series, exponent: int) -> Series:
    """Return z to the power by repeated squaring."""
    if exponent == 1:
        return z
    half = _natural_power(square(z), exponent // 2)
    return product(half, z) if exponent % 2 else half


def _squared(a: Series, n: int, scale: float = 1.0) -> Any:
    """Return scale Σ_{j=0}^n a_j a_{n-j}, each pair taken once."""
    pairs = [(2 * scale, a[j], a[n - j]) for j in range((n + 1) // 2)]
    middle = [(scale, a[n // 2], a[n // 2])] if n % 2 == 0 else []
    return _total(middle + pairs)


def _total(terms: Iterable[tuple[float, Any, Any]], start: Any = None) -> Any:
    """Return start + Σ scale a b over the terms (scale, a, b), or None for zero."""
    total = start
    for scale, a, b in terms:
        if a is None or b is None:
            continue
        if total is None:
            # Of a network's first layer a is far smaller than b: scale a.
            total = a * b if scale == 1.0 else (scale * a) * b
        else:  # one pass over memory where it is possible
            total = torch.addcmul(total, a, b, value=scale)
    return total


def _total_of(times: Callable[[Any, Any], Any], a: Series, b: Series, n: int) -> Any:
    """Return Σ_{j=0}^n times(a_j, b_{n-j}), or None for zero."""
    total = None
    for j in range(n + 1):
        if a[j] is not None and b[n - j] is not None:
            total = _plus(total, times(a[j], b[n - j]))
    return total


def _plus(a: Any, b: Any) -> Any:
    if a is None:
        return b
    return a if b is None else a + b


def _minus(a: Any) -> Any:
    return None if a is None else -a


def _from_one(a: Any, n: int) -> Any:
    """Return the n-th coefficient of 1 + a."""
    return a + 1.0 if n == 0 else a
