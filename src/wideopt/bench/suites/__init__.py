"""One file per suite. Each registers itself; see `wideopt.bench.suite`."""
