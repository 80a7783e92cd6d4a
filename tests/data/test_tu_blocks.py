"""A large archive, read block after block, gives the dataset that reading it whole gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from comrecgc.data import GraphDataset, load_planted, tu, tu_blocks
from comrecgc.data.benchmarks import from_tu_folder
from comrecgc.errors import InputError
from comrecgc.graphs import PackedGraphs, fingerprint

FILES = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels")


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tu, "IN_BLOCKS", 0)
    monkeypatch.setattr(tu_blocks, "_CHUNK", 500)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Planted molecules, with an edge listed twice and one listed in one direction only."""
    rows: dict[str, list[str]] = {name: [] for name in FILES}
    first = 1
    for number, (graph, kind) in enumerate(zip(load_planted(num_graphs=40).graphs, [0, 1] * 20, strict=True), start=1):
        rows["graph_indicator"] += [str(number)] * graph.num_nodes
        rows["graph_labels"].append(str(kind))
        rows["node_labels"] += [str(2 * label + 3) for label in graph.labels.tolist()]
        assert graph.edge_labels is not None
        for place, ((i, j), bond) in enumerate(zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True)):
            pairs = [f"{first + i}, {first + j}", f"{first + j},{first + i}"]
            pairs = (
                pairs[:1] if (number, place) == (7, 1) else [pairs[0], *pairs] if (number, place) == (9, 2) else pairs
            )
            rows["A"] += pairs
            rows["edge_labels"] += [str(bond)] * len(pairs)
        first += graph.num_nodes
    for name in FILES:
        (tmp_path / f"X_{name}.txt").write_text("\n".join(rows[name]) + "\n")
    return tmp_path


def assert_same(ours: GraphDataset, theirs: GraphDataset) -> None:
    assert isinstance(ours.graphs, PackedGraphs)
    assert list(ours) == list(theirs)
    assert fingerprint(ours.graphs) == fingerprint(theirs.graphs)
    assert ours.classes.tolist() == theirs.classes.tolist()
    assert (ours.num_nodes, ours.num_edges) == (theirs.num_nodes, theirs.num_edges)
    for name in ("label_names", "edge_label_names", "class_names", "notes", "name"):
        assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize("rare", [None, 30])
def test_blocks_give_the_same_dataset(folder: Path, rare: int | None, request: pytest.FixtureRequest) -> None:
    whole = from_tu_folder(folder, rare=rare)
    request.getfixturevalue("in_blocks")
    read = from_tu_folder(folder, rare=rare)
    assert_same(read, whole)
    assert len(whole.notes) == 2 + (rare is not None)
    some = [5, 3, 17]
    assert list(read.subset(some)) == list(whole.subset(some))
    ours, theirs = read.batch(3, 9), whole.batch(3, 9)
    for name in ("labels", "edges", "node_ptr", "edge_ptr", "edge_labels"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.usefixtures("in_blocks")
@pytest.mark.parametrize(
    ("file", "row", "text", "message"),
    [
        ("A", 3, "1, x", r"X_A.txt row 4: must hold 2 comma-separated integer"),
        ("A", 3, "1, 2, 3", r"X_A.txt row 4: must hold 2 comma-separated integer"),
        ("A", 3, "2, 2", r"row 4: self-loops are not allowed \(got one at node 2\)"),
        ("A", 3, "2, 999999", r"X_A.txt must|nodes of one graph|graph by graph"),
        ("A", 700, "1, 2", r"row 701: a large archive must list its edges graph by graph"),
        ("graph_indicator", 0, "2", "graph numbers must start at 1"),
        ("graph_indicator", 500, "1", "graph numbers must start at 1 and never decrease|every graph needs a node"),
        ("graph_labels", 40, "1", r"must have nodes of 41 graphs, as there are classes \(got 40\)"),
        ("node_labels", 2000, "1", "X_node_labels.txt must end with the last graph"),
        ("edge_labels", 1, "7", "an edge must have one label"),
    ],
)
def test_what_breaks_a_rule_is_refused(folder: Path, file: str, row: int, text: str, message: str) -> None:
    path = folder / f"X_{file}.txt"
    lines = path.read_text().splitlines()
    lines[row : row + 1] = [text]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=message):
        from_tu_folder(folder)


@pytest.mark.usefixtures("in_blocks")
def test_a_file_that_ends_too_early(folder: Path) -> None:
    path = folder / "X_node_labels.txt"
    path.write_text("1\n2\n")
    with pytest.raises(InputError, match=r"X_node_labels.txt must have one line per node \(got 2 lines\)"):
        from_tu_folder(folder)
