"""What every surrogate is: a recipe that turns data into a BoTorch model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from botorch.exceptions.warnings import BotorchWarning
from botorch.models.model import Model, ModelList
from gpytorch.utils.warnings import GPInputWarning, NumericalWarning
from jaxtyping import Float
from linear_operator.utils.warnings import NumericalWarning as LinearOperatorWarning
from torch import Tensor

__all__ = ["Hyper", "Surrogate", "outputs_of", "quiet"]

Hyper: TypeAlias = "dict[str, Any]"  # hyper-parameters, as JSON


@runtime_checkable
class Surrogate(Protocol):
    """A frozen recipe; `fit` learns hyper-parameters, `restore` takes them as given."""

    def fit(
        self,
        X: Float[Tensor, "n d"],
        Y: Float[Tensor, "n outputs"],
        warm: Hyper | None = None,
    ) -> Model:
        """A model of the outputs, with hyper-parameters learned from the data.

        `warm` are those of an earlier model; a recipe may start from them.
        """
        ...

    def restore(
        self, X: Float[Tensor, "n d"], Y: Float[Tensor, "n outputs"], hyper: Hyper
    ) -> Model:
        """A model of the outputs with known hyper-parameters: `hyper(model)` of one."""
        ...

    def hyper(self, model: Model) -> Hyper:
        """The hyper-parameters of a model of this recipe, exact through JSON."""
        ...


def outputs_of(model: Model) -> list[Model]:
    """The single-output models of a model, objective first."""
    if isinstance(model, ModelList):
        parts = cast("list[Model]", list(model.models))
        return [output for part in parts for output in outputs_of(part)]
    if model.num_outputs == 1:
        return [model]
    return [model.subset_output([i]) for i in range(model.num_outputs)]


@contextmanager
def quiet() -> Iterator[None]:
    """Silence what BoTorch and GPyTorch say of numerical trouble that we handle."""
    with warnings.catch_warnings():
        for category in (
            BotorchWarning,
            GPInputWarning,
            NumericalWarning,
            LinearOperatorWarning,
        ):
            warnings.simplefilter("ignore", category)
        yield
