"""The command `wideopt`."""

from wideopt.cli._main import main

__all__ = ["main"]
