"""Time and memory of a suggestion against the number of observations.

    python benchmarks/ask_time.py [--methods gp-ei neural-bo] [--n 50 2000] [--dim 20]

In the place of the memory of 004's figure 6. Every method is told the same n Sobol
points of Levy's function, then asked and told 1 + `--asks` times, in a process of its
own with one thread. Reported: CPU seconds of the first ask, which learns
hyper-parameters from nothing; the median of an ask and its tell afterwards, of which a
share learns them again (the share shrinks as n grows); and the peak memory of the
process, libraries included. Runs up to the largest n would measure the same, at the
cost of all suggestions before.

Each measurement is a file in RESULTS/ask-time/, so the same command resumes. In the end
it writes OUTPUT/ask-time-levy-DIM.md and its figures, of all that is recorded. After a
measurement that went on beyond `--max-seconds`, larger n of that method are left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from os import environ
from pathlib import Path
from typing import Any

from wideopt import InputError, bench, problems
from wideopt.bench import provenance
from wideopt.bench.contender import Observation
from wideopt.bench.figures import save_lines
from wideopt.bench.record import save
from wideopt.bench.tables import markdown

METHODS = (
    *("neural-bo", "neural-greedy", "dngo", "gp-ei", "gp-ucb", "forest-ei", "random"),
    *("peer:botorch-logei", "peer:optuna-gp", "peer:optuna-tpe", "peer:smac"),
)
SIZES = (50, 100, 200, 500, 1000, 2000)


def measure(method: str, dim: int, n: int, n_asks: int) -> dict[str, Any]:
    """The costs of suggestions that know n observations or a few more."""
    # n_init = 1, so that no ask is for the initial design
    problem = problems.get(f"levy-{dim}")
    task = bench.from_problem(problem, n_evals=n + 1 + n_asks, n_init=1)
    return costs(method, task, n, n_asks)


def costs(method: str, task: bench.Task, n: int, n_asks: int) -> dict[str, Any]:
    """The costs of suggestions for a task after n Sobol points."""
    import torch

    torch.set_num_threads(1)
    contender = bench.parse(method)
    known = [Observation(x, *task.truth(x)) for x in _points(n, task)]
    session = contender.start(task, 0, known if contender.is_external else [])
    if not contender.is_external:
        for observation in known:
            session.tell(*observation)
    baseline = provenance.peak_memory_mb()
    asks, tells = [], []
    for _ in range(1 + n_asks):
        start = time.process_time()
        x = session.ask()
        asked = time.process_time()
        truth = task.truth(x)
        evaluated = time.process_time()
        session.tell(x, *truth)
        asks.append(asked - start)
        tells.append(time.process_time() - evaluated)
    return {
        "ask_cpu": asks,
        "tell_cpu": tells,
        "memory_mb": {"baseline": baseline, "peak": provenance.peak_memory_mb()},
        "versions": provenance.versions(contender.package),
        "commit": provenance.commit(),
        "machine": provenance.machine(),
    }


def _points(n: int, task: bench.Task) -> Iterator[Any]:
    from torch.quasirandom import SobolEngine

    engine = SobolEngine(task.space.n_dims, scramble=True, seed=1)
    for u in engine.draw(n).double().numpy():
        yield task.space.config(task.space.decode(u))


def measured(
    job: dict[str, Any], path: Path, max_seconds: float, script: str = __file__
) -> dict[str, Any]:
    """The measurement of a job: the recorded one, or else made in a new process.

    `script` is called with `--job` and prints a line of JSON.
    """
    record = _recorded(job, path, max_seconds)
    if record is not None:
        return record
    outcome: dict[str, Any] = {"status": "complete", "max_seconds": max_seconds}
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", script, "--job", json.dumps(job)],
            env={**environ, **provenance.THREADS},
            capture_output=True,
            text=True,
            timeout=max_seconds,
            check=True,
        )
        outcome |= json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        outcome["status"] = "timeout"
    except subprocess.CalledProcessError as error:
        outcome |= {"status": "failed", "error": error.stderr[-2000:]}
    record = {"job": job, **outcome}
    save(record, path)
    return record


def _recorded(
    job: dict[str, Any], path: Path, max_seconds: float
) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    is_out_of_time = record["status"] == "timeout"
    is_settled = record["status"] == "complete" or (
        is_out_of_time and max_seconds <= record["max_seconds"]
    )
    return record if is_settled and record["job"] == job else None


def collect(args: argparse.Namespace, folder: Path) -> None:
    """Make the measurements that are not recorded yet."""
    for name in args.methods:
        try:
            contender = bench.parse(name)
        except InputError as error:
            print(f"skipped: {error}", file=sys.stderr)
            continue
        for n in sorted(args.n):
            job = {"method": contender.label, "dim": args.dim, "n": n}
            job["n_asks"] = args.asks
            path = folder / contender.slug / f"{n}.json"
            record = measured(job, path, args.max_seconds)
            print(f"{contender.label:<24}n = {n:<6}{_summary(record)}", flush=True)
            if record["status"] != "complete":
                break


def load_all(folder: Path, n_asks: int) -> list[dict[str, Any]]:
    """Every recorded measurement with so many asks, by method and n."""
    texts = (path.read_text(encoding="utf-8") for path in folder.glob("*/*.json"))
    records = [json.loads(text) for text in texts]
    return sorted(
        (record for record in records if record["job"]["n_asks"] == n_asks),
        key=lambda record: (record["job"]["method"], record["job"]["n"]),
    )


def first(record: dict[str, Any]) -> float:
    return float(record["ask_cpu"][0])


def later(record: dict[str, Any]) -> float:
    pairs = zip(record["ask_cpu"], record["tell_cpu"], strict=True)
    return float(statistics.median([ask + tell for ask, tell in pairs][1:]))


def peak(record: dict[str, Any]) -> float:
    return float(record["memory_mb"]["peak"])


def _summary(record: dict[str, Any]) -> str:
    if record["status"] != "complete":
        return str(record["status"])
    return f"{first(record):.3g} / {later(record):.3g} s, {peak(record):.0f} MB"


PARTS = (
    ("CPU seconds of the first ask", "first", first, "{:.3g}"),
    ("CPU seconds of later suggestions", "later", later, "{:.3g}"),
    ("Peak memory of the process, MB", "memory", peak, "{:.0f}"),
)


def write(records: Sequence[dict[str, Any]], dim: int, output: Path) -> Path:
    """Tables and figures of the measurements; the path of the former."""
    name = f"ask-time-levy-{dim}"
    sizes = sorted({record["job"]["n"] for record in records})
    by_method: dict[str, dict[int, dict[str, Any]]] = {}
    for record in records:
        job = record["job"]
        by_method.setdefault(job["method"], {})[job["n"]] = record
    parts = [f"# {name}\n\n{_heading(records, dim)}"]
    for title, figure, value, form in PARTS:
        rows, curves = [], {}
        for method, of in by_method.items():
            good = {n: r for n, r in of.items() if r["status"] == "complete"}
            values = {n: value(record) for n, record in good.items()}
            if values:
                curves[method] = (list(values), list(values.values()))
            rows.append([method, *(_cell(of, values, n, form) for n in sizes)])
        path = output / name / f"{figure}.png"
        save_lines(curves, path, labels=("observations n", title), is_log=True)
        table = markdown(["method", *(f"n = {n}" for n in sizes)], rows)
        parts.append(f"## {title}\n\n{table}\n\n![{title}]({name}/{figure}.png)")
    page = output / f"{name}.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _cell(of: dict[int, Any], values: dict[int, float], n: int, form: str) -> str:
    if n in values:
        return form.format(values[n])
    return str(of[n]["status"]) if n in of else "-"


def _heading(records: Sequence[dict[str, Any]], dim: int) -> str:
    done = [record for record in records if record["status"] == "complete"]
    machines = {
        f"{r['machine']['cpu']}, {r['machine']['threads']} thread(s)" for r in done
    }
    commits = {_commit(record) for record in done}
    versions = sorted({item for r in done for item in r["versions"].items()})
    return "\n".join(
        [
            f"Suggestions on Levy's function in {dim} dimensions after n Sobol points, "
            "each number from a process of its own.",
            "",
            f"- Commits: {', '.join(sorted(commits))}.",
            f"- Machine: {', '.join(sorted(machines))}.",
            f"- Versions: {', '.join(f'{name} {v}' for name, v in versions)}.",
        ]
    )


def _commit(record: dict[str, Any]) -> str:
    commit = record["commit"]
    if commit is None:
        return "unknown"
    return str(commit["id"][:10]) + (" with changes" if commit["is_dirty"] else "")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--n", nargs="+", type=int, default=SIZES)
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--asks", type=int, default=3, help="after the first one")
    parser.add_argument("--max-seconds", type=float, default=1800, help="wall, of each")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--output", type=Path, default=Path("benchmarks/report"))
    parser.add_argument("--job", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.asks < 1 or min(args.n) < 2 or args.dim < 1:
        parser.error("--asks and --dim are at least 1, --n at least 2")
    if args.job is not None:
        print(json.dumps(measure(**json.loads(args.job))))
        return
    folder = args.results / "ask-time" / f"levy-{args.dim}"
    collect(args, folder)
    records = load_all(folder, args.asks)
    if records:
        print(write(records, args.dim, args.output))


if __name__ == "__main__":
    main()
