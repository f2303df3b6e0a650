"""Several agents who share constraints but not their data (DMABO).

agents = [wo.multiagent.Agent(f, [(0, 1)], n_constraints=1) for f in functions]
result = wo.multiagent.minimize(agents, n_rounds=30, seed=0)
"""

from wideopt.multiagent._minimize import minimize
from wideopt.multiagent.agent import Agent
from wideopt.multiagent.coordinator import Coordinator, run_rounds
from wideopt.multiagent.messages import Message, Party, Prices
from wideopt.multiagent.result import MultiAgentResult
from wideopt.multiagent.site import Site
from wideopt.multiagent.theory import Theory, theoretical_beta

__all__ = [
    "Agent",
    "Coordinator",
    "Message",
    "MultiAgentResult",
    "Party",
    "Prices",
    "Site",
    "Theory",
    "minimize",
    "run_rounds",
    "theoretical_beta",
]
