"""A study on one page: `wideopt report`, and its figures for the dashboard."""

from wideopt.report._page import write_report
from wideopt.report._snapshot import Snapshot

__all__ = ["Snapshot", "write_report"]
