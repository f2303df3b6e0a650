"""BoTorch: `SingleTaskGP` and LogEI, with `optimize_acqf` as in its tutorials.

Initial points: training data. Constraints: one more `SingleTaskGP` each,
`LogConstrainedExpectedImprovement`; `LogProbabilityOfFeasibility` until a feasible
point is known. The incumbent is the best feasible observation. Models are fitted
afresh at every ask; settings: num_restarts = 10, raw_samples = 512. Batches: one point
after the other with qLogNEI, which knows those before it. `LogNEI` is qLogNEI always,
which BoTorch recommends where there is noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import (
    LogConstrainedExpectedImprovement,
    LogExpectedImprovement,
    LogProbabilityOfFeasibility,
)
from botorch.acquisition.logei import (
    qLogNoisyExpectedImprovement,
    qLogProbabilityOfFeasibility,
)
from botorch.acquisition.objective import GenericMCObjective
from botorch.fit import fit_gpytorch_mll
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.model import Model
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.optim.optimize import optimize_acqf
from botorch.utils.sampling import manual_seed
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood
from torch import Tensor

from wideopt.bench.contender import Observation
from wideopt.bench.peers._cube import Points
from wideopt.bench.task import Task

__all__ = ["LogEI", "LogNEI"]


class LogEI:
    """Log expected improvement by BoTorch."""

    def __init__(
        self,
        task: Task,
        seed: int,
        initial: list[Observation],
        num_restarts: int = 10,
        raw_samples: int = 512,
    ) -> None:
        self._points = Points(task.space)
        self._seed = seed
        self._num_restarts, self._raw_samples = num_restarts, raw_samples
        self._X: list[Any] = []
        self._Y: list[list[float]] = []
        for seen in initial:
            self.tell(seen.x, seen.y, seen.c)

    def tell(self, x: Any, y: float, c: list[float]) -> None:
        """Add an observation; BoTorch maximizes."""
        self._X.append(self._points.encode(x))
        self._Y.append([-y, *c])

    def ask(self) -> Any:
        """Fit the models and maximize the acquisition."""
        return self._maximized(_acquisition, 1)[0]

    def ask_many(self, n: int) -> list[Any]:
        """Several at once."""
        return self._maximized(_batch_acquisition, n)

    def _maximized(
        self, make: Callable[[Tensor, Tensor], AcquisitionFunction], n: int
    ) -> list[Any]:
        X = torch.tensor([list(x) for x in self._X], dtype=torch.float64)
        Y = torch.tensor(self._Y, dtype=torch.float64)
        d = self._points.n_dims
        with manual_seed(self._seed * 100_003 + len(self._X)):
            found, _ = optimize_acqf(
                make(X, Y),
                bounds=torch.stack([torch.zeros(d), torch.ones(d)]).double(),
                q=n,
                num_restarts=self._num_restarts,
                raw_samples=self._raw_samples,
                sequential=True,
            )
        return [self._points.decode(point.numpy()) for point in found]


class LogNEI(LogEI):
    """Log noisy expected improvement by BoTorch, one point at a time or several."""

    def ask(self) -> Any:
        """Fit the models and maximize the acquisition."""
        return self.ask_many(1)[0]


def _fitted(X: Tensor, Y: Tensor) -> Model:
    models = [SingleTaskGP(X, column[:, None]) for column in Y.unbind(dim=1)]
    if len(models) == 1:
        fit_gpytorch_mll(ExactMarginalLogLikelihood(models[0].likelihood, models[0]))
        return models[0]
    model = ModelListGP(*models)
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    return model


def _batch_acquisition(X: Tensor, Y: Tensor) -> AcquisitionFunction:
    model = _fitted(X, Y)
    if Y.shape[1] == 1:
        return qLogNoisyExpectedImprovement(model, X_baseline=X, prune_baseline=True)

    def first(Z: Tensor, X: Tensor | None = None) -> Tensor:  # noqa: ARG001
        return Z[..., 0]

    def limit(i: int) -> Callable[[Tensor], Tensor]:
        return lambda Z: Z[..., i]

    limits = [limit(i) for i in range(1, Y.shape[1])]
    if not bool((Y[:, 1:] <= 0).all(dim=1).any()):
        return qLogProbabilityOfFeasibility(model, constraints=limits)
    return qLogNoisyExpectedImprovement(
        model,
        X_baseline=X,
        objective=GenericMCObjective(first),
        constraints=limits,
        prune_baseline=True,
    )


def _acquisition(X: Tensor, Y: Tensor) -> AcquisitionFunction:
    model = _fitted(X, Y)
    if Y.shape[1] == 1:
        return LogExpectedImprovement(model, best_f=float(Y[:, 0].max()))
    limits: dict[int, tuple[float | None, float | None]]
    limits = dict.fromkeys(range(1, Y.shape[1]), (None, 0.0))
    is_feasible = (Y[:, 1:] <= 0).all(dim=1)
    if not bool(is_feasible.any()):
        return LogProbabilityOfFeasibility(model, constraints=limits)
    best = float(Y[is_feasible, 0].max())
    return LogConstrainedExpectedImprovement(
        model, best_f=best, objective_index=0, constraints=limits
    )
