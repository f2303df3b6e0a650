"""Several agents who share constraints but not their data (DMABO).

agents = [wo.multiagent.Agent(f, [(0, 1)], n_constraints=1) for f in functions]
result = wo.multiagent.minimize(agents, n_rounds=30, seed=0)
"""

from wideopt.multiagent._minimize import minimize
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.coordinator import Coordinator
from wideopt.multiagent.lines import Line, Transport
from wideopt.multiagent.messages import Message, Party, Prices
from wideopt.multiagent.metrics import Metrics, Truth
from wideopt.multiagent.processes import Processes
from wideopt.multiagent.result import MultiAgentResult
from wideopt.multiagent.rounds import Round, run_rounds
from wideopt.multiagent.site import Site
from wideopt.multiagent.theory import TheoreticalBeta, Theory
from wideopt.multiagent.wire import Spec

__all__ = [
    "Agent",
    "Coordinator",
    "Line",
    "Message",
    "Metrics",
    "MultiAgentResult",
    "Party",
    "Prices",
    "Processes",
    "Round",
    "Site",
    "Spec",
    "TheoreticalBeta",
    "Theory",
    "Transport",
    "Truth",
    "minimize",
    "run_rounds",
]
