"""Tables and figures of what is recorded of several agents.

Notation: M_t a metric after t rounds, T rounds in all. Its growth exponent over the
last half is log₂(M_T / M_{T/2}): 1 if it grows linearly, ½ as √t, 0 if it has stopped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from wideopt.bench.dmabo.figure import save_bands, save_path
from wideopt.bench.dmabo.runs import load
from wideopt.bench.record import Record
from wideopt.bench.tables import markdown

__all__ = ["exponent", "write_report"]

Array = NDArray[np.float64]
Runs = Mapping[str, Sequence[Record]]

_N_DRAWS = 2000
_N_FEW = 5  # instances, of which fewer have no statistics
_TITLES = {
    "gp": "Sampled from Gaussian processes (figure 1)",
    "power": "Power allocation (figure 2)",
    "oscillation": "The oscillation of appendix B",
    "platoon": "One speed for a platoon",
    "demand": "Demand response of 20 buildings",
}


def write_report(results: Path, output: Path) -> list[Path]:
    """Write `dmabo.md` and its figures; returns the files."""
    output.mkdir(parents=True, exist_ok=True)
    parts, files = ["# Several agents\n"], []
    for task, title in _TITLES.items():
        runs = _loaded(results / "dmabo" / task)
        if not runs:
            continue
        figure = output / f"dmabo-{task}.png"
        table = _SECTIONS[task](runs, figure)
        parts += [f"## {title}\n", _sizes(runs), table, f"![{title}]({figure.name})\n"]
        files.append(figure)
    page = output / "dmabo.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    return [page, *files]


def _loaded(folder: Path) -> dict[str, list[Record]]:
    """The records of each method, of the seeds that all of them have."""
    found: dict[str, dict[int, Record]] = defaultdict(dict)
    for path in sorted(folder.glob("*/*.json")):
        record = load(path)
        if record is not None:
            found[record["method"]][record["seed"]] = record
    shared = set.intersection(*(set(of) for of in found.values())) if found else set()
    order = sorted(found, key=lambda method: (method != "dmabo", method))
    return {m: [found[m][s] for s in sorted(shared)] for m in order} if shared else {}


def _sizes(runs: Runs) -> str:
    one = next(iter(runs.values()))
    return (
        f"{len(one)} instance(s), {one[0]['n_agents']} agent(s), {one[0]['n_rounds']} "
        "rounds.\n"
    )


def _curves(runs: Sequence[Record], name: str) -> Array:
    return np.array([record[name] for record in runs], dtype=np.float64)


def exponent(curves: Array) -> tuple[float, float, float]:
    """Growth exponent of the mean curve, with a 95% interval over instances.

    NaN where the mean is not positive: then it has no growth to speak of.
    """
    half = curves.shape[1] // 2 - 1
    rng = np.random.default_rng(0)
    rows = rng.integers(len(curves), size=(_N_DRAWS, len(curves)))
    ends = np.stack([curves[:, half], curves[:, -1]], axis=1)

    def growth(means: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where((means > 0).all(-1), means[..., 1] / means[..., 0], np.nan)
            return np.asarray(np.log2(ratio))

    value = float(growth(ends.mean(axis=0)))
    draws = growth(ends[rows].mean(axis=1))
    known = draws[np.isfinite(draws)]
    if known.size < 0.5 * _N_DRAWS:
        return value, np.nan, np.nan
    low, high = np.quantile(known, [0.025, 0.975])
    return value, float(low), float(high)


def _growth_text(curves: Array) -> str:
    value, low, high = exponent(curves)
    if np.isnan(value):
        return "none, the mean is not above 0"
    if len(curves) < _N_FEW:
        return f"{value:.2f}"
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def _slowing(curves: Array) -> str:
    """In how many instances less was added in the second half; sign test."""
    half = curves.shape[1] // 2 - 1
    early, late = curves[:, half], curves[:, -1] - curves[:, half]
    n_less, n_more = int((late < early).sum()), int((late > early).sum())
    if n_less + n_more < _N_FEW:
        return f"{n_less} of {n_less + n_more}"
    p = binomtest(n_less, n_less + n_more, alternative="greater").pvalue
    return f"{n_less} of {n_less + n_more} (p = {p:.2g})"


def _growth_section(runs: Runs, figure: Path) -> str:
    names = {"R": "R", "V": "V", "V_plus": "V⁺"}
    save_bands(
        {title: {m: _curves(r, key) for m, r in runs.items()}
         for key, title in names.items()},
        figure,
    )  # fmt: skip
    rows = [
        [
            method,
            title,
            f"{_curves(records, key)[:, -1].mean():.2f}",
            f"{np.median(_curves(records, key)[:, -1]):.2f}",
            _growth_text(_curves(records, key)),
            _slowing(_curves(records, key)),
        ]
        for key, title in names.items()
        for method, records in runs.items()
    ]
    header = ["method", "metric", "mean at T", "median at T"]
    header += ["growth exponent (95%)", "slower in the second half"]
    return markdown(header, rows) + "\n"


def _deviation(records: Sequence[Record]) -> Array:
    """(instances, rounds): ‖Σ A x - b‖ of each round."""
    return np.asarray(np.linalg.norm(_curves(records, "shifts"), axis=-1))


def _affine_section(runs: Runs, figure: Path) -> str:
    t = np.arange(1, _curves(runs["dmabo"], "S").shape[1] + 1)
    save_bands(
        {
            "average objective": {m: _objective(r, t) for m, r in runs.items()},
            "S": {m: _curves(r, "S") for m, r in runs.items()},
            "deviation of a round": {m: _deviation(r) for m, r in runs.items()},
        },
        figure,
    )
    ours = _objective(runs["dmabo"], t)[:, -1]
    rows = []
    for method, records in runs.items():
        mean = _objective(records, t)[:, -1]
        gain = (mean - ours) / np.abs(mean)
        rows.append(
            [
                method,
                f"{mean.mean():.3f}",
                "" if method == "dmabo" else f"{100 * gain.mean():.1f}%",
                f"{_late_objective(records).mean():.3f}",
                f"{_curves(records, 'S')[:, -1].mean():.3f}",
                f"{_deviation(records).mean():.4f}",
                f"{_deviation(records)[:, -10:].mean():.4f}",
            ]
        )
    optimum = np.mean([record["optimum"] for record in runs["dmabo"]])
    rows.append(["optimum", f"{optimum:.3f}", "", f"{optimum:.3f}", "0", "0", "0"])
    header = ["method", "average objective", "dmabo is lower by"]
    header += ["objective of the last 10", "S at T"]
    header += ["mean deviation of a round", "of the last 10"]
    return markdown(header, rows) + "\n"


def _late_objective(records: Sequence[Record]) -> Array:
    """The mean objective of the last rounds, at most 10, of each instance."""
    R = _curves(records, "R")
    n = min(10, R.shape[1] - 1)
    optimum = np.array([record["optimum"] for record in records])
    return np.asarray((R[:, -1] - R[:, -1 - n]) / n + optimum)


def _objective(records: Sequence[Record], t: NDArray[np.int64]) -> Array:
    optimum = np.array([[record["optimum"]] for record in records])
    return np.asarray(_curves(records, "R") / t + optimum)


def _oscillation_section(runs: Runs, figure: Path) -> str:
    record = runs["dmabo"][0]
    x, T = np.array(record["x"][0]), record["n_rounds"]
    save_path(x, np.array(record["price"])[:, 0], figure)
    rows = [
        ["rounds at x = 1", f"{np.mean(x == 1):.3f}", "1/3"],
        ["rounds at x = 0, the optimum", f"{np.mean(x == 0):.3f}", "0"],
        ["price at the end", f"{record['price'][-1][0]:.3f}", "about 2/3"],
        ["V / T", f"{record['V'][-1] / T:.3f}", "to 0"],
        ["V⁺ / T", f"{record['V_plus'][-1] / T:.3f}", "2/3"],
    ]
    return markdown(["", "found", "appendix B"], rows) + "\n"


_SECTIONS: dict[str, Callable[[Any, Path], str]] = {
    "gp": _growth_section,
    "demand": _growth_section,
    "power": _affine_section,
    "platoon": _affine_section,
    "oscillation": _oscillation_section,
}
