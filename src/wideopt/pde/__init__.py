"""Physics: differential operators on a function of one point, and equations of them.

An operator takes a function `u` of one point and the point `x`, a tensor (d,) in the
user's units, and gives a scalar:

    import wideopt as wo

    heat = wo.PDE(wo.pde.laplacian)
    oscillator = wo.PDE(
        lambda u, t: wo.pde.partial(u, t, 0, 2) + 0.4 * wo.pde.partial(u, t, 0) + u(t)
    )

A coefficient that is not known is estimated along:

    spring = wo.PDE(
        lambda u, t, k: wo.pde.partial(u, t, 0, 2) + k * u(t),
        unknowns={"k": wo.pde.Unknown(0.5, 20.0)},
    )

Operators compose, and are differentiable in the parameters of `u` and in `x`.
"""

from __future__ import annotations

from wideopt.pde._equation import PDE, Unknown
from wideopt.pde._operators import divergence, grad, laplacian, partial

__all__ = ["PDE", "Unknown", "divergence", "grad", "laplacian", "partial"]
