from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from comrecgc.datasets import from_smiles_table, load_dataset
from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules import to_smiles

pytest.importorskip("rdkit", reason="SMILES need rdkit")

TABLE = "name,SMILES,toxic\nethanol,CCO,1\nbenzonitrile,N#Cc1ccccc1,0\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "mine.csv"


def test_toy_table(table: Path) -> None:
    table.write_text(TABLE)
    dataset = from_smiles_table(table, class_names=("bad", "good"))
    assert dataset.name == "mine"
    assert dataset.label_names == ("C", "N", "O")  # nine, then one of each, in order of their names
    assert dataset[0] == Graph([0, 0, 2], [(0, 1), (1, 2)])
    assert dataset[1].edge_labels is not None
    assert sorted(dataset[1].edge_labels.tolist()) == [0, 2, 3, 3, 3, 3, 3, 3]
    assert dataset.edge_label_names == ("single", "double", "triple", "aromatic")
    assert dataset.classes.tolist() == [1, 0]
    assert dataset.class_names == ("bad", "good")
    assert [to_smiles(graph, dataset.label_names) for graph in dataset] == ["CCO", "N#Cc1ccccc1"]
    assert dataset.notes == ()


def test_accept_may_be_zero(table: Path) -> None:
    table.write_text(TABLE)
    assert from_smiles_table(table, accept=0).classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        TABLE.replace(",", ";"),
        TABLE.replace(",", "\t"),
        "\ufeff" + TABLE.replace("\n", "\r\n"),
        TABLE.replace("\n", "\n\n"),
        TABLE.replace("SMILES", "canonical_smiles").replace(",1\n", ",1.0\n"),
        'a,smiles,b,class\n2,CCO,1,1\n3,"N#Cc1ccccc1",1,0\n',
    ],
)
def test_forms_of_the_same_table(table: Path, text: str) -> None:
    table.write_bytes(text.encode())
    dataset = from_smiles_table(table)
    assert [to_smiles(graph, dataset.label_names) for graph in dataset] == ["CCO", "N#Cc1ccccc1"]
    assert dataset.classes.tolist() == [1, 0]


@pytest.mark.parametrize("text", ["CCO ethanol 1\n\nCC ethane 0\n", "smiles\tid\ttarget\nCCO\t1\t1\nCC\t1\t0\n"])
def test_smi_files(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.smi").write_text(text)
    dataset = from_smiles_table(tmp_path / "mine.smi")
    assert [graph.num_nodes for graph in dataset] == [3, 2]
    assert dataset.classes.tolist() == [1, 0]


def test_columns_may_be_named(table: Path) -> None:
    table.write_text("left,right,a,b\nC,CC,0,1\nO,CCO,1,1\n")
    dataset = from_smiles_table(table, smiles="right", target="a")
    assert [graph.num_nodes for graph in dataset] == [2, 3]
    assert dataset.classes.tolist() == [0, 1]


def test_classes_may_be_missing_where_nobody_needs_them(table: Path) -> None:
    table.write_text("smiles,price\nCCO,3\nCN,1\n", encoding="utf-8")
    dataset = from_smiles_table(table, need_classes=False)
    assert dataset.classes.tolist() == [0, 0]
    assert [graph.num_nodes for graph in dataset] == [3, 2]
    assert load_dataset(table, need_classes=False).classes.tolist() == [0, 0]
    with pytest.raises(InputError, match="must have one column of classes"):
        from_smiles_table(table)
    table.write_text("smiles,class\nCCO,1\n", encoding="utf-8")
    assert from_smiles_table(table, need_classes=False).classes.tolist() == [1]


def test_bad_rows_may_be_skipped_and_are_noted(table: Path) -> None:
    table.write_text(TABLE + "bad,C1CC,1\nshort,CC\nunknown,CC,?\nfine,CC,0\n")
    dataset = from_smiles_table(table, target="toxic", on_error="skip")
    assert [graph.num_nodes for graph in dataset] == [3, 8, 2]
    assert dataset.classes.tolist() == [1, 0, 0]
    assert dataset.notes == ("3 rows that cannot be read were skipped: line 4, 5, 6.",)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TABLE + "bad,C1CC,1\n", {}, r"mine\.csv line 4: Not a valid SMILES of at least one atom \(got 'C1CC'\)"),
        (TABLE + "empty,,1\n", {}, r"line 4: Not a valid SMILES .* \(got ''\)"),
        (TABLE + "valence,C(C)(C)(C)(C)C,1\n", {}, r"line 4: Not a valid SMILES"),
        (TABLE + "dative,[NH3]->[Cu],1\n", {}, r"line 4: Bonds must be single, double, triple, aromatic"),
        (TABLE + "short,CC\n", {}, r"line 4: a row must have 3 columns like the first \(got 2\)"),
        (TABLE + "long,CC,1,1\n", {}, r"line 4: a row must have 3 columns like the first \(got 4\)"),
        (TABLE + "x,CC,2\n", {"target": "toxic"}, r"line 4: the class in column 'toxic' must be 0 or 1 \(got '2'\)"),
        (TABLE + "x,CC,\n", {"target": "toxic"}, r"line 4: the class in column 'toxic' must be 0 or 1 \(got ''\)"),
        (TABLE + "x,CC,2\n", {}, r"one column of classes 0 and 1, or target must name it \(got no such column\)"),
        ("smiles,class\nCC,yes\n", {}, r"line 2: the class in column 'class' must be 0 or 1 \(got 'yes'\)"),
        ("smiles,a,b\nCC,1,0\n", {}, r"one column of classes 0 and 1, .* \(got a, b\)"),
        ("name,a\nCC,1\n", {}, r"one column of SMILES, or smiles must name it \(got columns name, a\)"),
        ("smiles_1,smiles_2,a\nCC,C,1\n", {}, r"one column of SMILES"),
        ("smiles,smiles,a\nCC,C,1\n", {}, r"name each column once .* \(got 'smiles' twice\)"),
        (TABLE, {"smiles": "structure"}, r"smiles must be a column of .*: name, SMILES, toxic \(got 'structure'\)"),
        (TABLE, {"target": "y"}, r"target must be a column of .* \(got 'y'\)"),
        (TABLE, {"accept": 2}, r"accept must be 0 or 1 \(got 2\)"),
        (TABLE, {"on_error": "ignore"}, r"on_error must be 'raise' or 'skip' \(got 'ignore'\)"),
        ("", {}, r"mine\.csv must not be empty"),
        ("smiles,class\n", {}, r"at least one usable molecule \(got 0 rows"),
        ("smiles,class\nC1,1\n", {"on_error": "skip"}, r"at least one usable molecule \(got 1 rows, none usable\)"),
        ('smiles,class\n"CC,1\n', {}, r"mine\.csv line \d: not valid CSV, unexpected end of data"),
    ],
)
def test_what_cannot_be_used_is_named_in_one_line(
    table: Path, text: str, options: dict[str, Any], message: str
) -> None:
    table.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        from_smiles_table(table, **options)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text(table: Path) -> None:
    table.write_bytes(b"smiles,class\nCC\xff,1\n")
    with pytest.raises(InputError, match=r"must be UTF-8 text \(got a byte that is not at 15\)"):
        from_smiles_table(table)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Cannot read .*: Is a directory"):
        from_smiles_table(tmp_path)
