"""What many agents cost: the coordinator's time by N, and a run of 100 x 100.

    python benchmarks/many_agents.py [--agents 100] [--rounds 100] [--workers 2]

First the coordinator alone: the least CPU time of one price update for N agents with
two constraints and one affine constraint, and the exponent of its growth with N. Then
a whole run with agents in processes, each with its journal; `--agents 0` leaves it out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence

import numpy as np

from wideopt.multiagent import Agent, Coordinator, Message, Processes, minimize


class Site:
    """A plant with a cost and a share of two limits."""

    def __init__(self, i: int) -> None:
        self.i = i

    def __call__(self, x: np.ndarray) -> tuple[float, list[float]]:
        want = 0.3 + 0.6 * (self.i % 7) / 7
        return float((x[0] - want) ** 2), [float(x[0] - 0.5), float(0.2 - x[0])]


def update_times(counts: Sequence[int], n_repeats: int = 30) -> list[float]:
    """Least CPU seconds of an update, for each number of agents."""
    rng, least = np.random.default_rng(0), []
    for n in counts:
        messages = [Message((v,), (v, -v)) for v in rng.random(n).tolist()]
        coordinator, seconds = Coordinator(2, (0.5 * n,), eta=0.1), []
        prices = coordinator.first()
        for _ in range(n_repeats):
            start = time.process_time()
            prices = coordinator.update(prices, messages)
            seconds.append(time.process_time() - start)
        least.append(min(seconds))
    return least


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2, help="0: in this process")
    args = parser.parse_args(argv)
    counts = [100, 1000, 10_000, 100_000]
    least = update_times(counts)
    for n, seconds in zip(counts, least, strict=True):
        print(f"{n:>7} agents: {1e3 * seconds:.3f} ms an update")
    slope = np.polyfit(np.log(counts), np.log(least), 1)[0]
    print(f"growth with N: exponent {slope:.2f}", flush=True)
    if args.agents == 0:
        return
    agents = [
        Agent(Site(i), [(0, 1)], n_constraints=2, n_candidates=128)
        for i in range(args.agents)
    ]
    start, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        result = minimize(
            agents,
            n_rounds=args.rounds,
            seed=0,
            executor=Processes(args.workers) if args.workers else None,
            storage=folder,
        )
    seconds, n = time.perf_counter() - start, args.agents * args.rounds
    where = f"{args.workers} processes" if args.workers else "this process"
    print(f"{args.agents} agents x {args.rounds} rounds in {where}: {seconds:.0f} s")
    if not args.workers:
        cpu = time.process_time() - cpu
        print(f"of CPU {cpu:.0f} s, {1e3 * cpu / n:.1f} ms a choice")
    print(f"V/T = {result.V[-1] / args.rounds:.3f}")


if __name__ == "__main__":
    main()
