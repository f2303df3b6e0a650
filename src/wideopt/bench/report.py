"""Reports: the records of a suite as Markdown tables and PNG figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wideopt.bench.figures import save_convergence, save_times
from wideopt.bench.run_data import Run, by_task, group, load_runs
from wideopt.bench.suite import SMOKE, Suite, every_suite
from wideopt.bench.tables import (
    cost_table,
    normality_table,
    rank_table,
    task_table,
    test_table,
)
from wideopt.bench.twins import borrowed_runs
from wideopt.exceptions import InputError

__all__ = ["write_report", "write_reports"]

_ABOUT_TESTS = """\
Does the reference **{reference}** reach lower values? One-sided Welch t-tests over
seeds; H0: μ_other <= μ_reference, Ha: μ_other > μ_reference. Each cell: (p, verdict),
where T rejects H0 at a false discovery rate of 5% (Benjamini and Hochberg over the
whole table), B says that the reference is behind, by the opposite tests, corrected
likewise, and F that neither can be said."""

_ABOUT_KS = """\
Kolmogorov-Smirnov p of normality, mean and sd from the sample (so p is too large:
small values speak against the t-test, large ones prove nothing)."""

_ABOUT_CONSTRAINED = """\
Judge by the *feasible* regret, scaled by the objective's range over the box: the
papers' headline, log10 min([f - f*]⁺ + Σ[c]⁺), credits points whose violation is small
in its own units. `feasible` counts the seeds with a feasible point."""


def write_reports(
    results: Path,
    out: Path,
    *,
    suite: str | None = None,
    reference: str | None = None,
) -> list[Path]:
    """The reports of one suite, or of every suite that has results."""
    if suite is None:
        folders = sorted(path for path in results.glob("*") if path.is_dir())
    else:
        folders = [results / suite]
    found = {folder.name: _runs(folder) for folder in folders}
    found = {name: runs for name, runs in found.items() if runs}
    if not found:
        raise InputError(f"There are no records in {' or '.join(map(str, folders))}.")
    return [
        write_report(runs, _suite(name), name, out, reference)
        for name, runs in found.items()
    ]


def _runs(folder: Path) -> list[Run]:
    """The records of a folder, and those of other suites that count here, too."""
    own, suite = load_runs(folder), every_suite().get(folder.name)
    if not own or suite is None:
        return own
    borrowed = borrowed_runs(suite, folder.parent, own)
    return sorted(own + borrowed, key=lambda run: (run.task, run.method, run.seed))


def _suite(folder: str) -> Suite | None:
    return every_suite().get(folder.removesuffix(SMOKE))


def write_report(
    runs: Sequence[Run],
    suite: Suite | None,
    name: str,
    out: Path,
    reference: str | None = None,
) -> Path:
    """Write NAME.md with its figures in a folder NAME; the path of the former."""
    figures = out / name
    figures.mkdir(parents=True, exist_ok=True)
    base = _reference(runs, suite, reference)
    parts = [_heading(runs, suite, name)]
    if suite is not None and suite.section is not None:
        parts.append(suite.section(runs, figures))
    parts.append("## Mean ranks\n\n" + _ABOUT_RANKS + "\n\n" + rank_table(runs))
    if suite is None or suite.is_per_task:
        parts += [*_tests(runs, base), *_tasks(runs, figures)]
    save_times(runs, figures / "time.png")
    parts.append(
        "## Cost\n\nCPU seconds per suggestion (ask and tell) with n observations, "
        "median over tasks and seeds; median of a whole run; highest peak memory of "
        "the process, libraries included.\n\n"
        f"{cost_table(runs)}\n\n![time per suggestion]({name}/time.png)"
    )
    path = out / f"{name}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


_ABOUT_RANKS = """\
By final true value; over seeds, then over tasks; 1 is best. A run without a feasible
point ranks behind every run with one, by its least violation."""


def _reference(runs: Sequence[Run], suite: Suite | None, wanted: str | None) -> str:
    methods = list(group(runs, "method"))
    if wanted is not None and wanted not in methods:
        raise InputError(
            f"There are no runs of the reference {wanted!r}, only of "
            f"{', '.join(methods)}."
        )
    if wanted is not None:
        return wanted
    usual = suite.reference if suite is not None else methods[0]
    return usual if usual in methods else methods[0]


def _heading(runs: Sequence[Run], suite: Suite | None, name: str) -> str:
    title = "" if suite is None else f"{suite.title}\n\n"
    seeds = {run.seed for run in runs}
    noise = {
        run.info["task"]["noise"] and run.info["task"]["noise"]["rule"] for run in runs
    }
    lines = [
        f"{len(runs)} runs: {len(group(runs, 'task'))} tasks, "
        f"{len(group(runs, 'method'))} methods, {len(seeds)} seeds.",
        f"Noise: {', '.join(sorted(_noise_text(rule) for rule in noise))}.",
        f"Commits: {', '.join(sorted({_commit(run) for run in runs}))}.",
        f"Machine: {', '.join(sorted({_machine(run) for run in runs}))}.",
        f"Versions: {', '.join(_versions(runs))}.",
    ]
    listed = "\n".join(f"- {line}" for line in lines)
    return f"# {name}\n\n{title}{listed}{_failures(runs)}"


def _noise_text(rule: str | None) -> str:
    if rule is None:
        return "none"
    kind, _, share = rule.partition(":")
    if kind == "sd":
        return f"sd = {share} of the function's sd over the box"
    return f"variance = {share} of the function's range over the box"


def _commit(run: Run) -> str:
    commit = run.info["commit"]
    if commit is None:
        return "unknown"
    return str(commit["id"][:10]) + (" with changes" if commit["is_dirty"] else "")


def _machine(run: Run) -> str:
    machine = run.info["machine"]
    return f"{machine['cpu']}, {machine['threads']} thread(s) a run"


def _versions(runs: Sequence[Run]) -> list[str]:
    found = {item for run in runs for item in run.info["versions"].items()}
    return [f"{package} {version}" for package, version in sorted(found)]


def _failures(runs: Sequence[Run]) -> str:
    """What did not come to its end, with the last line of the reason."""
    lines = []
    for run in runs:
        if run.status == "complete":
            continue
        reason = (run.info["error"] or "").strip().splitlines()
        lines.append(
            f"- {run.task}, {run.method}, seed {run.seed}: {run.status} at "
            f"{len(run.Y)} of {run.n_evals}; {reason[-1] if reason else ''}"
        )
    if not lines:
        return ""
    return "\n\n## Runs that ended early\n\n" + "\n".join(lines)


def _tests(runs: Sequence[Run], reference: str) -> list[str]:
    about = _ABOUT_TESTS.format(reference=reference)
    parts = ["## Tests\n\n" + about]
    free = [run for run in runs if not run.has_constraints]
    bound = [run for run in runs if run.has_constraints]
    for some, name, what in (
        (free, "gap", "the best true value (004, table 2)"),
        (bound, "log_scaled_gap", "log10 of feasible regret by range"),
        (bound, "headline", "log10 of best positive regret + violation (000, table 2)"),
    ):
        if some:
            parts.append(
                f"### On {what}\n\n{test_table(some, name, reference)}\n\n{_ABOUT_KS}"
                f"\n\n{normality_table(some, name)}"
            )
    return parts


def _tasks(runs: Sequence[Run], figures: Path) -> list[str]:
    parts = ["## Tasks\n\nMedian [first quartile, third quartile] over seeds."]
    if any(run.has_constraints for run in runs):
        parts[0] += "\n" + _ABOUT_CONSTRAINED
    for task, of in by_task(runs).items():
        save_convergence(
            [run for some in of.values() for run in some], figures / f"{task}.png"
        )
        link = f"![{task}]({figures.name}/{task}.png)"
        parts.append(f"### {task}\n\n{task_table(of)}\n\n{link}")
    return parts
