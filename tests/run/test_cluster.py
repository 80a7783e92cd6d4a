"""A dask cluster does what threads do, also when a worker is killed; what cannot work is reported in one line."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from comrecgc.data import load_planted
from comrecgc.errors import InputError
from comrecgc.models import GraphClassifier, PanelTraining, obtain_panel
from comrecgc.models.greed_pairs import PairGenerator
from comrecgc.run import LocalEngine
from comrecgc.run.context import ClusterEngine, connect

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


def thread_alone(shared: str, block: int) -> int:
    """Notes that it is here, and how many others are."""
    here = Path(shared) / f"{os.getpid()}-{block}"
    here.touch()
    time.sleep(0.05)
    others = len(list(Path(shared).glob(f"{os.getpid()}-*")))
    here.unlink()
    return others


def test_work_that_needs_a_process_has_it_to_itself(tmp_path: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=3, dashboard_address=":0", processes=False) as made:
        engine = connect(made.scheduler_address)
        try:
            assert max(engine.map(thread_alone, str(tmp_path), range(9))) > 1
            assert set(engine.map(thread_alone, str(tmp_path), range(9), processes=True)) == {1}
        finally:
            engine.client.close()


def test_a_panel_and_edit_distances_are_those_of_this_machine(cluster: Any, tmp_path: Path) -> None:
    data, training = load_planted(num_graphs=40), PanelTraining(models=("gcn", "sage"), epochs=2)
    pairs = PairGenerator(num_far=2, num_near=2, num_chains=2, num_paths=2, far_size=4, near_size=3, chain_size=4)
    engine = connect(cluster.scheduler_address)
    try:
        here, there = (
            obtain_panel(data, training=training, folder=tmp_path / name, engine=where)[0]
            for name, where in (("here", LocalEngine()), ("there", engine))
        )
        labels, far_labels = (
            replace(pairs, engine=where).generate(data.graphs, data.num_labels, seed=0)
            for where in (LocalEngine(), engine)
        )
        late, why = obtain_panel(data, training=training, engine=engine, folder=tmp_path / "late", deadline=0.0)
    finally:
        engine.client.close()
    assert here is not None
    assert there is not None
    for member, other in zip(here.members, there.members, strict=True):
        assert member.accuracy == other.accuracy
        assert isinstance(member.classifier, GraphClassifier)
        assert isinstance(other.classifier, GraphClassifier)
        weights = zip(member.classifier.parameters(), other.classifier.parameters(), strict=True)
        assert all(torch.equal(ours, theirs) for ours, theirs in weights)
    assert list(labels.graphs) == list(far_labels.graphs)
    np.testing.assert_array_equal(labels.distances, far_labels.distances)
    assert late is None
    assert "no time" in why


def test_what_is_not_asked_for_is_dropped(cluster: Any) -> None:
    engine = connect(cluster.scheduler_address)
    try:
        results: Any = engine.map(square, 5, range(1000))
        assert next(results) == 5
        results.close()
        assert not engine.client.run(lambda dask_worker: [name for name in dask_worker.plugins if "comrecgc" in name])[
            next(iter(engine.client.nthreads()))
        ]
    finally:
        engine.client.close()


def test_a_killed_worker_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        assert list(ClusterEngine(client=client).map(mortal, str(tmp_path / "killed"), range(12))) == list(range(12))
    assert (tmp_path / "killed").exists()


def test_a_cluster_that_loses_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr("comrecgc.run.context.SECONDS_WITHOUT_WORKERS", 0.2)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", processes=False) as made:
        engine = connect(made.scheduler_address)
        try:
            made.scale(0)
            with pytest.raises(InputError, match="The cluster has no workers any more"):
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
