"""One run in one piece, in three shards and on a cluster with a killed worker: the same bytes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from comrecgc.algorithms.rules import population as census
from comrecgc.algorithms.rules.mining import log_odds
from comrecgc.algorithms.rules.population import CENSUS, Shard
from comrecgc.algorithms.settings import Settings
from comrecgc.data import GraphDataset, load_planted
from comrecgc.errors import InputError
from comrecgc.explanation import RULES
from comrecgc.graphs import GraphBatch
from comrecgc.models import save_classifier
from comrecgc.runs import explain_dataset, merge_shards
from tests.algorithms.rules.test_mining import random_network

FILES = ("explanation.json", "recourses.csv", "coverage_curve.csv", RULES, CENSUS)
NUM_SHARDS = 3


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(census, "BLOCK", 16)
        yield


@pytest.fixture(scope="module")
def data() -> GraphDataset:
    return load_planted(num_graphs=120)


@pytest.fixture(scope="module")
def model(data: GraphDataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    network = random_network("gcn", np.random.default_rng(2), num_labels=data.num_labels)
    with torch.no_grad():
        said = network.accept_probability(GraphBatch.from_graphs(data.graphs))
        network.fc.bias[1] -= float(np.median(log_odds(said)))
    path = tmp_path_factory.mktemp("model") / "classifier.safetensors"
    save_classifier(network, path, {"label_names": list(data.label_names)})
    return path


def run(data: GraphDataset, model: Path, out: Path, **options: Any) -> Path:
    settings = Settings(
        recourse="rules", sample=40, max_changes=1, num_recourses=3, seed=options.pop("seed", 0), jobs=1
    )
    explain_dataset(data, out, settings, classifier=model, panel=False, **options)
    return out


@pytest.fixture(scope="module")
def plain(data: GraphDataset, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in one piece."""
    return run(data, model, tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="module")
def whole(plain: Path) -> dict[str, bytes]:
    return contents(plain)


@pytest.fixture(scope="module")
def shards(data: GraphDataset, model: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("shards")
    numbers = range(1, NUM_SHARDS + 1)
    return [run(data, model, folder / str(number), shard=Shard(number, NUM_SHARDS)) for number in numbers]


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_merged_shards_are_the_run(whole: dict[str, bytes], shards: list[Path], tmp_path: Path) -> None:
    merge_shards(shards[::-1], tmp_path / "merged")
    assert contents(tmp_path / "merged") == whole


def test_what_cannot_be_merged(
    data: GraphDataset, model: Path, plain: Path, shards: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"All shards are needed \(got none that is 2/3\)"):
        merge_shards([shards[0], shards[2]], tmp_path / "merged")
    other = run(data, model, tmp_path / "other", shard=Shard(2, NUM_SHARDS), seed=1)
    with pytest.raises(InputError, match="other is a shard of another run: seed must be 0"):
        merge_shards([shards[0], other, shards[2]], tmp_path / "merged")
    with pytest.raises(InputError, match="must be a shard, made with --shard i/n"):
        merge_shards([plain], tmp_path / "merged")
    with pytest.raises(InputError, match="Shards are of runs by rules on more graphs than the sample"):
        run(data[:30], model, tmp_path / "few", shard=Shard(1, 2))


def test_a_cluster_gives_the_same_bytes(
    data: GraphDataset, model: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    """A worker is killed when the first blocks are done."""
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    killed: list[int] = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster:

        def kill_once(stage: str, done: int, total: int, word: str) -> None:  # noqa: ARG001
            if stage == census.STAGE and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        run(data, model, tmp_path / "run", cluster=cluster.scheduler_address, progress=kill_once)
    assert killed
    assert contents(tmp_path / "run") == whole
