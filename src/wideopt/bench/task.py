"""`Task`: what one run optimizes, with its truth, its noise and its budget.

A method sees `evaluate(x, rng)`, which is noisy where the task says so; every figure of
a report comes from `truth(x)`. Noise is stated as a rule and turned into a standard
deviation by the scale of each output over a fixed Sobol sample of the box.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import InputError
from wideopt.problems import Problem
from wideopt.space import Space

__all__ = [
    "NEURAL_BO_CODE",
    "NEURAL_CBO_CODE",
    "PAPERS",
    "Noise",
    "Scales",
    "Task",
    "from_problem",
    "parse_noise",
]

Outputs: TypeAlias = Callable[[Any], "tuple[float, Sequence[float]]"]

_N_SAMPLE = 4096  # Sobol points that measure the scale of a function


@dataclass(frozen=True)
class Noise:
    """A rule for the standard deviation of Gaussian noise.

    Attributes:
        kind: "sd" (sd = share · sd of the function over the box) or "range"
            (variance = share · range of the function over the box, in its own units).
        share: the factor.
    """

    kind: Literal["sd", "range"]
    share: float

    def __post_init__(self) -> None:
        if self.kind not in ("sd", "range") or not 0 < self.share < math.inf:
            raise InputError(
                f"Noise is a kind, 'sd' or 'range', and a positive share, but got "
                f"{self.kind!r} and {self.share!r}."
            )

    @property
    def label(self) -> str:
        """A short name, such as "sd:0.05", that `parse_noise` reads."""
        return f"{self.kind}:{self.share:g}"

    def sds(self, scales: Scales) -> NDArray[np.float64]:
        """The standard deviation on each output."""
        if self.kind == "sd":
            return self.share * np.array(scales.sds)
        return np.sqrt(self.share * np.array(scales.ranges))


NEURAL_CBO_CODE = Noise("sd", 0.05)  # what the authors' Neural-CBO code adds
NEURAL_BO_CODE = Noise("sd", 0.1)  # what the authors' NeuralBO code adds
PAPERS = Noise("range", 0.01)  # what both papers print: variance 1% of the range


def parse_noise(text: str) -> Noise | None:
    """The rule of a label: "none", "paper", "sd:SHARE" or "range:SHARE"."""
    if text == "none":
        return None
    if text == "paper":
        return PAPERS
    kind, _, share = text.partition(":")
    try:
        if kind in ("sd", "range"):
            return Noise(kind, float(share))  # type: ignore[arg-type]
    except ValueError:
        pass  # the message below says what is missing
    raise InputError(
        f"Noise is 'none', 'paper', 'sd:SHARE' or 'range:SHARE', SHARE a positive "
        f"number, but got {text!r}."
    )


@dataclass(frozen=True)
class Scales:
    """Standard deviation and range of each output, the objective first."""

    sds: tuple[float, ...]
    ranges: tuple[float, ...]

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Scales:
        """The scales of a sample of shape (n, 1 + k)."""
        sds, ranges = values.std(axis=0), np.ptp(values, axis=0)
        return cls(tuple(map(float, sds)), tuple(map(float, ranges)))


@dataclass(frozen=True)
class Task:
    """A box to search, what is in it, and how often one may look.

    Attributes:
        name: unique in its suite; also the name of a folder.
        space: the search space.
        n_evals: the budget, initial design included.
        outputs: maps a config to (objective, constraints), without noise.
        n_constraints: how many constraints there are; c <= 0 is feasible.
        optimum: the least feasible value, or None if it is not known.
        n_init: size of the initial design; by default what `Optimizer` chooses.
        scales: scale of each output; needed for noise and for scaled regret.
        noise: the rule of the noise, or None.
        outputs_of_seed: maps a seed to its own `outputs`, where seeds differ in more
            than chance, as folds of data do.
        pde: physics of the objective, for methods that use it; called when needed,
            since it brings torch.
        pde_title: the same for people, and for the record.
        n_batch: how many configs are evaluated at a time.
    """

    name: str
    space: Space
    n_evals: int
    outputs: Outputs
    n_constraints: int = 0
    optimum: float | None = None
    n_init: int | None = None
    scales: Scales | None = None
    noise: Noise | None = None
    outputs_of_seed: Callable[[int], Outputs] | None = None
    pde: Callable[[], Any] | None = None
    pde_title: str | None = None
    n_batch: int = 1

    def __post_init__(self) -> None:
        if self.noise is not None and self.scales is None:
            raise InputError(f"Task {self.name!r} has noise, so it needs its scales.")
        if self.n_init is not None and not 1 <= self.n_init < self.n_evals:
            raise InputError(
                f"Task {self.name!r} has n_init={self.n_init}, which must be at least "
                f"1 and below n_evals={self.n_evals}."
            )

    def seeded(self, seed: int) -> Task:
        """The task as a run with this seed meets it."""
        if self.outputs_of_seed is None:
            return self
        return replace(self, outputs=self.outputs_of_seed(seed))

    def truth(self, x: Any) -> tuple[float, list[float]]:
        """Objective and constraints without noise."""
        y, c = self.outputs(x)
        return float(y), [float(value) for value in c]

    def observed(
        self, truth: tuple[float, list[float]], rng: np.random.Generator
    ) -> tuple[float, list[float]]:
        """The same with noise on every output."""
        y, c = truth
        if self.noise is None or self.scales is None:
            return y, list(c)
        noisy = np.array([y, *c]) + rng.normal(size=1 + len(c)) * self.noise.sds(
            self.scales
        )
        return float(noisy[0]), [float(value) for value in noisy[1:]]

    def evaluate(
        self, x: Any, rng: np.random.Generator
    ) -> float | tuple[float, list[float]]:
        """What a method sees: y, or (y, c) with constraints."""
        y, c = self.observed(self.truth(x), rng)
        return (y, c) if self.n_constraints else y

    def with_noise(self, noise: Noise | None) -> Task:
        """The same task under another rule of noise; the name says so."""
        if noise == self.noise:
            return self
        label = "none" if noise is None else noise.label.replace(":", "-")
        return replace(self, name=f"{self.name}--noise-{label}", noise=noise)

    def to_json(self) -> dict[str, Any]:
        """All that defines the task, apart from the function itself."""
        noise = None
        if self.noise is not None and self.scales is not None:
            sds = [float(sd) for sd in self.noise.sds(self.scales)]
            noise = {"rule": self.noise.label, "sds": sds}
        more: dict[str, Any] = {} if self.pde is None else {"pde": self.pde_title}
        if self.n_batch > 1:
            more["n_batch"] = self.n_batch
        return {
            "name": self.name,
            "space": _space_form(self.space),
            "n_evals": self.n_evals,
            "n_init": self.n_init,
            "n_constraints": self.n_constraints,
            "optimum": self.optimum,
            "objective_range": None if self.scales is None else self.scales.ranges[0],
            "noise": noise,
            **more,
        }


def _space_form(space: Space) -> dict[str, Any]:
    """The space in JSON; of candidates, which may be many, shape and hash."""
    if space.candidates is None:
        return space.to_json()
    rows = space.candidates.rows
    digest = hashlib.sha256(rows.tobytes()).hexdigest()
    return {"candidates": list(rows.shape), "sha256": digest[:16]}


def from_problem(
    problem: Problem,
    n_evals: int,
    *,
    noise: Noise | None = None,
    name: str | None = None,
    n_init: int | None = None,
) -> Task:
    """The task of minimizing a problem of `wideopt.problems`."""
    k = problem.n_constraints

    def outputs(x: Any) -> tuple[float, Sequence[float]]:
        outcome = problem(x)
        return outcome if isinstance(outcome, tuple) else (outcome, ())

    return Task(
        name=name or problem.name,
        space=problem.space,
        n_evals=n_evals,
        outputs=outputs,
        n_constraints=k,
        optimum=problem.optimum,
        n_init=n_init,
        scales=_scales(problem),
        noise=noise,
    )


def _scales(problem: Problem) -> Scales:
    from wideopt.search import sobol_points  # brings torch, which listing does not need

    low, high = np.array(problem.bounds).T
    X = low + (high - low) * sobol_points(problem.dim, _N_SAMPLE, seed=0).numpy()
    values = np.column_stack([problem.objective(X), problem.constraints(X)])
    scales = Scales.of(values)
    if problem.optimum is None:
        return scales
    # a sample seldom comes near the optimum, which may lie far below it
    reach = float(values[:, 0].max()) - problem.optimum
    return replace(scales, ranges=(max(scales.ranges[0], reach), *scales.ranges[1:]))
