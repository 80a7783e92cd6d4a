"""A dask cluster does what threads do, also when a worker is killed; what cannot work is told in one line."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comrecgc.engine import ClusterEngine, LocalEngine, connect
from comrecgc.errors import InputError

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as made:
        yield made


def square(shared: int, block: int) -> int:
    return shared + block * block


def mortal(shared: str, block: int) -> int:
    """Kills the worker that first takes block 3."""
    killed = Path(shared)
    if block == 3 and not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return block


def test_results_are_those_of_threads(cluster: Any) -> None:
    engine = connect(cluster.scheduler_address)
    try:
        assert list(engine.map(square, 5, range(30))) == list(LocalEngine().map(square, 5, range(30)))
    finally:
        engine.client.close()


def test_a_killed_worker_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        assert list(ClusterEngine(client=client).map(mortal, str(tmp_path / "killed"), range(12))) == list(range(12))
    assert (tmp_path / "killed").exists()


def test_a_cluster_that_loses_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr("comrecgc.engine.cluster.SECONDS_WITHOUT_WORKERS", 0.2)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", processes=False) as made:
        engine = connect(made.scheduler_address)
        try:
            made.scale(0)
            with pytest.raises(InputError, match="The cluster has no workers any more: --resume"):
                list(engine.map(late, 1.0, range(3)))
        finally:
            engine.client.close()


def late(shared: float, block: int) -> int:
    time.sleep(shared)
    return block


def test_workers_of_another_version_are_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.__version__", "999")
    with pytest.raises(InputError, match=r"Workers must have comrecgc 999 \(got "):
        connect(cluster.scheduler_address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://", "127.0.0.1"])
def test_an_address_without_a_scheduler(address: str) -> None:
    with pytest.raises(InputError, match="There must be a dask scheduler"):
        connect(address, seconds=0.5)
