"""Detection rates of the samples that recorded runs found (004, figure 3).

The paper does not say where several samples come from. Here, in two tables: the best
images of different runs, one each, averaged over all choices of runs; and the best
images of one run, averaged over runs. Images at random and digits of the test set,
averaged over choices, show what can be had without a search. With constraints, only
feasible images count (000, section 5.5); a run without one detects nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from wideopt.bench.applications import sensitive_samples as samples
from wideopt.bench.figures import save_lines
from wideopt.bench.run_data import Run, padded
from wideopt.bench.tables import markdown

__all__ = ["best_images", "detection_section"]

_N_SAMPLES = 10
_N_REFERENCE = 50  # images of each kind without search


def best_images(run: Run, n: int) -> Tensor:
    """The n most sensitive distinct feasible images of a run, best first, 28 x 28."""
    order = np.argsort(run.Y, kind="stable")
    good = (i for i in order if run.violation[i] == 0)
    distinct = dict.fromkeys(tuple(run.X[i]) for i in good)
    images = torch.tensor(list(distinct)[:n], dtype=torch.float64)
    return samples.upscaled(images.reshape(-1, samples.SIDE**2))


def detection_section(
    runs: Sequence[Run], folder: Path, n_tampered: int = samples.N_TAMPERED
) -> str:
    """Tables and figures of the detection rate against the number of samples."""
    done = [run for run in runs if len(run.Y)]
    plain = _without_search()
    images = [*(best_images(run, _N_SAMPLES) for run in done), *plain.values()]
    # all at once, since making the tampered copies is what takes long
    detects = samples.changed_labels(torch.cat(images), n_tampered)
    parts = list(detects.split([len(some) for some in images]))
    reference = {
        name: samples.any_of_subset(part).tolist()[:_N_SAMPLES]
        for name, part in zip(plain, parts[len(done) :], strict=True)
    }
    by_method: dict[str, list[Tensor]] = {}
    for run, part in zip(done, parts[: len(done)], strict=True):
        found = part if len(part) else part.new_zeros(1, n_tampered)
        by_method.setdefault(run.method, []).append(found)
    across = {m: _rates_across(of) for m, of in by_method.items()}
    within = {m: _rates_within(of) for m, of in by_method.items()}
    return "\n\n".join(
        [
            f"## Detection of tampering\n\nThe share of {n_tampered} tampered "
            "classifiers that give one of N samples another label than the original.",
            "### Samples of N runs, the best of each",
            _shown(across | reference, folder, "across"),
            "### The N best samples of one run",
            _shown(within | reference, folder, "within"),
        ]
    )


def _without_search() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (_N_REFERENCE, samples.SIDE**2)
    noise = torch.rand(shape, generator=generator, dtype=torch.float64)
    return {
        "(images at random)": samples.upscaled(noise),
        "(digits of the test set)": samples.load_digits().X_test[:_N_REFERENCE],
    }


def _rates_across(detects: Sequence[Tensor]) -> list[float]:
    """Rates of 1, 2, ... samples, each the best of another run."""
    best = torch.stack([of_run[0] for of_run in detects])
    rates: list[float] = samples.any_of_subset(best).tolist()
    return rates[:_N_SAMPLES]


def _rates_within(detects: Sequence[Tensor]) -> list[float]:
    """Rates of the 1, 2, ... best samples of a run, the mean over runs.

    A run with fewer samples than another has all of them in every larger number.
    """
    n = max(len(of_run) for of_run in detects)
    rates = [samples.any_of_first(of_run).numpy() for of_run in detects]
    mean: list[float] = padded(rates, n).mean(axis=0).tolist()
    return mean


def _shown(curves: Mapping[str, Sequence[float]], folder: Path, name: str) -> str:
    """The curves as a table and a figure."""
    path = folder / f"detection-{name}.png"
    save_lines(
        {method: (range(1, len(r) + 1), r) for method, r in curves.items()},
        path,
        labels=("number of samples", "detection rate"),
    )
    n = max(map(len, curves.values()))
    rows = [
        [method, *(f"{rate:.3f}" for rate in r), *["-"] * (n - len(r))]
        for method, r in curves.items()
    ]
    table = markdown(["method", *(f"N = {i}" for i in range(1, n + 1))], rows)
    return f"{table}\n\n![detection rate]({folder.name}/{path.name})"
