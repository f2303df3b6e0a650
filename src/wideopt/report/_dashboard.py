"""The figures of the report, kept in the study for Optuna's dashboard to show."""

from __future__ import annotations

import warnings
from typing import Any

from optuna.exceptions import ExperimentalWarning
from optuna_dashboard import save_plotly_graph_object

from wideopt.report._page import sections
from wideopt.report._snapshot import Snapshot
from wideopt.run.campaigns import Lab

__all__ = ["attach"]

_KEYS = ("slices", "importance", "calibration", "coverage", "seconds")


def attach(study: str, name: str | None = None) -> Any:
    """Put what Optuna's own figures do not show into the study; gives its storage."""
    record = Lab.open(study, name).record
    for section in sections(Snapshot.of(study, name)):
        if section.key in _KEYS:
            figure = section.figure
            figure.update_layout(title=section.title)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                save_plotly_graph_object(
                    record.study, figure, graph_object_id=f"wideopt-{section.key}"
                )
    return record.storage
