"""Packed graphs are the graphs that were packed, whatever their order, and say the same of themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from comrecgc.data import load_planted
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, GraphPacker, PackedGraphs, batch, fingerprint

GRAPHS = load_planted(num_graphs=30).graphs


def packed(graphs: list[Graph], size: int = 7) -> PackedGraphs:
    with GraphPacker() as packer:
        for start in range(0, len(graphs), size):
            packer.add(GraphBatch.from_graphs(graphs[start : start + size]))
        return packer.finish()


def is_same(ours: Graph, theirs: Graph) -> bool:
    return ours == theirs and np.array_equal(ours.edge_labels, theirs.edge_labels)  # type: ignore[arg-type]


@pytest.fixture(params=["in memory", "in files"])
def _kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "in files":
        monkeypatch.setattr(batch, "_MOST_IN_MEMORY", 100)


@pytest.mark.usefixtures("_kept")
def test_graphs_come_back() -> None:
    ours = packed(list(GRAPHS))
    assert len(ours) == len(GRAPHS)
    assert all(is_same(one, other) for one, other in zip(ours, GRAPHS, strict=True))
    assert is_same(ours[-1], GRAPHS[-1])
    assert (ours.num_nodes, ours.num_edges) == (sum(g.num_nodes for g in GRAPHS), sum(g.num_edges for g in GRAPHS))
    assert fingerprint(ours) == fingerprint(GRAPHS)
    with pytest.raises(IndexError):
        ours[len(GRAPHS)]


@pytest.mark.usefixtures("_kept")
@pytest.mark.parametrize("rows", [[3, 4, 5], [9, 2, 2, 17], []])
def test_some_of_them(rows: list[int]) -> None:
    ours = packed(list(GRAPHS)).subset(rows)
    theirs = [GRAPHS[row] for row in rows]
    assert all(is_same(one, other) for one, other in zip(ours, theirs, strict=True))
    assert fingerprint(ours) == fingerprint(theirs)
    assert ours.num_nodes == sum(graph.num_nodes for graph in theirs)


def test_without_edge_labels_and_with_other_labels() -> None:
    graphs = [Graph([0, 1, 1], [(0, 1), (1, 2)]), Graph([2], [])]
    ours = packed(graphs, size=1).relabel(np.array([5, 0, 3], np.int32))
    assert [graph.labels.tolist() for graph in ours] == [[5, 0, 0], [3]]
    assert ours[0].edge_labels is None
    assert fingerprint(packed(graphs)) == fingerprint(graphs)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match=r"at most 65535 \(got 70000\)"):
        packed([Graph([70000], [])])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_MOST_IN_MEMORY", 100)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Path("/dev/full").open("w+b"))  # noqa: SIM115
    with pytest.raises(InputError, match=r"No space left on device"):
        packed(list(GRAPHS))
