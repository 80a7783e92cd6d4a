from __future__ import annotations

from comrecgc.datasets.label_maps import LabelMaps, parse_label_maps

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
