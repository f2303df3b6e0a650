"""Stop a run and go on with it later: give the same storage again.

`n_evals` counts all evaluations of the study. Each one is stored when it is done, so
it makes no difference whether the first part ended, was interrupted or was killed.
"""

import tempfile
from pathlib import Path

import wideopt as wo


def cost(x):
    return (x[0] - 0.3) ** 2 + (x[1] + 0.2) ** 2


if __name__ == "__main__":
    space = [(-1, 1), (-1, 1)]
    unbroken = wo.minimize(cost, space, n_evals=10, seed=0)

    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'run.db'}"
        wo.minimize(cost, space, n_evals=6, seed=0, storage=storage)
        resumed = wo.minimize(cost, space, n_evals=10, seed=0, storage=storage)

    print(resumed)
    is_same = all(
        (a.x == b.x).all()
        for a, b in zip(unbroken.history, resumed.history, strict=True)
    )
    print(f"{'same points':>16}: {is_same}")
