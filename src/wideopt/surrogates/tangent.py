"""The tangent surrogate: wide networks as Gaussian posteriors, tuned by evidence.

Neural-BO (Phan-Trong et al. 2023, Alg. 1) and Neural-CBO (Phan-Trong, Tran and Gupta
2025, eq. 3-4) ask for mean and uncertainty of a wide network; here they come from the
exact posterior of its linearization, in the smaller of two forms. By default networks
of infinite width are averaged, a smooth shallow one and a rough deep one, each weighted
by its evidence: which of them suits a function is for the data to say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import torch
from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.conditioning import Posterior
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.evidence import fit_evidence, inflation
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.kernel import Kernel
from wideopt.numerics.network import Architecture, Init, Readout, Weights
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.scales import Scales
from wideopt.numerics.trained import Start, TrainedPosterior
from wideopt.numerics.training import Network, Training
from wideopt.surrogates.moments import Standardization
from wideopt.surrogates.tangent_model import TangentModel

__all__ = ["Tangent"]

Json: TypeAlias = "dict[str, Any]"

_AUTO = (("erf", 1), ("relu", 3))  # activation and depth of the networks averaged
_TRAINING = Training("lbfgs", epochs=200)
_PRUNED = 0.02  # a network with less weight than this for every output is left out


@dataclass(frozen=True)
class Tangent:
    """A recipe for wide-network surrogates.

    Attributes:
        activation: "auto" averages erf (depth 1) and relu (depth 3) by evidence; or
            "erf", "relu", "sin", "tanh", "silu".
        depth: hidden layers, if the activation is given.
        width: hidden units, or `math.inf` (closed form for erf, relu and sin).
        init: "antisymmetric", "zero-last" or "gaussian" (see `numerics.network`).
        readout: "trained", or "fixed" at ±1 as in Neural-CBO.
        mean: "linear", the closed form, or "trained", the network trained on the data.
        training: how to train it.
        start: where training starts: at the solution of the linearized network, or at
            "theta_0", as in the papers.
        n_members: initializations to average, for a finite width.
        noise: variance of the noise in standardized units; None infers it.
        seed: of the initial weights θ_0.
    """

    activation: str = "auto"
    depth: int = 1
    width: float = math.inf
    init: Init = "antisymmetric"
    readout: Readout = "trained"
    mean: Literal["linear", "trained"] = "linear"
    training: Training = _TRAINING
    start: Start = "linearized"
    n_members: int = 1
    noise: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.mean not in ("linear", "trained"):
            raise InputError(f"mean is 'linear' or 'trained', but got {self.mean!r}.")
        if self.mean == "trained" and not math.isfinite(self.width):
            raise InputError("An infinitely wide network cannot be trained: set width.")
        if self.n_members < 1:
            raise InputError(f"n_members must be at least 1, but got {self.n_members}.")
        if self.noise is not None and not self.noise >= 0:
            raise InputError(f"noise is a variance, but got {self.noise}.")
        if math.isfinite(self.width) and self.width != int(self.width):
            raise InputError(f"width is a whole number or inf, but got {self.width}.")
        for architecture in self.architectures():
            _check_width(architecture, self.width)

    def architectures(self) -> list[Architecture]:
        """The networks that are averaged."""
        kinds = _AUTO if self.activation == "auto" else ((self.activation, self.depth),)
        width = int(self.width) if math.isfinite(self.width) else 2
        return [
            Architecture(depth, width, activation, self.init, self.readout)
            for activation, depth in kinds
        ]

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n outputs"],
        warm: Json | None = None,
    ) -> Model:
        """A model with hyper-parameters of maximal evidence, started also from `warm`.

        Args:
            X: points of the unit cube.
            Y: outputs, NaN where missing.
            warm: hyper-parameters of an earlier model of these outputs.
        """
        known = (warm or {}).get("runs", [])
        runs = _runs(Y)
        is_known = [run["outputs"] for run in known] == [list(r) for r in runs]
        models = [
            self._fit_run(*_rows(X, Y, run), known[i]["members"] if is_known else [])
            for i, run in enumerate(runs)
        ]
        return _join(models)

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], hyper: Json
    ) -> Model:
        """A model with known hyper-parameters."""
        return _join(
            [
                self._build(*_rows(X, Y, run["outputs"]), run["members"])
                for run in hyper["runs"]
            ]
        )

    def hyper(self, model: Model) -> Json:
        """Hyper-parameters and weights of the networks, exact through JSON."""
        parts: list[Any] = [model]
        if isinstance(model, ModelList):
            parts = list(model.models)
        runs, start = [], 0
        for part in parts:
            stop: int = start + part.num_outputs
            runs.append({"outputs": list(range(start, stop)), "members": part.recipe})
            start = stop
        return {"runs": runs}

    def _fit_run(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n o"], known: list[Json]
    ) -> TangentModel:
        targets = Standardization.of(Y).apply(Y)
        members: list[Json] = []
        for index, architecture in enumerate(self._networks()):
            warm = [Hyper.from_json(m["hyper"]) for m in known if m["index"] == index]
            hyper, evidence = self._learn(architecture, index, (X, targets), warm)
            members.append(
                {
                    "index": index,
                    "hyper": hyper.to_json(),
                    "weights": evidence.tolist(),
                }
            )
        return self._build(X, Y, _weighted(members))

    def _learn(
        self,
        architecture: Architecture,
        index: int,
        data: tuple[Tensor, Tensor],
        warm: list[Hyper],
    ) -> tuple[Hyper, Float[Tensor, " o"]]:
        """Hyper-parameters of maximal evidence, and that evidence.

        A finite network starts where the infinite one ended, if that has a closed form:
        it is close, and its evidence is cheaper to climb.
        """
        X, targets = data
        d = X.shape[1]
        prior = _prior(architecture, self.noise)
        starts = prior.starts(d, targets.shape[:-1]) + warm
        kernel: Kernel[Any]
        if architecture.phi.expectations is not None:
            kernel = InfiniteKernel(architecture, Scales.ones(d))
            best = fit_evidence(kernel, X, targets, starts, prior)
            starts = _from_infinite(best.hyper, prior)
        if math.isfinite(self.width):
            theta_0 = self._theta_0(architecture, index, d)
            kernel = TangentKernel.of(architecture, theta_0, Scales.ones(d))
            best = fit_evidence(kernel, X, targets, starts, prior, max_iterations=40)
        hyper = best.hyper.inflated(inflation(kernel, X, targets, best.hyper))
        return hyper, best.log_joint

    def _networks(self) -> list[Architecture]:
        n_each = self.n_members if math.isfinite(self.width) else 1
        return [a for a in self.architectures() for _ in range(n_each)]

    def _build(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n o"], members: list[Json]
    ) -> TangentModel:
        standardization = Standardization.of(Y)
        targets = standardization.apply(Y)
        networks = self._networks()
        posteriors = [
            self._posterior(networks[m["index"]], m, X, targets) for m in members
        ]
        weights = torch.tensor([m["weights"] for m in members], dtype=X.dtype)
        return TangentModel(posteriors, weights.to(X), standardization, recipe=members)

    def _posterior(
        self,
        architecture: Architecture,
        member: Json,
        X: Float[Tensor, "n d"],
        targets: Float[Tensor, "o n"],
    ) -> Posterior:
        hyper = Hyper.from_json(member["hyper"])
        if not math.isfinite(self.width):
            kernel: Kernel[Any] = InfiniteKernel(architecture, hyper.scales)
            return fit_posterior(kernel, X, targets, hyper.noise)
        theta_0 = self._theta_0(architecture, member["index"], X.shape[1])
        kernel = TangentKernel.of(architecture, theta_0, hyper.scales)
        base = fit_posterior(kernel, X, targets, hyper.noise)
        if self.mean == "linear":
            return base
        network = Network(architecture, hyper.scales, theta_0)
        return TrainedPosterior.of(
            base, network, self.training, start=self.start, seed=self.seed
        )

    def _theta_0(self, architecture: Architecture, index: int, d: int) -> Weights:
        generator = torch.Generator().manual_seed(self.seed * 1009 + index)
        return architecture.initial_weights(d, generator)


def _check_width(architecture: Architecture, width: float) -> None:
    if math.isinf(width) and architecture.phi.expectations is None:
        raise InputError(
            f"Activation {architecture.activation!r} has no closed form at infinite "
            "width; set a finite width, or use erf, relu or sin."
        )


def _prior(architecture: Architecture, noise: float | None) -> Prior:
    """Rough networks want larger input scales: relu kinks, erf bends."""
    prior = Prior(input_scale=1.7 if architecture.activation == "relu" else 0.85)
    if noise is None:
        return prior
    level = max(noise, prior.min_noise)
    return replace(
        prior, noise=level, noise_spread=1e-6, min_noise=level, max_noise=level
    )


def _from_infinite(hyper: Hyper, prior: Prior) -> list[Hyper]:
    """Starts for a finite network: a random kernel is rougher, so noise may help."""
    ceiling = math.log(prior.max_noise)
    raised = (hyper.log_noise + 3.0).clamp_max(ceiling)
    return [hyper, replace(hyper, log_noise=raised)]


def _runs(Y: Float[Tensor, "n outputs"]) -> list[list[int]]:
    """Consecutive outputs that are known at the same rows: each run is one batch."""
    known = ~Y.isnan()
    runs: list[list[int]] = []
    for i in range(Y.shape[1]):
        if i > 0 and bool((known[:, i] == known[:, i - 1]).all()):
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _rows(X: Tensor, Y: Tensor, outputs: list[int]) -> tuple[Tensor, Tensor]:
    known = ~Y[:, outputs[0]].isnan()
    return X[known], Y[known][:, outputs]


def _join(models: list[TangentModel]) -> Model:
    return models[0] if len(models) == 1 else ModelList(*models)


def _weighted(members: list[Json]) -> list[Json]:
    """Members with weights proportional to their evidence; negligible ones left out."""
    evidence = torch.tensor([m["weights"] for m in members], dtype=torch.float64)
    weights = torch.softmax(evidence, dim=0)
    is_kept = (weights >= _PRUNED).any(dim=1)
    weights = weights * is_kept.unsqueeze(1)
    weights = weights / weights.sum(dim=0)
    return [
        {**m, "weights": w.tolist()}
        for m, w, kept in zip(members, weights, is_kept, strict=True)
        if kept
    ]
