"""Benchmarks: tasks in suites, contenders behind one ask/tell, records, reports.

`wideopt bench SUITE` runs, `wideopt bench report` writes tables and figures. A new
suite is one file in `wideopt.bench.suites`; a new peer one in `wideopt.bench.peers`.
"""

from __future__ import annotations

from wideopt.bench.contender import Contender, parse
from wideopt.bench.suite import Suite, every_suite, get, register
from wideopt.bench.task import Noise, Task, from_problem

__all__ = [
    "Contender",
    "Noise",
    "Suite",
    "Task",
    "every_suite",
    "from_problem",
    "get",
    "parse",
    "register",
]
