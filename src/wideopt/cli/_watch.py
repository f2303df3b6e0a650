"""Commands that show a study: `report` and `dashboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wideopt.cli._lab import Name, Study
from wideopt.exceptions import WideoptError

__all__ = ["add_commands"]


def add_commands(app: typer.Typer) -> None:
    """Make the commands known."""
    app.command()(report)
    app.command()(dashboard)


def report(
    study: Study,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The HTML file to write.")
    ] = Path("report.html"),
    name: Name = None,
) -> None:
    """Write a page on how a study goes: one file, to be opened in a browser."""
    try:
        from wideopt.report import write_report
    except ImportError:
        raise _needs("plotly", "report") from None
    snapshot = write_report(study, output, name)
    print(f"written: {output} ({len(snapshot.trials)} trials)")


def dashboard(
    study: Study,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="On this machine.")
    ] = 8080,
    name: Name = None,
) -> None:
    """Show a study in Optuna's dashboard, for this machine only, with our figures."""
    try:
        from optuna_dashboard import run_server

        from wideopt.report._dashboard import attach
    except ImportError:
        raise _needs("optuna-dashboard", "dashboard,report") from None
    storage = attach(study, name)
    print(f"http://127.0.0.1:{port}/ (Ctrl-C ends it)", flush=True)
    run_server(storage, host="127.0.0.1", port=port)


def _needs(package: str, extra: str) -> WideoptError:
    return WideoptError(
        f'This needs {package}; install it with pip install "wideopt[{extra}]".'
    )
