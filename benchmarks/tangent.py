"""The tangent engine measured: speed of a suggestion, large data, model quality.

    python benchmarks/tangent.py [large] [speed] [quality]

speed    one suggestion = take in one observation + score 10,000 candidates, d = 6,
         m = 512, against (a) the papers' dense form, a p x p inverse grown by
         Sherman-Morrison with the N x N covariance of the candidates, and (b) the
         posterior of BoTorch's SingleTaskGP on the same candidates, fit excluded.
large    n = 20,000 observations, m = 256, d = 10: one suggestion and peak memory.
quality  held-out log-likelihood, RMSE and coverage of the 90% band on ten functions,
         against SingleTaskGP with its default kernel and priors, and Matern-5/2.

One thread; medians of 5 repetitions or seeds; everything compared in one run.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import wideopt as wo

FUNCTIONS = (
    "branin",
    "ackley-2",
    "hartmann-3",
    "hartmann-6",
    "ackley-5",
    "rosenbrock-5",
    "michalewicz-5",
    "levy-10",
    "styblinski-tang-10",
    "rastrigin-20",
)
N_REPEATS = 5
Model = Callable[[Tensor], tuple[Tensor, Tensor]]


def cpu(call: Callable[[], object], repeats: int = N_REPEATS) -> float:
    """Median CPU seconds of a call."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def sobol(n: int, d: int, seed: int) -> Tensor:
    engine = torch.quasirandom.SobolEngine(d, scramble=True, seed=seed)
    return engine.draw(n, dtype=torch.float64)


class Dense:
    """The papers' form: U⁻¹ (p x p) by Sherman-Morrison, covariance of all candidates.

    Neural-CBO eq. 3-4 and Neural-BO Alg. 1: U = λI + Σ g gᵀ/m, one row at a time, with
    g the gradient of a network with one hidden layer of m erf units.
    """

    def __init__(self, d: int, m: int, lam: float) -> None:
        generator = torch.Generator().manual_seed(0)
        self.W = torch.randn(m, d + 1, generator=generator, dtype=torch.float64)
        self.q = torch.randn(m, generator=generator, dtype=torch.float64)
        self.lam, p = lam, m * (d + 2)
        self.inverse = torch.eye(p, dtype=torch.float64) / lam
        self.moment = torch.zeros(p, dtype=torch.float64)

    def features(self, X: Tensor) -> Tensor:
        z = torch.cat([2 * X - 1, torch.ones(len(X), 1, dtype=X.dtype)], dim=1)
        a = z @ self.W.T
        slope = self.q * 2 / math.sqrt(math.pi) * torch.exp(-a.square())
        inner = (slope.unsqueeze(2) * z.unsqueeze(1)).flatten(1)
        return torch.cat([inner, torch.erf(a)], dim=1) / math.sqrt(len(self.q))

    def tell(self, X: Tensor, y: Tensor) -> None:
        for g, target in zip(self.features(X), y, strict=True):
            v = self.inverse @ g
            self.inverse -= torch.outer(v, v) / (1 + g @ v)
            self.moment += target * g

    def score(self, A: Tensor) -> tuple[Tensor, Tensor]:
        G = self.features(A)
        covariance = self.lam * (G @ self.inverse) @ G.T  # N x N, as published
        return G @ (self.inverse @ self.moment), covariance.diagonal()


def speed(n_candidates: int = 10_000, d: int = 6, m: int = 512) -> None:
    sizes = (100, 200, 500, 1000, 3000)
    print(f"\nspeed: CPU seconds per suggestion, {n_candidates} candidates, {d=}, {m=}")
    print(f"{'n':>6}{'tangent':>10}{'(a) dense':>12}{'(b) GP':>10}{'a/t':>9}{'t/b':>8}")
    A = sobol(n_candidates, d, 7)
    seconds = {}
    for n in sizes:
        X = sobol(n + 1, d, 1)
        Y = (torch.sin(4 * X).sum(1) + X.prod(1))[:, None]
        t, b = tangent_seconds(X, Y, A, m), gp_seconds(X, Y, A)
        seconds[n] = (t, b)
        a_text, ratio = "-", "-"
        if n == 200:
            a = dense_seconds(X, Y[:, 0], A, m)
            a_text, ratio = f"{a:.1f}", f"{a / t:.0f}"
        row = f"{n:>6}{t:>10.3f}{a_text:>12}{b:>10.3f}{ratio:>9}{t / b:>8.2f}"
        print(row, flush=True)
    (t0, b0), (t1, b1) = seconds[sizes[0]], seconds[sizes[-1]]
    print(f"growth from n = 100 to 3000: tangent {t1 / t0:.1f}x, GP {b1 / b0:.1f}x")


def tangent_seconds(X: Tensor, Y: Tensor, A: Tensor, m: int) -> float:
    recipe = wo.surrogates.Tangent(activation="erf", width=m)
    hyper = recipe.hyper(recipe.fit(X[:100], Y[:100]))
    model = recipe.restore(X[:-1], Y[:-1], hyper)
    return cpu(lambda: suggestion(model, X, Y, A))


def suggestion(model: Any, X: Tensor, Y: Tensor, A: Tensor) -> None:
    grown = model.extended(X[-1:], Y[-1:])
    with torch.no_grad():
        posterior = grown.posterior(A.unsqueeze(1))
        _ = posterior.mean, posterior.variance


def gp_seconds(X: Tensor, Y: Tensor, A: Tensor) -> float:
    """The faster of BoTorch's two ways to give N marginals: jointly, or as a batch."""
    gp = SingleTaskGP(X, Y)

    def score(points: Tensor) -> None:
        gp.train()  # drop GPyTorch's caches: a new observation invalidates them
        gp.eval()
        with torch.no_grad():
            posterior = gp.posterior(points)
            _ = posterior.mean, posterior.variance

    return min(cpu(lambda: score(A)), cpu(lambda: score(A.unsqueeze(1))))


def dense_seconds(X: Tensor, y: Tensor, A: Tensor, m: int) -> float:
    dense = Dense(X.shape[1], m, 1e-2)
    dense.tell(X[:-1], y[:-1])

    def step() -> None:
        dense.tell(X[-1:], y[-1:])
        dense.score(A)

    return cpu(step, repeats=1)


def large(n: int = 20_000, m: int = 256, d: int = 10) -> None:
    print(f"\nlarge: {n=}, {m=}, {d=}, primal form")
    X = sobol(n + 1, d, 1)
    Y = (torch.sin(4 * X).sum(1) + X.prod(1))[:, None]
    recipe = wo.surrogates.Tangent(activation="erf", width=m)
    hyper = recipe.hyper(recipe.fit(X[:200], Y[:200]))
    start = time.process_time()
    model = recipe.restore(X[:n], Y[:n], hyper)
    print(f"first fit with known hyper-parameters: {time.process_time() - start:.1f} s")
    A = sobol(10_000, d, 7)
    seconds = cpu(lambda: suggestion(model, X, Y, A))
    print(f"one suggestion (10,000 candidates): {seconds:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of the process: {peak:.2f} GB")


def tangent(X: Tensor, Y: Tensor) -> Model:
    model = wo.surrogates.Tangent().fit(X, Y)
    return _predictive(model)


def botorch_default(X: Tensor, Y: Tensor) -> Model:
    return _fitted(SingleTaskGP(X, Y))


def botorch_matern(X: Tensor, Y: Tensor) -> Model:
    d = X.shape[-1]
    kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=d))
    return _fitted(SingleTaskGP(X, Y, covar_module=kernel.double()))


def _fitted(model: SingleTaskGP) -> Model:
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return _predictive(model)


def _predictive(model: Any) -> Model:
    def predict(A: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            p = model.posterior(A, observation_noise=True)
        return p.mean.squeeze(-1), p.variance.squeeze(-1)

    return predict


MODELS = {
    "tangent": tangent,
    "SingleTaskGP": botorch_default,
    "Matern-5/2": botorch_matern,
}


def scores(model: Model, A: Tensor, target: Tensor, scale: Tensor) -> list[float]:
    """Negative log-likelihood, RMSE (standardized units), coverage of the 90% band."""
    mean, variance = model(A)
    mean, target, variance = mean / scale, target / scale, variance / scale**2
    z2 = (target - mean).square() / variance
    nll = 0.5 * (z2 + variance.log() + math.log(2 * math.pi)).mean()
    rmse = (target - mean).square().mean().sqrt()
    covered = (z2.sqrt() <= 1.6449).double().mean()
    return [float(nll), float(rmse), float(covered)]


def quality(sizes: Sequence[int] = (50, 200), n_seeds: int = 5) -> None:
    for n in sizes:
        print(f"\nquality: n = {n}, medians of {n_seeds} seeds: NLL, RMSE, coverage")
        print(f"{'function':<20}" + "".join(f"{name:>24}" for name in MODELS))
        wins = dict.fromkeys(MODELS, 0)
        ranges = []
        for name in FUNCTIONS:
            rows = [_compare(name, n, seed) for seed in range(n_seeds)]
            medians = {
                model: [statistics.median(column) for column in zip(*r, strict=True)]
                for model in MODELS
                for r in [[row[model] for row in rows]]
            }
            ranges.append(medians["tangent"][2])
            for model in MODELS:
                wins[model] += medians["tangent"][0] < medians[model][0]
            cells = (f"{a:10.2f} {b:6.3f} {c:5.2f}" for a, b, c in medians.values())
            print(f"{name:<20}" + "".join(f"{c:>24}" for c in cells), flush=True)
        better = ", ".join(f"{w} of 10 against {m}" for m, w in wins.items() if w)
        print(f"tangent has the better likelihood on {better}")
        print(f"tangent's coverage: {min(ranges):.2f} to {max(ranges):.2f}")


def _compare(name: str, n: int, seed: int) -> dict[str, list[float]]:
    problem = wo.problems.get(name)
    low, high = torch.tensor(problem.bounds, dtype=torch.float64).T
    X, A = sobol(n, problem.dim, seed), sobol(500, problem.dim, 1000 + seed)
    Y = problem.objective(low + X * (high - low))
    target = problem.objective(low + A * (high - low))
    out = {}
    for label, fit in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out[label] = scores(fit(X, Y[:, None]), A, target, Y.std(correction=0))
    return out


def main(argv: Sequence[str] | None = None) -> None:
    # large first: its peak memory must not be that of the dense form
    parts = {"large": large, "speed": speed, "quality": quality}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, []])
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    for part in args.parts or parts:
        parts[part]()


if __name__ == "__main__":
    main()
