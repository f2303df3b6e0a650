"""pinn-bo: time of a suggestion, fields with the points it chose, and residual maps.

    python benchmarks/pinn_bo.py time [--points 100] [--n 200]
    python benchmarks/pinn_bo.py pictures [--output docs/images] [--evals 12]
    python benchmarks/pinn_bo.py alarms [--sets 20] [--n 20]

`time` prints CPU seconds of one suggestion in 2-D, when hyper-parameters are learned
from scratch, when they are learned from the last ones, and when they are kept.
`pictures` saves the second field of steady heat with the points that were evaluated,
and the residual of the mean after that. `alarms` prints for how many noisy data sets
the warning of wrong physics would be raised, with the right equation and a wrong one.
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

DOUBTED = 0.05  # probability that the equation holds, below which pinn-bo warns


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
    axes[0].legend(loc="center left", fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pinn_bo_heat.png"
    figure.savefig(path, dpi=110)
    print(f"best {-result.fun:.2f} of {field.hottest()[1]:.2f}; saved {path.name}")


def harmonic_waves(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """A harmonic function with random waves and corners, of deviation 1."""
    total = np.zeros(len(X))
    for k in (1, 2, 4, 8):
        a, b = rng.standard_normal(2) / k
        total += np.exp(k * (X[:, 0] - 1)) * (a * np.cos(k * X[:, 1]))
        total += np.exp(-k * X[:, 1]) * (b * np.sin(k * X[:, 0]))
    return total / total.std()


def swing(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """A swing u'' + 100 u = 0 with random start, of deviation 1."""
    a, b = rng.standard_normal(2)
    y = a * np.cos(10 * X[:, 0]) + b * np.sin(10 * X[:, 0])
    return np.asarray(y / y.std())


def alarms(n_sets: int, n: int) -> None:
    partial, laplacian = wo.pde.partial, wo.pde.laplacian
    equations = {
        "heat, right": (2, harmonic_waves, laplacian),
        "heat, wrong": (2, harmonic_waves, lambda u, x: laplacian(u, x) + 40 * u(x)),
        "swing, right": (1, swing, lambda u, x: partial(u, x, 0, 2) + 100 * u(x)),
        "swing, wrong": (1, swing, lambda u, x: partial(u, x, 0, 2) + 300 * u(x)),
    }
    print(f"{n} observations; data sets, of {n_sets}, in which the warning is raised:")
    for name, (d, truth, operator) in equations.items():
        recipe = wo.surrogates.Physics(wo.PDE(operator, n_points=60), [(0, 1)] * d)
        for noise in (0.01, 0.1):
            shares = []
            for seed in range(n_sets):
                rng = np.random.default_rng(seed)
                X = rng.uniform(size=(n, d))
                y = truth(rng, X) + noise * rng.standard_normal(n)
                model = recipe.fit(torch.tensor(X), torch.tensor(y).unsqueeze(1))
                shares.append(model.held_share)
            n_raised = sum(share < DOUBTED for share in shares)
            print(f"  {name}, noise of deviation {noise}: {n_raised}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["time", "pictures", "alarms"])
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--n", type=int, default=None)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--evals", type=int, default=12)
    parser.add_argument("--output", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    if args.what == "time":
        suggestion_time(args.points, args.n or 200)
    elif args.what == "alarms":
        alarms(args.sets, args.n or 20)
    else:
        pictures(args.output, args.evals)


if __name__ == "__main__":
    main()
