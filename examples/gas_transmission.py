"""Design a gas-transmission compressor: four variables, one unknown constraint.

Length between stations, compression ratio, pipe diameter and a flow parameter are
chosen so that the yearly cost is least (Beightler and Phillips, 1976). To the optimizer
cost and constraint are black boxes. `make run` runs this file.
"""

from __future__ import annotations

from pathlib import Path

import wideopt as wo

PLOT = Path("out/gas_transmission.png")


def main() -> None:
    problem = wo.problems.get("gas-transmission")
    result = wo.minimize(problem, problem.space, n_evals=100, seed=0)
    print(result)
    print(f"{'known optimum':>16}: {problem.optimum:.10g}")
    gap = (result.fun - problem.optimum) / problem.optimum
    print(f"{'above optimum':>16}: {gap:.3%}")

    ax = result.plot()
    ax.axhline(problem.optimum, color="k", ls=":", lw=1, label="known optimum")
    ax.set_title("Gas-transmission compressor")
    ax.set_ylabel("yearly cost in millions")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value / 1e6:g}")
    ax.legend(frameon=False)
    PLOT.parent.mkdir(exist_ok=True)
    ax.figure.savefig(PLOT, dpi=150)
    print(f"{'plot':>16}: {PLOT}")


if __name__ == "__main__":
    main()
