"""A campaign by hand: suggestions written down, outcomes told when they are measured.

The space file is JSON: what `wideopt new` writes. The storage is an SQLite file beside
it, with the same name and the ending `.db`.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wideopt.data import Trial, check_outcome
from wideopt.exceptions import InputError, StorageError
from wideopt.optimizer import Optimizer
from wideopt.result import Result
from wideopt.run._campaign import Campaign
from wideopt.run._evaluate import Job, Outcome
from wideopt.run._record import Record
from wideopt.run._summary import turned
from wideopt.space import Config, Space

__all__ = ["RESERVED", "Lab", "Plan", "new_seed", "url_of"]

RESERVED = ("trial", "y", "c", "state", "seconds", "error")
_FORMAT = 1


@dataclass(frozen=True)
class Plan:
    """What a space file says."""

    space: dict[str, Any]
    goal: str = "minimize"
    constraints: list[str] = field(default_factory=list)
    method: str = "auto"
    seed: int = 0

    @classmethod
    def read(cls, path: Path) -> Plan:
        """The plan of a file, or an error that says what is wrong with it."""
        if not path.is_file():
            raise InputError(
                f"There is no file {str(path)!r}; `wideopt new` makes one."
            )
        try:
            form = json.loads(path.read_text(encoding="utf-8"))
            is_ours = form.pop("wideopt") == _FORMAT
            plan = cls(**form)
            Space.from_json(plan.space)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is not a space file of wideopt: {error}."
            ) from None
        if not is_ours or plan.goal not in ("minimize", "maximize"):
            raise InputError(f"{path} is not a space file that this version reads.")
        return plan

    def write(self, path: Path) -> None:
        """Write the file; one that exists is left alone."""
        try:
            with path.open("x", encoding="utf-8") as file:
                json.dump({"wideopt": _FORMAT, **asdict(self)}, file, indent=2)
                file.write("\n")
        except FileExistsError:
            raise InputError(f"{path} exists already; use another name.") from None
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from None

    @property
    def sign(self) -> int:
        """+1 to minimize, -1 to maximize."""
        return 1 if self.goal == "minimize" else -1


class Lab:
    """A study whose evaluations are somebody's work."""

    def __init__(self, campaign: Campaign, constraints: Sequence[str]) -> None:
        self._campaign = campaign
        self.constraints = tuple(constraints)
        self.space = campaign.optimizer.space
        self.method = campaign.optimizer.method
        self.record = campaign.record

    @classmethod
    def open(cls, study: str, name: str | None = None) -> Lab:
        """The campaign of a space file, or of a storage that holds one already."""
        if study.endswith(".json"):
            path = Path(study)
            plan = Plan.read(path)
            url = f"sqlite:///{path.with_suffix('.db')}"
            optimizer = Optimizer(
                Space.from_json(plan.space),
                method=plan.method,
                n_constraints=len(plan.constraints),
                seed=plan.seed,
            )
            names, sign = plan.constraints, plan.sign
        else:
            url = url_of(study)
            optimizer, sign = stored(url, name)
            names = [f"c{i + 1}" for i in range(optimizer.n_constraints)]
        k = optimizer.n_constraints
        campaign = Campaign(optimizer, sign=sign, n_constraints=k)
        campaign.start(url, name, is_by_hand=True)
        return cls(campaign, names)

    def suggest(self, n: int = 1) -> list[Job]:
        """The next points to evaluate, which are then open; fewer at the end."""
        jobs: list[Job] = []
        while len(jobs) < n and not self._campaign.is_exhausted:
            job = self._campaign.next()
            jobs += [] if job is None else [job]
        return jobs

    def open_jobs(self) -> list[Job]:
        """What was suggested and not told yet."""
        return self._campaign.open_jobs()

    @property
    def n_open(self) -> int:
        """Number of trials under way, by hand or not."""
        return self._campaign.n_under_way

    def job(self, number: int) -> Job:
        """The open suggestion of a number; an error names those there are."""
        jobs = {job.number: job for job in self.open_jobs()}
        if number not in jobs:
            known = ", ".join(map(str, jobs)) or "none"
            raise InputError(f"There is no open trial {number}; open are: {known}.")
        return jobs[number]

    def check(self, y: Any, c: Sequence[float]) -> None:
        """Raise unless an outcome could be told."""
        check_outcome(y, list(c) or None, len(self.constraints))

    def tell(
        self, where: Job | Config, y: Any, c: Sequence[float] = (), error: str = ""
    ) -> int:
        """Record an outcome, or a failure if there is an error; gives the number."""
        if not error:
            self.check(y, c)
        job = where if isinstance(where, Job) else self._job_of(where)
        value = (y, list(c)) if c else y
        self._campaign.tell(job, Outcome(value, None, error or None))
        return job.number

    def _job_of(self, config: Config) -> Job:
        """The open suggestion of this config, or a new one."""
        values = self.space.values(config)
        for job in self.open_jobs():
            if self.space.values(job.config) == values:
                return job
        return self._campaign.begun(self.space.config(values))

    def result(self) -> Result:
        """The best so far, and the history."""
        return self._campaign.result("")

    def finished(self) -> list[tuple[int, Trial]]:
        """Every trial that was told, with its number, in the user's sign."""
        found = self.record.numbered(self.space, len(self.constraints))
        return [(number, turned(trial, self._campaign.sign)) for number, trial in found]


def url_of(study: str) -> str:
    """The storage URL that a user means by the name of a file."""
    return study if "://" in study else f"sqlite:///{study}"


def stored(url: str, name: str | None) -> tuple[Optimizer, int]:
    """The optimizer of a study that exists, without its trials, and its sign."""
    record = Record.existing(url, name)
    header = record.header
    if header is None:
        raise StorageError(
            f"Study {record.study.study_name!r} in {url!r} was not made by wideopt."
        )
    empty: dict[str, Any] = {"method_state": {}, "trials": [], "told": []}
    state = {**header, **empty, "n_evals": None, "n_asked": 0}
    try:
        optimizer = Optimizer.from_state_dict(state)
    except InputError as error:  # a model of the user's own is not in the storage
        raise InputError(
            f"Method {header['method']} cannot go on from the storage alone: {error}"
        ) from None
    return optimizer, record.sign


def new_seed() -> int:
    """A seed for a new plan."""
    return secrets.randbits(31)
