"""The commands `wideopt bench SUITE`, `wideopt bench report`, `wideopt bench list`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from wideopt.bench import Contender, Suite

__all__ = ["bench"]

_RESULTS = Path("benchmarks/results")
_REPORT = Path("benchmarks/report")


class _RunByDefault(TyperGroup):
    """`bench SUITE` is `bench run SUITE`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = ["run", *args]
        return super().resolve_command(ctx, args)


bench = typer.Typer(
    name="bench",
    help="Compare methods: `bench SUITE` runs, `bench report` writes up.",
    cls=_RunByDefault,
    no_args_is_help=True,
)

Results = Annotated[Path, typer.Option(help="Folder of the records.")]


@bench.command(name="run")
def run_command(
    suite: Annotated[str, typer.Argument(help="A suite of `wideopt bench list`.")],
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME or NAME\\[option=value,...]; several by commas or repetition. "
            "By default those of the suite.",
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(help="Some of the suite's tasks; by default all."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds 0, ..., K - 1 of each task.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 1,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="A small size that takes seconds a run.")
    ] = False,
    results: Results = _RESULTS,
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="Stop a run after this time.")
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(help="Instead of the tasks' own: none, paper, sd:S or range:S."),
    ] = None,
) -> None:
    """Run what is not recorded yet; repeat the command to resume."""
    from wideopt.bench import get
    from wideopt.bench.progress import Progress
    from wideopt.bench.runner import jobs_of, run_jobs, unsettled

    chosen = get(suite)
    wanted = jobs_of(
        chosen,
        _contenders(chosen, methods),
        range(seeds or (2 if smoke else chosen.n_seeds)),
        results,
        tasks=[name for text in tasks or [] for name in text.split(",")],
        is_smoke=smoke,
        noise=noise,
        max_seconds=max_seconds,
    )
    to_do = unsettled(wanted)
    print(f"{len(wanted)} runs, {len(wanted) - len(to_do)} recorded before")
    progress = Progress(len(to_do))
    try:
        with progress.shown():
            counts = run_jobs(to_do, jobs, progress.start, progress.end)
    except KeyboardInterrupt:
        print("interrupted; the same command resumes", file=sys.stderr)
        raise typer.Exit(130) from None
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "done")
    if set(counts) & {"failed", "killed"}:
        raise typer.Exit(1)


def _contenders(suite: Suite, texts: list[str] | None) -> list[Contender]:
    """What was asked for; by default those of the suite's methods that exist."""
    from wideopt.bench import parse
    from wideopt.bench.contender import parse_all
    from wideopt.exceptions import InputError

    if texts:
        return parse_all(texts)
    found = []
    for text in suite.methods:
        try:
            found.append(parse(text))
        except InputError:
            print(f"skipped: {text} is not a method of this version", file=sys.stderr)
    return found


@bench.command()
def report(
    suite: Annotated[
        str | None, typer.Argument(help="A suite; by default all with records.")
    ] = None,
    results: Results = _RESULTS,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of tables and figures.")
    ] = _REPORT,
    reference: Annotated[
        str | None,
        typer.Option(help="The method that tests compare with all others."),
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="The records of the smoke size.")
    ] = False,
) -> None:
    """Write tables and figures of what is recorded."""
    from wideopt.bench import get
    from wideopt.bench.report import write_reports

    folder = None if suite is None else get(suite).folder(smoke)
    for path in write_reports(results, output, suite=folder, reference=reference):
        print(path)


@bench.command(name="list")
def list_command() -> None:
    """List the suites and the peers."""
    from wideopt.bench import every_suite
    from wideopt.bench.contender import PEERS

    for name, suite in every_suite().items():
        print(f"{name:<20}  {suite.title} ({len(suite.full)} tasks)")
    print()
    for name, peer in PEERS.items():
        print(f"{'peer:' + name:<20}  {peer.summary}")


@bench.command()
def dmabo(
    tasks: Annotated[
        list[str] | None,
        typer.Option(help="gp, power, oscillation, platoon, demand; by default all."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="At most so many instances of each.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=2, help="Rounds, instead of the tasks' own.")
    ] = None,
    results: Results = _RESULTS,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of tables and figures.")
    ] = _REPORT,
) -> None:
    """Several agents: run what is not recorded yet, then write tables and figures."""
    import torch

    from wideopt.bench.dmabo.report import write_report
    from wideopt.bench.dmabo.runs import chosen_tasks, run_all

    torch.set_num_threads(1)
    chosen = chosen_tasks([name for text in tasks or [] for name in text.split(",")])
    try:
        for name, record in run_all(chosen, results, n_seeds=seeds, n_rounds=rounds):
            if record is not None:
                print(f"{name}: {record['seconds']['cpu']:.1f} s", flush=True)
    except KeyboardInterrupt:
        print("interrupted; the same command resumes", file=sys.stderr)
    for path in write_report(results, output):
        print(path)
