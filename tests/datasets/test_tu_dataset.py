from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from comrecgc.datasets import from_tu_folder
from comrecgc.datasets.tu_dataset import TUMeaning
from comrecgc.errors import InputError
from comrecgc.graphs import Graph

WriteTU = Callable[..., Path]
README = """Node labels were converted to integer values using this map:
Component 0:
	5	C
	6	O
	8	N
Edge labels were converted to integer values using this map:
Component 0:
	{first}
	{second}
Class labels were converted to integer values using this map:
	3	bad
	7	good
"""


def test_smaller_class_is_reject_and_unnamed_labels_name_themselves(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu())
    assert dataset.name == "TINY"
    assert dataset.classes.tolist() == [1, 0]
    assert dataset.class_names == ("class 3", "class 7")
    assert dataset.label_names == ("5", "6", "8")
    assert dataset.edge_label_names == ("0", "1")
    assert not dataset.is_molecular


def test_the_readme_gives_names_and_bonds(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu(label_readme=README.format(first="0\t1", second="1\t3")), name="mine")
    assert dataset.name == "mine"
    assert dataset.label_names == ("C", "O", "N")
    assert dataset.class_names == ("bad", "good")
    assert dataset.edge_label_names == ("single", "double", "triple")
    assert dataset[0].edge_labels is not None
    assert dataset[0].edge_labels.tolist() == [0, 2]  # valence 3 is a triple bond, though only two values occur
    assert dataset.is_molecular


def test_edge_names_that_are_no_bonds_stay(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu(label_readme=README.format(first="0\tnear", second="1\tfar")))
    assert dataset.edge_label_names == ("near", "far")


def test_accept_may_be_chosen(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu(label_readme=README.format(first="0\t1", second="1\t2")), accept=3)
    assert dataset.classes.tolist() == [0, 1]
    assert dataset.class_names == ("good", "bad")


def test_rare_labels_are_dropped_with_their_graphs_and_columns_closed_up(write_tu: WriteTU) -> None:
    folder = write_tu(graph_indicator="1\n1\n1\n2\n3\n", graph_labels="7\n3\n3\n", node_labels="5\n8\n5\n6\n8\n")
    assert from_tu_folder(folder).notes == ()
    dataset = from_tu_folder(folder, rare=1)
    assert list(dataset) == [Graph([0, 1, 0], [(0, 1), (1, 2)]), Graph([1], [])]
    assert dataset.label_names == ("5", "8")
    assert dataset.classes.tolist() == [1, 0]
    assert dataset.notes == ("1 graphs with labels that occur at most 1 times were dropped: 6.",)


def test_no_node_labels_is_one_label(write_tu: WriteTU) -> None:
    dataset = from_tu_folder(write_tu(node_labels=None, edge_labels=None))
    assert dataset.label_names == ("node",)
    assert dataset.edge_label_names is None


@pytest.mark.parametrize(
    ("classes", "options", "message"),
    [
        ("7\n7\n", {}, r"must have two classes \(got 7\)"),
        ("7\n3\n", {"accept": 5}, r"accept must be one of the classes 3 and 7 \(got 5\)"),
        ("7\n3\n", {"rare": 2}, r"rare must leave some graphs of TINY \(got 2"),
        ("7\n3\n", {"rare": -1}, r"rare must not be negative \(got -1\)"),
    ],
)
def test_bad_choices(write_tu: WriteTU, classes: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_tu_folder(write_tu(graph_labels=classes), **options)  # type: ignore[arg-type]


def test_three_classes_are_refused(write_tu: WriteTU) -> None:
    folder = write_tu(graph_indicator="1\n1\n1\n2\n3\n", graph_labels="1\n2\n3\n", node_labels="5\n8\n5\n6\n8\n")
    with pytest.raises(InputError, match=r"two classes \(got 1, 2, 3\)"):
        from_tu_folder(folder)


def test_meaning_checks_itself() -> None:
    with pytest.raises(InputError, match="rare"):
        TUMeaning(reject={0}, class_names=("a", "b"), rare=-1)
