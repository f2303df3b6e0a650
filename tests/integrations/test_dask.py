"""Agents on Dask's workers: the same run, kills, TLS, and what crosses."""

import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest

import wideopt as wo
from tests.multiagent.sites import assert_same, coupled
from wideopt.multiagent import Coordinator, Spec, minimize, run_rounds

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
dask = pytest.importorskip("dask")

pytestmark = [
    # Dask's threads and sockets may outlive a test by a moment.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    # A worker that was killed leaves its folder, which the next one clears away.
    pytest.mark.filterwarnings("ignore:.*worker-space:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
]


def cluster(n_workers, **settings):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=50,
        **settings,
    )


@pytest.fixture(scope="module")
def client():
    """Workers in this process: quick to start, and no one may kill them."""
    with cluster(2, processes=False) as local, distributed.Client(local) as found:
        yield found


def test_the_same_run_and_what_crosses(client, tmp_path, monkeypatch):
    from wideopt.integrations.dask import Workers

    workers = Workers(client)
    expected = minimize(coupled(), n_rounds=4, seed=3)
    result = minimize(
        coupled(), n_rounds=4, seed=3, executor=workers, storage=tmp_path / "run"
    )
    assert_same(result, expected)

    crossed, submit = [], client.submit

    def tapped(function, *args, **settings):
        future = submit(function, *args, **settings)
        crossed.append((function.__name__, args, future.result()))
        return future

    monkeypatch.setattr(client, "submit", tapped)
    specs = [
        Spec(i, agent, i, str(tmp_path / f"{i}.jsonl"))
        for i, agent in enumerate(coupled())
    ]
    with workers.lines(specs) as lines:
        run_rounds(lines, Coordinator(2, eta=0.4), 3)
    # Opening sends the agent down, once; after that only texts pass.
    assert sum(name == "_open" for name, *_ in crossed) == 3
    for name, args, said in crossed:
        if name == "_open":
            assert said is None
            continue
        asked, answered = json.loads(args[1]), json.loads(said)
        assert asked == {"do": "settle"} or set(asked) == {"do", "signal"}
        assert answered in ({"done": True}, {"unknown": True}) or (
            list(answered) == ["message"] and list(answered["message"]) == ["Ax", "g"]
        )


def test_bad_options(client, tmp_path):
    from wideopt.integrations.dask import Workers

    with pytest.raises(wo.InputError, match="need storage="):
        minimize(coupled(), n_rounds=1, executor=Workers(client))
    absent = Workers(client, ["absent"], patience=0.0)
    with pytest.raises(wo.WideoptError, match="no Dask worker named 'absent'"):
        minimize(coupled(), n_rounds=1, executor=absent, storage=tmp_path)


@pytest.mark.slow
def test_killed_workers_go_on_as_if_nothing_had_happened(tmp_path):
    from wideopt.integrations.dask import Workers

    n_kills, n_rounds, rng = 20, 40, random.Random(1)
    calm = minimize(coupled(), n_rounds=n_rounds, seed=9)
    # On a busy machine a worker takes a while to come back.
    patience = {"distributed.deploy.lost-worker-timeout": "300s"}
    settings = {"processes": True, "death_timeout": 300}
    with (
        dask.config.set(patience),
        cluster(3, **settings) as local,
        distributed.Client(local) as client,
    ):
        workers = Workers(client)
        stop, killed = threading.Event(), []

        def killer():
            while len(killed) < n_kills and not stop.is_set():
                time.sleep(rng.uniform(0.3, 1.0))
                # A nanny gives up a worker that dies before it has registered.
                there = set(client.scheduler_info()["workers"])
                nannies = [
                    n
                    for n in local.workers.values()
                    if n.worker_address in there and n.pid not in killed
                ]
                if nannies and (pid := rng.choice(nannies).pid):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

        thread = threading.Thread(target=killer)
        thread.start()
        try:
            result = minimize(
                coupled(pause=0.2),
                n_rounds=n_rounds,
                seed=9,
                executor=workers,
                storage=tmp_path / "run",
            )
        finally:
            stop.set()
            thread.join()
    assert len(killed) == n_kills
    assert_same(result, calm)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("openssl"), reason="certificates need openssl")
def test_tls(tmp_path):
    from distributed.security import Security

    from wideopt.integrations.dask import Workers

    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test"
    subprocess.run(
        [*command.split(), "-keyout", str(key), "-out", str(cert)],
        check=True,
        capture_output=True,
    )
    pair = {"cert": str(cert), "key": str(key)}
    security = Security(
        tls_ca_file=str(cert),
        require_encryption=True,
        **{
            f"tls_{role}_{what}": path
            for role in ("client", "scheduler", "worker")
            for what, path in pair.items()
        },
    )
    with (
        cluster(2, processes=False, security=security, protocol="tls") as local,
        distributed.Client(local, security=security) as client,
    ):
        assert client.scheduler_info()["address"].startswith("tls://")
        result = minimize(
            coupled(), n_rounds=2, seed=3, executor=Workers(client), storage=tmp_path
        )
    assert_same(result, minimize(coupled(), n_rounds=2, seed=3))
