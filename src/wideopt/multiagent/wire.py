"""All that passes between a coordinator and an agent in another process: JSON texts.

    to the agent        {"do": "turn", "signal": {...}}     a round
                        {"do": "settle"}                    evaluate what was chosen
    from the agent      {"message": {"Ax": [...], "g": [...]}}
                        {"done": true}                      or, if it cannot go on,
                        {"error": NAME OF THE ERROR}        its text stays in its log

`minimize`, which is for those who may see everything, asks for {"do": "history"} in the
end; `run_rounds` never does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from wideopt import exceptions
from wideopt.exceptions import WideoptError
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.history import History
from wideopt.multiagent.messages import Signal, message_of, plain

__all__ = ["Spec", "reply_of", "request"]


@dataclass(frozen=True)
class Spec:
    """Whom to reach.

    Attributes:
        number: of the agent, from 0.
        agent: the agent, or "module:name" of one that is looked up where it runs, so
            that not even its function comes from the coordinator.
        seed: of its random choices.
        path: of its journal, where it runs; None for none.
    """

    number: int
    agent: Agent | str
    seed: int
    path: str | None = None


def request(do: str, signal: Signal | None = None) -> str:
    """What is sent to an agent."""
    form: dict[str, Any] = {"do": do}
    if signal is not None:
        form["signal"] = plain(signal)
    return json.dumps(form)


def reply_of(spec: Spec, text: str) -> Any:
    """What an agent's answer means: a message, a history, or None.

    Raises:
        WideoptError: the agent cannot go on.
    """
    form = json.loads(text)
    if "error" in form:
        known = form["error"] in exceptions.__all__
        kind = getattr(exceptions, form["error"]) if known else WideoptError
        raise kind(
            f"Agent {spec.number} cannot go on ({form['error']}); its own log says why."
        )
    if "message" in form:
        return message_of(form["message"])
    if "history" in form:
        assert isinstance(spec.agent, Agent)
        return History.from_json(form["history"], spec.agent)
    return None
