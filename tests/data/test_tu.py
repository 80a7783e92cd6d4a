from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.data import GraphDataset, load_planted, tu
from comrecgc.data.loading import from_tu_folder
from comrecgc.data.tu import LabelMaps, parse_label_maps, read_tu
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, PackedGraphs, batch, fingerprint

WriteTU = Callable[..., Path]


def test_toy_dataset(write_tu: WriteTU) -> None:
    data = read_tu(write_tu())
    assert data.name == "TINY"
    assert list(data.graphs) == [Graph([0, 1, 0], [(0, 1), (1, 2)]), Graph([2], [])]
    assert data.label_values.tolist() == [[5], [6], [8]]
    assert data.targets.tolist() == [7, 3]
    assert data.graphs[0].edge_labels is not None
    assert data.graphs[0].edge_labels.tolist() == [0, 1]
    assert data.edge_label_values is not None
    assert data.edge_label_values.tolist() == [[0], [1]]
    assert data.maps == LabelMaps()
    assert data.notes == ()


def test_zip_equals_folder(
    write_tu: WriteTU, write_zip: Callable[[Mapping[str, str]], Path], tiny_members: dict[str, str]
) -> None:
    from_folder, from_zip = read_tu(write_tu()), read_tu(write_zip(tiny_members))
    assert list(from_folder.graphs) == list(from_zip.graphs)
    assert from_folder.targets.tolist() == from_zip.targets.tolist()


def test_optional_files_may_be_missing(write_tu: WriteTU) -> None:
    data = read_tu(write_tu(node_labels=None, edge_labels=None))
    assert data.graphs.batch(0, 2).labels.tolist() == [0, 0, 0, 0]
    assert data.label_values.shape == (1, 0)
    assert data.graphs.edge_labels is None
    assert data.edge_label_values is None


def test_labels_of_several_components(write_tu: WriteTU) -> None:
    data = read_tu(write_tu(node_labels="1,0\n0,1\n1,0\n1,1\n"))
    assert data.graphs.batch(0, 2).labels.tolist() == [1, 0, 1, 2]
    assert data.label_values.tolist() == [[0, 1], [1, 0], [1, 1]]


def test_graphs_without_edges(write_tu: WriteTU) -> None:
    data = read_tu(write_tu(A="", edge_labels=""))
    assert [graph.num_edges for graph in data.graphs] == [0, 0]


def test_blank_lines_carriage_returns_and_byte_order_marks_do_no_harm(write_tu: WriteTU) -> None:
    data = read_tu(write_tu(A="\ufeff1,2\r\n 2 , 1\r\n\r\n2,3\r\n3,2\r\n\n", node_labels="5\n6\n5\n8"))
    assert list(data.graphs) == [Graph([0, 1, 0], [(0, 1), (1, 2)]), Graph([2], [])]


def test_repeated_and_one_way_edges_are_repaired_and_noted(write_tu: WriteTU) -> None:
    data = read_tu(write_tu(A="1, 2\n1, 2\n2, 1\n3, 2\n", edge_labels="0\n0\n0\n1\n"))
    assert list(data.graphs) == [Graph([0, 1, 0], [(0, 1), (1, 2)]), Graph([2], [])]
    assert data.notes == (
        "1 of 4 rows of edges repeated an earlier row and were merged.",
        "1 of 2 edges were listed in one direction only and taken as undirected.",
    )


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ({"A": None}, r"with files NAME_A\.txt, .*"),
        ({"graph_indicator": None}, r"must hold a file TINY_graph_indicator\.txt"),
        ({"graph_labels": None}, r"must hold a file TINY_graph_labels\.txt"),
        ({"graph_labels": ""}, r"TINY_graph_labels\.txt must not be empty"),
        ({"graph_labels": "7\n3\n1\n"}, "every graph needs a node"),
        ({"graph_labels": "7\n"}, r"graph_labels\.txt must have one line per graph"),
        ({"graph_labels": "7, 1\n3, 1\n"}, r"graph_labels\.txt line 1: must hold 1 "),
        ({"graph_labels": "7\n3.5\n"}, r"graph_labels\.txt line 2: must hold 1 .*"),
        ({"graph_labels": "7\n3.0\n"}, r"graph_labels\.txt line 2: must hold 1 .*"),
        ({"graph_labels": "7\nnan\n"}, r"graph_labels\.txt line 2: .* \(got 'nan'\)"),
        ({"node_labels": "5\n6\n5\n"}, r"node_labels\.txt must have one line per node"),
        ({"node_labels": "5\n6\n\n5\nC\n"}, r"node_labels\.txt line 5: must hold 1 .*"),
        ({"node_labels": "5\n6\n5\n99999999999999999999\n"}, r"node_labels\.txt line 4: .* \(got '9{20}'\)"),
        ({"node_labels": "5\n6,1\n5\n8\n"}, r"node_labels\.txt line 2: must hold 1 .*"),
        ({"edge_labels": "0\n0\n1\n"}, r"edge_labels\.txt must have one line per"),
        ({"edge_labels": "0\n1\n1\n1\n"}, r"edge_labels\.txt line 2"),
        ({"graph_indicator": "1\n1\n2\n1\n"}, r"graph_indicator\.txt line 4: .* never decrease"),
        ({"graph_indicator": "1\n1\n1\n3\n"}, r"graph_indicator\.txt line 4"),
        ({"graph_indicator": "2\n2\n2\n3\n"}, "line 1: every graph needs a node"),
        ({"graph_indicator": "0\n0\n0\n1\n"}, "line 1: graph numbers must start"),
        ({"A": "1, 2\n2, 5\n", "edge_labels": None}, r"_A\.txt line 2"),
        ({"A": "0, 2\n", "edge_labels": None}, r"_A\.txt line 1"),
        ({"A": "1, 2\n3, 4\n", "edge_labels": None}, "line 2: an edge must join .*"),
        ({"A": "1, 2\n\n3, 3\n", "edge_labels": None}, "line 3: self-loops are not allowed"),
        ({"A": "1 2\n"}, r"_A\.txt line 1"),
        ({"A": "1, 2, 3\n"}, r"_A\.txt line 1: must hold 2 .*"),
        ({"A": "1, 2\n2, 1\n2, 3\n3, x\n"}, r"_A\.txt line 4: must hold 2 .*"),
        ({"A": "1, 2\n2, \n"}, r"_A\.txt line 2: must hold 2 .*"),
        ({"A": "1, ²\n"}, r"_A\.txt line 1: must hold 2 .*"),
    ],
)
def test_each_broken_rule_is_named_in_one_line(
    write_tu: WriteTU, replaced: dict[str, str | None], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_tu(write_tu(**replaced))
    assert "\n" not in str(caught.value)


FILES = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels")


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks, graphs packed in files."""
    monkeypatch.setattr(tu, "_BLOCK_ROWS", 100)
    monkeypatch.setattr(tu, "_BLOCK_GRAPHS", 7)
    monkeypatch.setattr(batch, "MOST_UNPACKED", 0)
    monkeypatch.setattr(batch, "_MOST_IN_MEMORY", 100)


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
    assert len(whole.notes) == 3 + (rare is not None)  # the last names the class to be reached
    some = [5, 3, 17]
    assert list(read.subset(some)) == list(whole.subset(some))
    ours, theirs = read.batch(3, 9), whole.batch(3, 9)
    for name in ("labels", "edges", "node_ptr", "edge_ptr", "edge_labels"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.usefixtures("in_blocks")
def test_a_line_far_down_is_named(folder: Path) -> None:
    path = folder / "X_A.txt"
    lines = path.read_text().splitlines()
    lines[700:701] = ["", "1, 1"]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match="line 702: self-loops are not allowed"):
        read_tu(folder)


def test_one_of_several_datasets_is_chosen_by_name(write_tu: WriteTU) -> None:
    folder = write_tu()
    (folder / "OTHER_A.txt").write_text("")
    assert read_tu(folder).name == "TINY"  # that of the folder
    moved = folder.rename(folder.with_name("both"))
    assert read_tu(moved, "tiny").name == "TINY"
    with pytest.raises(InputError, match=r"must hold one dataset .* \(got OTHER, TINY\)"):
        read_tu(moved)


def graphs() -> st.SearchStrategy[Graph]:
    """Graphs of up to five nodes with node labels 0…2 and edge labels 0…1."""

    @st.composite
    def draw_graph(draw: st.DrawFn) -> Graph:
        labels = draw(st.lists(st.integers(0, 2), min_size=1, max_size=5))
        pairs = [(i, j) for j in range(len(labels)) for i in range(j)]
        edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
        return Graph(labels, edges, draw(st.lists(st.integers(0, 1), min_size=len(edges), max_size=len(edges))))

    return draw_graph()


@settings(max_examples=40)
@given(st.lists(graphs(), min_size=1, max_size=5), st.integers(0, 999))
def test_what_was_written_is_read(originals: list[Graph], seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, int, int]] = []
    start = 1
    for graph in originals:
        assert graph.edge_labels is not None
        for (i, j), label in zip((graph.edges + start).tolist(), graph.edge_labels.tolist(), strict=True):
            directions = [[(i, j)], [(j, i)], [(i, j), (j, i)], [(i, j), (i, j)]][rng.integers(4)]
            rows.extend((a, b, label) for a, b in directions)
        start += graph.num_nodes
    rng.shuffle(rows)
    texts = {
        "A": [f"{i}, {j}" for i, j, _ in rows],
        "edge_labels": [str(label) for *_, label in rows],
        "graph_indicator": [str(g) for g, graph in enumerate(originals, start=1) for _ in range(graph.num_nodes)],
        "graph_labels": ["0"] * len(originals),
        "node_labels": [str(label) for graph in originals for label in graph.labels],
    }
    with tempfile.TemporaryDirectory() as folder:
        for part, lines in texts.items():
            (Path(folder) / f"X_{part}.txt").write_text("\n".join(lines))
        data = read_tu(folder)
    assert data.edge_label_values is not None
    for original, graph in zip(originals, data.graphs, strict=True):
        assert graph.edges.tolist() == original.edges.tolist()
        assert data.label_values[graph.labels, 0].tolist() == original.labels.tolist()
        assert graph.edge_labels is not None
        assert original.edge_labels is not None
        assert data.edge_label_values[graph.edge_labels, 0].tolist() == original.edge_labels.tolist()


def test_any_changed_byte_is_read_or_refused_in_one_line(write_tu: WriteTU) -> None:
    folder = write_tu()
    num_read, refusals = 0, []
    for path in sorted(folder.iterdir()):
        original = path.read_bytes()
        for place in range(len(original)):
            for byte in b"09,.-\n\r\x00\xff x":
                path.write_bytes(original[:place] + bytes([byte]) + original[place + 1 :])
                try:
                    read_tu(folder)
                except InputError as error:
                    refusals.append(str(error))
                else:
                    num_read += 1
        path.write_bytes(original)
    assert num_read > 20
    assert len(refusals) > 100
    assert all("TINY_" in refusal and "\n" not in refusal for refusal in refusals)


README = """Node labels:		[symbol]

Node labels were converted to integer values using this map:

Component 0:
	0	C  
	1	Cl 

Component 1:
	0	ring
	1	chain

Edge labels were converted to integer values using this map:

Component 0:
	0	1
	1	2

Class labels were converted to integer values using this map:

	0	mutagen
	1	nonmutagen
"""  # noqa: W291


def test_maps_of_nodes_edges_and_classes() -> None:
    assert parse_label_maps(README.encode()) == LabelMaps(
        nodes=({0: "C", 1: "Cl"}, {0: "ring", 1: "chain"}),
        edges=({0: "1", 1: "2"},),
        classes={0: "mutagen", 1: "nonmutagen"},
    )


def test_names_may_stand_first() -> None:
    text = b"=== Node Label Conversion ===\nNode labels were converted to integer values using this map:\n\nComponent 0:\nO 0\nN 1\n"
    assert parse_label_maps(text).nodes == ({0: "O", 1: "N"},)


def test_a_new_heading_ends_a_map() -> None:
    text = b"Node labels were converted to integer values\n0 C\n=== References ===\n1 Author\n"
    assert parse_label_maps(text).nodes == ({0: "C"},)


def test_prose_is_no_map() -> None:
    assert parse_label_maps(b"README for dataset X\n\nn = total number of nodes\n1 one\n") == LabelMaps()
    assert parse_label_maps(b"") == LabelMaps()
    assert parse_label_maps(b"\xff\xfe\x00" * 50) == LabelMaps()
