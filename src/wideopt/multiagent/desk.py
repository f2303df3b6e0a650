"""The agent's side of a line to another process: texts in, texts out.

The sites at work are kept, so that an agent in a long-lived process costs no more than
one in this process. That is a cache: a site that is missing, or that someone else has
gone on with, is made from its journal.

One process at a time works for an agent. Processes of a coordinator that was killed
finish what they are at; those of the next one wait for that and find it done.
"""

from __future__ import annotations

import importlib
import json
import logging
from collections import defaultdict
from pathlib import Path
from threading import RLock
from typing import Any

from wideopt.exceptions import InputError
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.journal import MovedError, alone
from wideopt.multiagent.messages import plain, signal_of
from wideopt.multiagent.site import Site
from wideopt.multiagent.wire import Spec

__all__ = ["answer", "site_alone"]

_LOG = logging.getLogger("wideopt.multiagent")
_N_TRIES = 5
_SITES: dict[tuple[str | None, int], Site] = {}
_LOCKS: defaultdict[tuple[str | None, int], Any] = defaultdict(RLock)


def answer(spec: Spec, text: str) -> str:
    """The answer to a request.

    An error is answered by its name; what it says may hold values of the agent, and
    goes to the log `wideopt.multiagent` here.
    """
    key = (spec.path, spec.seed)
    with _LOCKS[key]:
        try:
            with alone(_path(spec)):
                return json.dumps(_answer(spec, key, json.loads(text)))
        except Exception as error:
            _SITES.pop(key, None)
            _LOG.exception("Agent %d cannot go on.", spec.number)
            return json.dumps({"error": type(error).__name__})


def _answer(spec: Spec, key: tuple[str | None, int], asked: Any) -> dict[str, Any]:
    for _ in range(_N_TRIES):
        try:
            site = _SITES.get(key)
            if site is None or not site.is_current:
                site = _SITES[key] = _site_of(spec)
            return _done(site, asked)
        except MovedError:
            # Where locks do not reach: a worker that was given up has finished its
            # evaluation after all.
            _SITES.pop(key, None)
    site = _SITES[key] = _site_of(spec)
    return _done(site, asked)


def _done(site: Site, asked: Any) -> dict[str, Any]:
    if asked["do"] == "turn":
        site.evaluate()
        return {"message": plain(site.choose(signal_of(asked["signal"])))}
    if asked["do"] == "settle":
        site.evaluate()
        return {"done": True}
    forms = [
        {"point": list(point), **trial.to_json(site.agent.space.decode(point))}
        for point, trial in site.observed
    ]
    return {"history": {"trials": forms, "ts": site.ts}}


def _site_of(spec: Spec) -> Site:
    """The site of an agent, from its journal if there is one."""
    return Site(_agent(spec.agent), spec.seed, _path(spec))


def site_alone(spec: Spec) -> Site:
    """The same, once no other process works for the agent."""
    with alone(_path(spec)):
        return _site_of(spec)


def _path(spec: Spec) -> Path | None:
    return None if spec.path is None else Path(spec.path)


def _agent(agent: Agent | str) -> Agent:
    if isinstance(agent, Agent):
        return agent
    module, _, name = agent.partition(":")
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, Agent):
        raise InputError(f"{agent!r} must name an Agent, but is {found!r}.")
    return found
