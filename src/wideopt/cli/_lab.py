"""Commands of a campaign by hand: `new`, `suggest`, `tell`, `import`, `export`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wideopt.exceptions import InputError

if TYPE_CHECKING:
    from wideopt.run._evaluate import Job
    from wideopt.run.campaigns import Lab

__all__ = ["add_commands"]

Study = Annotated[
    str,
    typer.Argument(
        help="The space file FILE.json, or a storage: FILE.db or a URL.",
        show_default=False,
    ),
]
Name = Annotated[
    str | None, typer.Option("--study", help="Name of the study in the storage.")
]


def add_commands(app: typer.Typer) -> None:
    """Make the commands known."""
    app.command()(new)
    app.command()(suggest)
    app.command()(tell)
    app.command(name="import")(import_command)
    app.command(name="export")(export)


def new(
    file: Annotated[Path, typer.Argument(help="The space file to write: FILE.json.")],
) -> None:
    """Write the space file of a new campaign, by asking."""
    from wideopt.cli._questions import ask_plan

    if file.suffix != ".json":
        raise InputError(f"A space file ends in .json, but got {str(file)!r}.")
    if file.exists():
        raise InputError(f"{file} exists already; use another name.")
    ask_plan().write(file)
    print(f"written: {file}")
    print(f"next: wideopt suggest {file}")


def _lab(study: str, name: str | None) -> Lab:
    from wideopt.run.campaigns import Lab

    return Lab.open(study, name)


def suggest(
    study: Study,
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 1,
    only_open: Annotated[
        bool, typer.Option("--open", help="Show what is open; suggest nothing new.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--csv", help="Write a table to be filled in, for `import`."),
    ] = None,
    name: Name = None,
) -> None:
    """Suggest what to try next. It stays open until it is told."""
    lab = _lab(study, name)
    jobs = lab.open_jobs() if only_open else lab.suggest(n)
    if not jobs:
        print("nothing is open" if only_open else "every config has been suggested")
    for job in jobs:
        print(f"trial={job.number}  {_text(lab, job)}")
    if output is not None:
        outcomes = ("y", *lab.constraints)
        header = ["trial", *lab.space.names, *outcomes]
        rows = [[job.number, *_values(lab, job.config)] for job in jobs]
        _write(output, [header, *([*row, *("" for _ in outcomes)] for row in rows)])


def tell(
    study: Study,
    items: Annotated[
        list[str],
        typer.Argument(
            help="trial=NUMBER, or NAME=VALUE of every parameter; y=VALUE or y=failed; "
            "NAME=VALUE of every constraint, or c=VALUE,VALUE,...",
        ),
    ],
    name: Name = None,
) -> None:
    """Tell what came out of a trial."""
    lab = _lab(study, name)
    pairs = [item.partition("=") for item in items]
    for item, (_, equals, _) in zip(items, pairs, strict=True):
        if not equals:
            raise InputError(f"{item!r} is not of the form NAME=VALUE.")
    number = _tell_row(lab, {key.strip(): text.strip() for key, _, text in pairs})
    if number is None:
        raise InputError("y is missing: give y=VALUE, or y=failed.")
    print(f"told: trial {number}")
    print(lab.result())


def import_command(
    study: Study,
    file: Annotated[Path, typer.Argument(help="A CSV file with a line of names.")],
    name: Name = None,
) -> None:
    """Tell the rows of a table; rows whose y is empty are left for later."""
    lab = _lab(study, name)
    done = {number for number, _ in lab.finished()}
    n_skipped = 0
    rows: list[dict[str, str]] = []
    for line, row in _read(file):
        if row.get("trial", "").isdigit() and int(row["trial"]) in done:
            n_skipped += 1
            continue
        try:
            if _parsed(lab, row) is not None:
                rows.append(row)
        except InputError as error:
            raise InputError(f"{file}, line {line}: {error}") from None
    for row in rows:  # only when all of them are known to be right
        _tell_row(lab, row)
    print(f"told: {len(rows)} trials; known before: {n_skipped}")
    print(lab.result())


def export(
    study: Study,
    file: Annotated[
        Path | None, typer.Argument(help="The CSV file; by default the screen.")
    ] = None,
    name: Name = None,
) -> None:
    """Write all trials that were told as a table."""
    lab = _lab(study, name)
    ends = ("state", "seconds", "error")
    header = ["trial", *lab.space.names, "y", *lab.constraints, *ends]
    rows = []
    for number, trial in lab.finished():
        c = trial.c or ("",) * len(lab.constraints)
        end = [trial.state, trial.seconds, trial.error]
        rows.append([number, *_values(lab, trial.x), trial.y, *c, *end])
    _write(file, [header, *([_cell(v) for v in row] for row in rows)])


def _tell_row(lab: Lab, row: dict[str, str]) -> int | None:
    """Tell one row; None if it has no outcome yet."""
    parsed = _parsed(lab, row)
    return None if parsed is None else lab.tell(*parsed)


def _parsed(
    lab: Lab, row: dict[str, str]
) -> tuple[Job | Any, float | None, list[float], str] | None:
    """Where, y, constraints and error of a row, checked; None if y is empty."""
    from wideopt.run.campaigns import RESERVED

    known = {*lab.space.names, *lab.constraints, *RESERVED}
    for key in row:
        if key not in known:
            raise InputError(
                f"There is no parameter or constraint {key!r}; there are "
                f"{', '.join([*lab.space.names, *lab.constraints])}."
            )
    is_failed = "failed" in (row.get("y"), row.get("state"))
    if not row.get("y") and not is_failed:
        return None
    where = _where(lab, row)
    if is_failed:
        return where, None, [], row.get("error") or "reported as failed"
    y = _number("y", row["y"])
    if row.get("c"):
        c = [_number("c", text) for text in row["c"].split(",")]
    else:
        c = [_number(key, row.get(key) or "nan") for key in lab.constraints]
    lab.check(y, c)
    return where, y, c, ""


def _where(lab: Lab, row: dict[str, str]) -> Any:
    """The open trial, or the config, that a row is about."""
    if row.get("trial"):
        if not row["trial"].isdigit():
            raise InputError(f"trial must be a number, but got {row['trial']!r}.")
        given = [name for name in lab.space.names if row.get(name)]
        number = int(row["trial"])
        if not given or number in {job.number for job in lab.open_jobs()}:
            return lab.job(number)
    missing = [name for name in lab.space.names if not row.get(name)]
    if missing:
        raise InputError(
            f"The value of {', '.join(missing)} is missing; give every parameter, or "
            "the number of an open trial as trial=NUMBER."
        )
    from wideopt.space import Categorical

    values = []
    for name, parameter in zip(lab.space.names, lab.space.parameters, strict=True):
        if isinstance(parameter, Categorical):
            values.append(_choice(name, parameter.choices, row[name]))
        else:
            values.append(_number(name, row[name]))
    config = dict(zip(lab.space.names, values, strict=True))
    point = config if lab.space.is_named else values
    return lab.space.config(lab.space.values(point))


def _choice(name: str, choices: Iterable[Any], text: str) -> Any:
    for choice in choices:
        if str(choice) == text:
            return choice
    raise InputError(
        f"Parameter {name} is {text!r}, not one of {', '.join(map(str, choices))}."
    )


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, but got {text!r}.") from None


def _values(lab: Lab, config: Any) -> list[Any]:
    return list(config.values()) if lab.space.is_named else list(config)


def _text(lab: Lab, job: Job) -> str:
    pairs = zip(lab.space.names, _values(lab, job.config), strict=True)
    return "  ".join(f"{name}={_cell(value)}" for name, value in pairs)


def _cell(value: Any) -> str:
    """A value as text that reads back as the same value."""
    if isinstance(value, float):
        return repr(float(value))
    return "" if value is None else str(value)


def _read(file: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read as CSV: {error}.") from None
    if not rows:
        raise InputError(f"{file} has no rows below its line of names.")
    for i, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise InputError(f"{file}, line {i}: not as many values as names.")
    return [
        (i, {key.strip(): text.strip() for key, text in row.items()})
        for i, row in enumerate(rows, start=2)
    ]


def _write(file: Path | None, rows: list[list[Any]]) -> None:
    if file is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
        return
    try:
        with file.open("w", encoding="utf-8", newline="") as lines:
            csv.writer(lines).writerows(rows)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}.") from None
    print(f"written: {file}")
