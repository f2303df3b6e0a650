"""Every error and warning of wideopt, one tree under `WideoptError`."""

from __future__ import annotations

__all__ = [
    "FitError",
    "InputError",
    "SpaceError",
    "StorageError",
    "WideoptError",
    "WideoptWarning",
]


class WideoptError(Exception):
    """Base of all errors that wideopt raises on purpose."""


class InputError(WideoptError, ValueError):
    """A value given by the user cannot be used; nothing was stored."""


class SpaceError(InputError):
    """A parameter or a search space is ill-defined."""


class FitError(WideoptError):
    """A surrogate could not be fitted, even after every fallback."""


class StorageError(WideoptError):
    """A storage cannot be opened, or holds something else."""


class WideoptWarning(UserWarning):
    """Something is legal but unwise, or went wrong and was handled."""
