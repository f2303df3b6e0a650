"""The example with Ax: wideopt chooses, Ax keeps the trials."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ax", reason="Ax is not installed")

EXAMPLE = Path(__file__).parents[2] / "examples" / "with_ax.py"


def test_the_example_runs():
    done = subprocess.run(
        [sys.executable, EXAMPLE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "all satisfied" in done.stdout
    assert done.stdout.count("COMPLETED") == 3
