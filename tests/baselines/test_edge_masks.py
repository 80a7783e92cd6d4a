from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from comrecgc.baselines import CHECKPOINT
from comrecgc.baselines.cff import CFF
from comrecgc.baselines.edge_masks import Block, block_ends, explain_by_masks, removal, without_edges
from comrecgc.graphs import BoolArray, GraphBatch, apply_path
from tests.baselines.networks import random_graphs, subject, told


class Killed(Exception):
    pass


def test_blocks_hold_every_graph_once() -> None:
    assert block_ends([]) == []
    assert block_ends([10, 9000, 10]) == [1, 2, 3]
    assert block_ends([1000] * 9) == [4, 8, 9]


def test_removed_edges_as_edits_and_as_a_batch_are_the_same_graphs() -> None:
    graphs = random_graphs(6)
    batch = GraphBatch.from_graphs(graphs)
    removed = np.random.default_rng(0).random(len(batch.edges)) < 0.4
    fewer = without_edges(batch, removed)
    for place, (graph, part) in enumerate(zip(graphs, np.split(removed, batch.edge_ptr[1:-1]), strict=True)):
        assert apply_path(graph, removal(graph, part)) == fewer[place]


def test_a_killed_run_goes_on_to_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comrecgc.baselines.source.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("comrecgc.baselines.edge_masks.BLOCK_NODES", 30)
    given, cff, seen = subject(), CFF(epochs=20), list[int]()
    whole = cff.run(given, np.random.default_rng(5))

    def killed(block: Block) -> BoolArray | None:
        seen.append(len(block.graphs.batch))
        if len(seen) == 3:
            raise Killed
        return cff.remove(block)

    with pytest.raises(Killed):
        explain_by_masks(cff, given, killed, np.random.default_rng(5), checkpoint=tmp_path)
    assert (tmp_path / CHECKPOINT).exists()
    asked: list[int] = []

    def watched(block: Block) -> BoolArray | None:
        asked.append(len(block.graphs.batch))
        return cff.remove(block)

    rest = explain_by_masks(cff, given, watched, np.random.default_rng(5), checkpoint=tmp_path, resume=True)
    assert told(rest) == told(whole)
    assert sum(asked) == len(given.inputs) - sum(seen[:2])


def test_a_block_that_is_out_of_time_gives_nothing() -> None:
    cff, steps = CFF(epochs=10**6), list[int]()

    def counted(_what: str, done: int, _: int, __: str) -> None:
        steps.append(done)

    found = cff.run(subject(), np.random.default_rng(0), deadline=time.monotonic() + 0.3, progress=counted)
    assert not found.complete
    assert len(found) == 0
    assert not steps
