"""The tangent surrogate: wide networks as Gaussian posteriors, tuned by evidence.

Neural-BO (Phan-Trong et al. 2023, Alg. 1) and Neural-CBO (Phan-Trong, Tran and Gupta
2025, eq. 3-4) ask for mean and uncertainty of a wide network; here they come from the
exact posterior of its linearization, in the smaller of two forms. By default networks
of infinite width are averaged, two smooth shallow ones and a rough deep one, weighted
by their evidence: which of them suits a function is for the data to say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import torch
from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.conditioning import Posterior
from wideopt.numerics.current import CurrentPosterior
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.hyper import Hyper
from wideopt.numerics.kernel import Kernel
from wideopt.numerics.network import Architecture, Init, Readout, Weights
from wideopt.numerics.posterior import DualPosterior, PrimalPosterior, fit_posterior
from wideopt.numerics.trained import Start, TrainedPosterior
from wideopt.numerics.training import Network, Training
from wideopt.surrogates.moments import Standardization
from wideopt.surrogates.runs import joined, recipes_of, rows_of, runs_of
from wideopt.surrogates.tangent_evidence import closed_form, learned, weighted
from wideopt.surrogates.tangent_model import TangentModel

__all__ = ["Tangent"]

Json: TypeAlias = "dict[str, Any]"

# activation and depth of the networks averaged
_AUTO = (("erf", 1), ("relu", 3), ("bowl", 1))
_TRAINING = Training("lbfgs", epochs=200)
_N_FROM_SCRATCH = 400  # rows on which hyper-parameters are learned from nothing


@dataclass(frozen=True)
class Tangent:
    """A recipe for wide-network surrogates.

    Attributes:
        activation: "auto" averages erf and bowl (depth 1) and relu (depth 3) by
            evidence; or "erf", "relu", "sin", "bowl", "tanh", "silu".
        depth: hidden layers, if the activation is given.
        width: hidden units, or `math.inf` (closed form for erf, relu, sin and bowl).
        init: "antisymmetric", "zero-last" or "gaussian" (see `numerics.network`).
        readout: "trained", or "fixed" at ±1 as in Neural-CBO.
        has_gain: whether layers of a finite width keep the signal's size; as Neural-CBO
            prints them they do not.
        mean: "linear", the closed form, or "trained", the network trained on the data.
        features: of a trained network, at "theta_0", or at its "current" weights.
        training: how to train it.
        start: where training starts: at the solution of the linearized network, or at
            "theta_0", as in the papers.
        n_members: initializations to average, for a finite width.
        noise: variance of the noise in standardized units; None infers it.
        is_tuned: whether hyper-parameters are learned by evidence; if not, noise must
            be given, and scales are those below.
        bend_spread: how far axes may be bent, if tuned: the prior deviation of each t
            of `numerics.scales`; 0 leaves them straight.
        has_grain: whether a smooth network of infinite width may have a grain beside
            its trend, if tuned (see `numerics.grain`).
        has_curves: whether "auto" averages a sum of functions of one input, too (see
            `numerics.additive`).
        input_scale: of every input, if not tuned; the bias has scale 1.
        output_scale: of the output, if not tuned.
        seed: of the initial weights θ_0.
    """

    activation: str = "auto"
    depth: int = 1
    width: float = math.inf
    init: Init = "antisymmetric"
    readout: Readout = "trained"
    has_gain: bool = True
    mean: Literal["linear", "trained"] = "linear"
    features: Literal["theta_0", "current"] = "theta_0"
    training: Training = _TRAINING
    start: Start = "linearized"
    n_members: int = 1
    noise: float | None = None
    is_tuned: bool = True
    bend_spread: float = 0.0
    has_grain: bool = False
    has_curves: bool = False
    input_scale: float = 1.0
    output_scale: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_mean()
        self._check_untuned()
        if not 0 <= self.bend_spread < math.inf:
            raise InputError(
                f"bend_spread must not be negative, but got {self.bend_spread}."
            )
        if self.n_members < 1:
            raise InputError(f"n_members must be at least 1, but got {self.n_members}.")
        if self.noise is not None and not self.noise >= 0:
            raise InputError(f"noise is a variance, but got {self.noise}.")
        if math.isfinite(self.width) and self.width != int(self.width):
            raise InputError(f"width is a whole number or inf, but got {self.width}.")
        for architecture in self.architectures():
            _check_width(architecture, self.width)

    def _check_mean(self) -> None:
        if self.mean not in ("linear", "trained"):
            raise InputError(f"mean is 'linear' or 'trained', but got {self.mean!r}.")
        if self.mean == "trained" and not math.isfinite(self.width):
            raise InputError("An infinitely wide network cannot be trained: set width.")
        if not self.has_gain and not math.isfinite(self.width):
            raise InputError("Closed forms have the gain: set width, or has_gain=True.")
        if self.features not in ("theta_0", "current"):
            raise InputError(
                f"features is 'theta_0' or 'current', but got {self.features!r}."
            )
        if self.features == "current" and self.mean != "trained":
            raise InputError("features='current' needs a network: set mean='trained'.")

    def _check_untuned(self) -> None:
        if not self.is_tuned and not self.noise:
            raise InputError(
                f"Without tuning nothing infers the noise: set noise above 0, not "
                f"{self.noise}."
            )
        for name in ("input_scale", "output_scale"):
            value = getattr(self, name)
            if not value > 0:
                raise InputError(f"{name} must be positive, but got {value}.")

    def architectures(self) -> list[Architecture]:
        """The networks that are averaged."""
        kinds = _AUTO if self.activation == "auto" else ((self.activation, self.depth),)
        width = int(self.width) if math.isfinite(self.width) else 2
        found = [
            Architecture(
                *(depth, width, activation, self.init, self.readout),
                has_gain=self.has_gain,
            )
            for activation, depth in kinds
        ]
        if self.has_curves and self.activation == "auto" and math.isinf(self.width):
            found.append(Architecture(1, width, "sin", is_additive=True))
        return found

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n outputs"],
        warm: Json | None = None,
    ) -> Model:
        """A model with hyper-parameters of maximal evidence, climbed from `warm`.

        Those of a recipe that is not tuned are given.

        Args:
            X: points of the unit cube.
            Y: outputs, NaN where missing.
            warm: hyper-parameters of an earlier model of these outputs.
        """
        known = (warm or {}).get("runs", [])
        runs = runs_of(Y)
        is_known = [run["outputs"] for run in known] == [list(r) for r in runs]
        models = [
            self._fit_run(*rows_of(X, Y, run), known[i]["members"] if is_known else [])
            for i, run in enumerate(runs)
        ]
        return joined(models)

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], hyper: Json
    ) -> Model:
        """A model with known hyper-parameters."""
        return joined(
            [
                self._build(*rows_of(X, Y, run["outputs"]), run["members"])
                for run in hyper["runs"]
            ]
        )

    def trained(self, model: Model) -> Model:
        """The model with means of networks trained on its data, from `start`.

        For a recipe whose mean is linear: the factor grows with the data as ever, and
        a network is trained only when its mean is wanted.
        """
        if isinstance(model, ModelList):
            parts = cast("list[Model]", list(model.models))
            return joined([self.trained(part) for part in parts])
        assert isinstance(model, TangentModel)
        networks = self._networks()
        members = [
            self._with_network(networks[known["index"]], known, base)
            for known, base in zip(model.recipe, model.members, strict=True)
        ]
        return TangentModel(
            members, model.weights, model.standardization, recipe=model.recipe
        )

    def hyper(self, model: Model) -> Json:
        """Hyper-parameters and weights of the networks, exact through JSON."""
        return {
            "runs": [
                {"outputs": outputs, "members": recipe}
                for outputs, recipe in recipes_of(model)
            ]
        }

    def _fit_run(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n o"], known: list[Json]
    ) -> TangentModel:
        if not self.is_tuned:
            return self._build(X, Y, self._untuned(X.shape[1], Y.shape[1]))
        if not known and X.shape[0] > _N_FROM_SCRATCH:
            # from several starts on some of the rows, then from there on all of them
            step = math.ceil(X.shape[0] / _N_FROM_SCRATCH)
            known = self._fit_run(X[::step], Y[::step], []).recipe
        targets = Standardization.of(Y).apply(Y)
        members: list[Json] = []
        best: Tensor | None = None  # evidence so far
        for index, architecture in enumerate(self._networks()):
            warm = [Hyper.from_json(m["hyper"]) for m in known if m["index"] == index]
            if known and not warm:
                continue  # it had no weight when last all of them were tried
            theta_0 = None
            if math.isfinite(self.width):
                theta_0 = self._theta_0(architecture, index, X.shape[1])
            hyper, evidence = learned(
                *(architecture, theta_0, (X, targets), warm, self.noise),
                bend_spread=self.bend_spread,
                has_grain=self.has_grain and not math.isfinite(self.width),
                rival=None if warm else best,
            )
            best = evidence if best is None else torch.maximum(best, evidence)
            members.append(_member(index, hyper, evidence.tolist()))
        sums = [i for i, a in enumerate(self._networks()) if a.is_additive]
        return self._build(X, Y, weighted(members, sums))

    def _untuned(self, d: int, o: int) -> list[Json]:
        """Members of equal weight with the recipe's own scales and noise."""
        scales = [self.input_scale] * d + [1.0, self.output_scale, self.noise or 0.0]
        psi = torch.tensor(scales, dtype=torch.float64).log()
        hyper = Hyper.from_vector(psi.expand(o, d + 3))
        n = len(self._networks())
        return [_member(index, hyper, [1.0 / n] * o) for index in range(n)]

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
            kernel: Kernel[Any] = closed_form(architecture, hyper.scales)
            return fit_posterior(kernel, X, targets, hyper.noise)
        theta_0 = self._theta_0(architecture, member["index"], X.shape[1])
        kernel = TangentKernel.of(architecture, theta_0, hyper.scales)
        base = fit_posterior(kernel, X, targets, hyper.noise)
        if self.mean == "linear":
            return base
        return self._with_network(architecture, member, base)

    def _with_network(
        self,
        architecture: Architecture,
        member: Json,
        base: DualPosterior | PrimalPosterior,
    ) -> TrainedPosterior:
        theta_0 = self._theta_0(architecture, member["index"], base.X.shape[-1])
        scales = Hyper.from_json(member["hyper"]).scales
        network = Network(architecture, scales, theta_0)
        kind = CurrentPosterior if self.features == "current" else TrainedPosterior
        return kind.of(base, network, self.training, start=self.start, seed=self.seed)

    def _theta_0(self, architecture: Architecture, index: int, d: int) -> Weights:
        generator = torch.Generator().manual_seed(self.seed * 1009 + index)
        return architecture.initial_weights(d, generator)


def _check_width(architecture: Architecture, width: float) -> None:
    if math.isinf(width) and architecture.phi.expectations is None:
        raise InputError(
            f"Activation {architecture.activation!r} has no closed form at infinite "
            "width; set a finite width, or use erf, relu, sin or bowl."
        )


def _member(index: int, hyper: Hyper, weights: list[float]) -> Json:
    return {"index": index, "hyper": hyper.to_json(), "weights": weights}
