"""Taylor series whose coefficients are computed one by one.

Notation as in `_series`. Along a line, z_n = 0 for all n >= 2, an activation with
y' = s(y), s a polynomial, has y_n = P_n(y_0) z_1ⁿ / n!, where P_0 = y and P_{n+1} =
P_n' s: no coefficient needs another. With `Lazy` series those that nobody asks for are
not computed: of a derivative, the last layer of a network is asked for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, overload

import numpy as np
import torch

__all__ = ["Lazy", "Series", "along_line", "is_line"]

Series: TypeAlias = Sequence[Any]  # tensors, numbers, jets or None


class Lazy(Sequence[Any]):
    """Coefficients, each computed when it is first asked for, but for the value."""

    def __init__(self, length: int, coefficient: Callable[[int], Any]) -> None:
        self._coefficient = coefficient
        self._known = {0: coefficient(0)}
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, n: int) -> Any: ...
    @overload
    def __getitem__(self, n: slice) -> list[Any]: ...
    def __getitem__(self, n: int | slice) -> Any:
        if isinstance(n, slice):
            return [self[i] for i in range(*n.indices(self._length))]
        if not 0 <= n < self._length:
            raise IndexError(n)
        if n not in self._known:
            self._known[n] = self._coefficient(n)
        return self._known[n]


def is_line(z: Series) -> bool:
    """Whether only the value and the first coefficient are there."""
    return z[1] is not None and all(z[n] is None for n in range(2, len(z)))


def along_line(y_0: Any, z: Series, s: tuple[int, ...]) -> Series:
    """Return y with y' = s(y) z' along a line, where s has coefficients from y⁰ on."""
    squares: list[Any] = []

    def coefficient(n: int) -> Any:
        if n == 0:
            return y_0
        P, parity = _slopes(s, n)
        scale = P[-1] / math.factorial(n) * z[1] ** n
        if len(P) == 1:
            return scale * (y_0 if parity else torch.ones_like(y_0))
        # Horner's scheme in y² where all powers are even, or all odd; P[-1] is in scale
        if parity is not None and not squares:
            squares.append(y_0 * y_0)
        x = y_0 if parity is None else squares[0]
        value = x + P[-2] / P[-1]
        for c in reversed(P[:-2]):
            value = torch.addcmul(y_0.new_tensor(c / P[-1]), value, x)
        return (value * y_0 if parity else value) * scale

    return Lazy(len(z), coefficient)


@lru_cache
def _slopes(s: tuple[int, ...], n: int) -> tuple[list[float], int | None]:
    """Return P_n in powers of y, or of y² times y to the parity, if it has one."""
    P = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        P = P.deriv() * np.polynomial.Polynomial([float(c) for c in s])
    for parity in (0, 1):
        if not P.coef[1 - parity :: 2].any():
            return P.coef[parity::2].tolist(), parity
    return P.coef.tolist(), None
