"""pinn-bo: time of a suggestion, fields with the points it chose, and residual maps.

    python benchmarks/pinn_bo.py time [--points 100] [--n 200]
    python benchmarks/pinn_bo.py pictures [--output docs/images] [--evals 12]

`time` prints CPU seconds of one suggestion in 2-D, when hyper-parameters are learned
from scratch, when they are learned from the last ones, and when they are kept.
`pictures` saves the second field of steady heat with the points that were evaluated,
and the residual of the mean after that.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

import wideopt as wo


def harmonic(x: Sequence[float]) -> float:
    return -math.sin(float(x[0])) * math.sinh(float(x[1])) / math.sinh(2 * math.pi)


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def suggestion_time(n_points: int, n: int) -> None:
    side = 2 * math.pi
    pde = wo.PDE(wo.pde.laplacian, n_points=n_points)
    opt = wo.Optimizer([(0, side)] * 2, method="pinn-bo", pde=pde, seed=0)
    rng = np.random.default_rng(0)
    for x in rng.uniform(0, side, (n, 2)):
        opt.tell(x, harmonic(x))
    first = seconds(opt.ask)
    kept = []
    for _ in range(5):
        x = rng.uniform(0, side, 2)
        opt.tell(x, harmonic(x))
        kept.append(seconds(opt.ask))
    print(f"{n_points} points of the PDE, {n} observations, CPU seconds a suggestion:")
    print(f"  hyper-parameters from scratch {first:.2f}")
    print(f"  hyper-parameters kept {np.median(kept):.2f}")
    for x in rng.uniform(0, side, (n // 8, 2)):
        opt.tell(x, harmonic(x))
    print(f"  hyper-parameters from the last ones {seconds(opt.ask):.2f}")


def pictures(folder: Path, n_evals: int) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from wideopt.bench.applications.heat import heat

    field = heat(2)
    box = [(field.low, field.high)] * 2
    pde = wo.PDE(wo.pde.laplacian)
    result = wo.minimize(
        lambda x: -float(field(np.asarray(x))),
        box,
        method="pinn-bo",
        pde=pde,
        n_evals=n_evals,
        seed=0,
        progress=False,
    )
    X = np.array([trial.x for trial in result.history])
    U = torch.tensor((X - field.low) / (field.high - field.low))
    Y = torch.tensor([[trial.y] for trial in result.history], dtype=torch.float64)
    model = wo.surrogates.Physics(pde, box).fit(U, Y)
    ticks = torch.linspace(0, 1, 60, dtype=torch.float64)
    G = torch.cartesian_prod(ticks, ticks)
    with torch.no_grad():
        mean = -model.posterior(G.unsqueeze(1)).mean.reshape(60, 60).numpy()
    truth = field(field.low + (field.high - field.low) * G.numpy()).reshape(60, 60)
    residual = model.residuals(0, G)[1].abs().clamp_min(1e-8).log10()
    panels = {
        "temperature, and points evaluated": truth,
        "mean of the model": mean,
        "log10 of its residual, relative": residual.reshape(60, 60).numpy(),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    extent = (field.low, field.high) * 2
    for axis, (title, values) in zip(axes, panels.items(), strict=True):
        image = axis.imshow(values.T, origin="lower", extent=extent, cmap="viridis")
        figure.colorbar(image, ax=axis, shrink=0.85)
        axis.set(title=title, xlabel="x", ylabel="y")
    n_init = 5
    axes[0].plot(*X[:n_init].T, "o", color="white", mec="black", label="initial")
    axes[0].plot(*X[n_init:].T, "o", color="red", mec="black", label="chosen")
    axes[0].legend(loc="upper left", fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pinn_bo_heat.png"
    figure.savefig(path, dpi=110)
    print(f"best {-result.fun:.2f} of {field.hottest()[1]:.2f}; saved {path.name}")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["time", "pictures"])
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--evals", type=int, default=12)
    parser.add_argument("--output", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    if args.what == "time":
        suggestion_time(args.points, args.n)
    else:
        pictures(args.output, args.evals)


if __name__ == "__main__":
    main()
