"""wideopt chooses the points, Ax keeps the experiment. Needs `pip install ax-platform`.

python examples/with_ax.py
"""

from __future__ import annotations

import logging

from ax.api.client import Client
from ax.api.configs import RangeParameterConfig

import wideopt as wo

BOUNDS = {"x1": (0.0, 1.0), "x2": (0.0, 1.0)}
N_EVALS = 12


def evaluate(x: dict[str, float]) -> dict[str, float]:
    """The experiment: a loss, and a load that must not exceed 1."""
    return {"loss": (x["x1"] - 0.7) ** 2 + x["x2"] ** 2, "load": x["x1"] + x["x2"]}


def main() -> None:
    logging.getLogger("ax").setLevel(logging.WARNING)
    client = Client()
    client.configure_experiment(
        parameters=[
            RangeParameterConfig(name=name, parameter_type="float", bounds=bounds)
            for name, bounds in BOUNDS.items()
        ]
    )
    client.configure_optimization(
        objective="-loss", outcome_constraints=["load <= 1.0"]
    )
    optimizer = wo.Optimizer(BOUNDS, n_constraints=1, n_evals=N_EVALS, seed=0)
    for _ in range(N_EVALS):
        x = optimizer.ask()
        index = client.attach_trial(parameters=x)
        outcome = evaluate(x)
        client.complete_trial(trial_index=index, raw_data=outcome)
        optimizer.tell(x, outcome["loss"], [outcome["load"] - 1.0])
    print(optimizer.best)
    print(client.summarize().tail(3).to_string())


if __name__ == "__main__":
    main()
