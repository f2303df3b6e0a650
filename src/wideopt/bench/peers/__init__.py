"""Peers: other optimizers behind the same ask/tell, each in its recommended settings.

A peer is called with the task, the seed and the observations of the initial design,
which all contenders of a seed share, and then asked. Each file says how its peer takes
these points and the constraints. Reals enter as the unit cube of `Space.encode` unless
said otherwise, so log-scaled parameters are log-scaled for everyone.
"""
