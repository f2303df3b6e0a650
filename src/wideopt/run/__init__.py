"""`minimize` and `maximize`: evaluate, store, resume, show progress."""

from wideopt.run._minimize import maximize, minimize

__all__ = ["maximize", "minimize"]
