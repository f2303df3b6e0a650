"""The process of one run: `python -m wideopt.bench.child JOB`, JOB as JSON."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

__all__ = ["main"]


def main(text: str) -> None:
    """Make the run of a job and save its record."""
    job = json.loads(text)
    warnings.simplefilter("ignore")  # of peers and their libraries; errors are recorded
    import torch

    torch.set_num_threads(1)
    from wideopt.bench import suite as suites
    from wideopt.bench.contender import parse
    from wideopt.bench.record import save
    from wideopt.bench.single import run_one
    from wideopt.bench.task import parse_noise

    suite = suites.get(job["suite"])
    task = suite.task(job["task"], job["is_smoke"])
    if job["noise"] is not None:
        task = task.with_noise(parse_noise(job["noise"]))
    record = run_one(
        parse(job["method"]),
        task,
        job["seed"],
        suite=suite.folder(job["is_smoke"]),
        journal=Path(job["journal"]),
        max_seconds=job["max_seconds"],
    )
    save(record, Path(job["path"]))


if __name__ == "__main__":
    main(sys.argv[1])
