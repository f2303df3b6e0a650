"""Campaigns by hand, for the layers above: see `wideopt.run._lab`."""

from wideopt.run._lab import RESERVED, Lab, Plan, new_seed, url_of

__all__ = ["RESERVED", "Lab", "Plan", "new_seed", "url_of"]
