"""The page: everything in one file, nothing fetched when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from wideopt.exceptions import InputError
from wideopt.report import _figures
from wideopt.report._model import Surrogate
from wideopt.report._snapshot import Snapshot

__all__ = ["Section", "sections", "write_report"]

_MAX_SLICES = 12
_MAX_ROWS = 50
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 1000px;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; } p.note { color: #666; font-size: 0.9rem; }
td, th { border-bottom: 1px solid #ddd; padding: 0.25rem 0.8rem; text-align: left; }
.wide { overflow-x: auto; }
"""


@dataclass(frozen=True)
class Section:
    """A heading, a figure if there is one, and a sentence on how to read it."""

    key: str
    title: str
    figure: Any
    note: str


def sections(snapshot: Snapshot) -> list[Section]:
    """The sections that this study has the data for."""
    found = [
        Section(
            "progress",
            "Progress",
            _figures.progress(snapshot),
            "Dotted red lines are evaluations that failed.",
        ),
        Section(
            "feasibility",
            "Feasibility",
            _figures.feasibility(snapshot),
            "A constraint is satisfied at 0 and below. Values beyond 5 are cut.",
        ),
        Section(
            "parallel",
            "All parameters",
            _figures.parallel(snapshot),
            "One line for each evaluation; drag along an axis to select.",
        ),
        *_of_model(snapshot),
        Section(
            "seconds",
            "Time",
            _figures.seconds(snapshot),
            "How long each suggestion and each evaluation took.",
        ),
    ]
    return [section for section in found if section.figure is not None]


def _of_model(snapshot: Snapshot) -> list[Section]:
    model = Surrogate.of(snapshot)
    best = snapshot.best
    if model is None or best is None:
        return []
    shares = model.importance()
    order = [name for name, _ in shares]
    point = snapshot.space.encode(snapshot.values(best[1]))
    lines = sorted(model.slices(point), key=lambda s: order.index(s.name))
    checked = model.calibration()
    inside = f"{checked.coverage(0.95):.0%}"
    return [
        Section(
            "slices",
            "The model through the best point",
            _figures.slices(lines[:_MAX_SLICES]),
            "What the surrogate expects along one parameter, the others as in the best "
            "trial, with a 95% band.",
        ),
        Section(
            "importance",
            "Importance of the parameters",
            _figures.importance(shares),
            "Total-effect indices of the surrogate over the whole space: 0 for a "
            "parameter that makes no difference.",
        ),
        Section(
            "calibration",
            "Predicted against observed",
            _figures.calibration(checked),
            "Each observation is predicted from nine tenths of the others; the 95% "
            f"intervals hold {inside} of them.",
        ),
        Section(
            "coverage",
            "Calibration",
            _figures.coverage(checked),
            "Above the diagonal the model is too careful, below it is too sure.",
        ),
    ]


def write_report(study: str, path: Path, name: str | None = None) -> Snapshot:
    """Write the report of a study as one HTML file; gives what it is about."""
    snapshot = Snapshot.of(study, name)
    text = _page(snapshot)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
    return snapshot


def _page(snapshot: Snapshot) -> str:
    body = [f"<h1>{escape(snapshot.name)}</h1>", _summary(snapshot)]
    for section in sections(snapshot):
        figure = section.figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=f"figure-{section.key}",
            config={"displayModeBar": False, "responsive": True},
        )
        body += [
            f"<h2>{escape(section.title)}</h2>{figure}",
            f'<p class="note">{escape(section.note)}</p>',
        ]
    body.append(_failures(snapshot))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(snapshot.name)} - wideopt</title><style>{_STYLE}</style>"
        f"<script>{get_plotlyjs()}</script></head><body>{''.join(body)}</body></html>\n"
    )


def _summary(snapshot: Snapshot) -> str:
    best = snapshot.best
    rows = [
        ("goal", snapshot.goal),
        ("method", snapshot.method),
        ("evaluations", f"{len(snapshot.trials)}, {len(snapshot.failed)} failed"),
        ("under way", str(snapshot.n_open)),
    ]
    if best is not None:
        number, trial = best
        word = "" if trial.is_feasible else " (not feasible)"
        rows.append(("best objective", f"{trial.y:.8g}{word}, trial {number}"))
        values = zip(snapshot.space.names, snapshot.values(trial), strict=True)
        rows += [(name, _text(value)) for name, value in values]
        rows += [
            (name, _text(value))
            for name, value in zip(snapshot.constraints, trial.c or (), strict=False)
        ]
    return _table(rows)


def _failures(snapshot: Snapshot) -> str:
    failed = snapshot.failed
    if not failed:
        return "<h2>Failures</h2><p>None.</p>"
    header = ("trial", *snapshot.space.names, "error")
    rows = [
        (str(n), *map(_text, snapshot.values(t)), t.error or "")
        for n, t in failed[-_MAX_ROWS:]
    ]
    note = f"{len(failed)} of {len(snapshot.trials)} evaluations failed."
    return (
        f'<h2>Failures</h2><p>{note}</p><div class="wide">{_table(rows, header)}</div>'
    )


def _table(rows: Sequence[tuple[str, ...]], header: tuple[str, ...] = ()) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    lines = [
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>"
        for row in rows
    ]
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
