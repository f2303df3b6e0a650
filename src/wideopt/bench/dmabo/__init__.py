"""The benchmark of several agents: `wideopt bench dmabo`.

A run has rounds of several agents where the other suites have single evaluations, so
tasks, records and report are its own.
"""
