"""Commands. What is heavy is imported inside a command, so that `--help` is quick."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from wideopt import __version__
from wideopt.cli import _lab, _watch
from wideopt.cli._bench import bench
from wideopt.exceptions import WideoptError

__all__ = ["main"]

app = typer.Typer(
    name="wideopt",
    help="Find the optimum of expensive black boxes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(bench)


def main() -> None:
    """Entry point: what we have to say is one line each on standard error.

    Errors of ours end the program with exit code 1.
    """
    warnings.formatwarning = _format_warning
    try:
        app()
    except WideoptError as error:
        print(f"wideopt: {error}", file=sys.stderr)
        sys.exit(1)


def _format_warning(message: Warning | str, *_: object, **__: object) -> str:
    return f"wideopt: warning: {message}\n"


def _show_version(is_wanted: bool) -> bool:
    if is_wanted:
        print(f"wideopt {__version__}")
        raise typer.Exit
    return is_wanted


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    pass


@app.command()
def run(
    target: Annotated[
        str,
        typer.Argument(
            help="FILE.py[:name], a file with a function (default: fun) and its "
            "`space`; or a PROBLEM of `wideopt problems`.",
        ),
    ],
    method: Annotated[str, typer.Option(help="See `wideopt methods`.")] = "auto",
    n_evals: Annotated[
        int, typer.Option(min=1, help="Evaluations, with those already stored.")
    ] = 100,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed gives the same run.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="Storage URL, e.g. sqlite:///run.db; again to resume."),
    ] = None,
    study: Annotated[
        str | None, typer.Option(help="Name of the study in the storage.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Evaluations at a time.")] = 1,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Find the maximum instead.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Save a plot of the run as PNG, SVG or PDF.")
    ] = None,
) -> None:
    """Optimize a function of yours, or a problem that comes with wideopt."""
    from wideopt.cli._target import load

    fun, space, optimum = load(target)
    import wideopt as wo

    optimize = wo.maximize if maximize else wo.minimize
    result = optimize(
        fun,
        space,
        method=method,
        n_evals=n_evals,
        seed=seed,
        storage=storage,
        study_name=study,
        n_workers=workers,
    )
    print(result)
    if optimum is not None:
        print(f"{'known optimum':>16}: {optimum:.10g}")
    if plot is not None:
        _save_plot(result, plot)
    if result.x is None:
        sys.exit(1)


def _save_plot(result: Any, path: Path) -> None:
    figure = result.plot().figure
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise WideoptError(f"The plot cannot be saved to {path}: {error}.") from None
    print(f"{'plot':>16}: {path}")


@app.command()
def methods() -> None:
    """List the methods."""
    from wideopt.methods.catalog import summaries

    _list(summaries())


@app.command()
def problems() -> None:
    """List the problems that come with wideopt (D stands for a dimension)."""
    from wideopt.problems import names

    _list(names())


_lab.add_commands(app)
_watch.add_commands(app)


def _list(lines: dict[str, str]) -> None:
    width = max(map(len, lines))
    for name, line in lines.items():
        print(f"{name:<{width}}  {line}")
