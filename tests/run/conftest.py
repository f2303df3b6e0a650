"""A PostgreSQL server of our own, where Debian's packages are installed."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgresql():
    """The URL of a database that is gone after the tests."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not found:
        pytest.skip("PostgreSQL is not installed: see .ci/install_packages")
    pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="wideopt-pg-"))
    # The server refuses to run as root.
    as_user = [] if os.getuid() else ["runuser", "-u", "postgres", "--"]
    if as_user:
        shutil.chown(folder, "postgres")
    data = folder / "data"

    def call(program, *args):
        command = [*as_user, found[-1].parent / program, "-D", data, *args]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)

    call("initdb", "-U", "wideopt", "-A", "trust", "--no-sync")
    settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
    call("pg_ctl", "-w", "-l", folder / "log", "-o", settings, "start")
    yield f"postgresql+psycopg://wideopt@/postgres?host={folder}"
    call("pg_ctl", "-m", "immediate", "stop")
    shutil.rmtree(folder)
