from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import pytest

from comrecgc.data import TableReading, load_dataset
from comrecgc.data.smiles import from_smiles_table
from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules import canonical_smiles, sanitise, to_smiles
from comrecgc.molecules.smiles import from_smiles

Chem = pytest.importorskip("rdkit.Chem", reason="SMILES need rdkit")
rdBase = pytest.importorskip("rdkit.rdBase")

BROKEN = """broken


  1  0  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 Qx  0  0
M  END
"""
TABLE = "name,SMILES,toxic\nethanol,CCO,1\nbenzonitrile,N#Cc1ccccc1,0\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "mine.csv"


def test_toy_table(table: Path) -> None:
    table.write_text(TABLE)
    dataset = from_smiles_table(table, class_names=("bad", "good"))
    assert dataset.name == "mine"
    assert dataset.label_names == ("c", "C", "N", "O")  # six, three, then one of each, in order of their names
    assert dataset[0] == Graph([1, 1, 3], [(0, 1), (1, 2)])
    assert dataset.names == ("ethanol", "benzonitrile")
    assert dataset[1].edge_labels is not None
    assert sorted(dataset[1].edge_labels.tolist()) == [0, 2, 3, 3, 3, 3, 3, 3]
    assert dataset.edge_label_names == ("single", "double", "triple", "aromatic")
    assert dataset.classes.tolist() == [1, 0]
    assert dataset.class_names == ("bad", "good")
    assert [to_smiles(graph, dataset.label_names) for graph in dataset] == ["CCO", "N#Cc1ccccc1"]
    assert dataset.notes[1:] == ()


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


@pytest.mark.parametrize(
    "text",
    [
        "CCO ethanol 1\n\nCC ethane 0\n",
        "smiles\tid\ttarget\nCCO\t1\t1\nCC\t1\t0\n",
        "CCO\tethyl alcohol\t1\nCC\tethane\t0\n",
    ],
)
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
    assert dataset.notes[1:] == ("3 rows that cannot be read were skipped: line 4, 5, 6.",)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TABLE + "bad,C1CC,1\n", {}, r"mine\.csv line 4"),
        (TABLE + "valence,C(C)(C)(C)(C)C,1\n", {}, r"line 4: Not a valid SMILES"),
        (TABLE + "dative,[NH3]->[Cu],1\n", {}, "line 4: Bonds must be single, double"),
        (TABLE + "odd,NC:C(=O)O,1\n", {}, "line 4: An aromatic bond must"),
        (TABLE + "short,CC\n", {}, "line 4: a row must have"),
        (TABLE + "long,CC,1,1\n", {}, "line 4: a row must have"),
        (TABLE + "x,CC,2\n", {"target": "toxic"}, "line 4: the class in column"),
        (TABLE + "x,CC,2\n", {}, "one column of classes 0 and 1"),
        ("smiles,class\nCC,yes\n", {}, "line 2: the class in column"),
        ("smiles,a,b\nCC,1,0\n", {}, "one column of classes 0 and 1, "),
        ("name,a\nCC,1\n", {}, "one column of SMILES"),
        ("x,y,class\nCCOC,CCCN,1\nCCCC,CCON,0\n", {}, "one column of SMILES, .*"),
        (TABLE + "a,C1,1\nb,N(C,0\n", {}, r"2 rows that cannot be read \(--skip-bad.*: line 4: Not .*; line 5: Not"),
        ("smiles,y\nCC,good\nCN,bad\nCO,bad\n", {}, r"accept \(--accept\) must name the value"),
        ("smiles,y\nCC,good\nCN,bad\nCO,bad\n", {"accept": "fine"}, "accept must be a value"),
        ("smiles,y\nCC,2.5\nCN,3.5\nCO,4\n", {}, r"threshold \(--threshold\) must separate the numbers"),
        ("smiles,y\nCC,2.5\nCN,3.5\nCO,4\n", {"threshold": 3, "accept": "more"}, r"accept must be 'higher' or 'lower'"),
        ("smiles,class\nCC,low\nCN,high\nCO,medium\nCF,low\n", {}, r"accept \(--accept\) must name the value"),
        (
            "ID,smiles,IC50\n1,CC,2\n2,CN,30\n3,CO,4\n",
            {},
            r"no such column among ID, smiles, IC50\); threshold \(--threshold\) turns numbers into classes, of column IC50",
        ),
        ("smiles,IC50\nCC,2\nCN,>30\nCO,4\n", {"threshold": 100}, "line 3: '>30' in column 'IC50'"),
        ('smiles,IC50\nCC,2\nCN,"1,500"\nCO,4\n', {"threshold": 100}, "line 3: column 'IC50' must hold numbers"),
        ("smiles,a,b\nCC,2,7\nCN,3,8\nCO,4,9\n", {"threshold": 3}, "one column of numbers for the threshold, "),
        ("smiles,y\nCC,2\nCN,x\n", {"threshold": 3, "target": "y"}, "line 3: column 'y' must hold numbers"),
        ("smiles,y\nCC,1\nCC,0\n", {}, r"every molecule appears with both classes"),
        (TABLE, {"label_names": ("C", "O")}, "line 3: atoms must be among C"),
        (TABLE, {"colour": "red"}, "Options are smiles, target, .*"),
        ("smiles_1,smiles_2,a\nCC,C,1\n", {}, r"one column of SMILES"),
        ("smiles,smiles,a\nCC,C,1\n", {}, "name each column once .*"),
        (TABLE, {"smiles": "structure"}, "smiles must be a column of .*"),
        (TABLE, {"target": "y"}, "target must be a column of .*"),
        (TABLE, {"accept": 2}, "accept must be 0 or 1"),
        (TABLE, {"on_error": "ignore"}, "on_error must be 'raise' or 'skip'"),
        ("", {}, r"mine\.csv must not be empty"),
        ("smiles,class\n", {}, "at least one usable molecule"),
        ("smiles,class\nC1,1\n", {"on_error": "skip"}, "at least one usable molecule"),
        ('smiles,class\n"CC,1\n', {}, r"mine\.csv line \d: not valid CSV"),
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
    with pytest.raises(InputError, match="must be UTF-8 text"):
        from_smiles_table(table)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Cannot read .*: Is a directory"):
        from_smiles_table(tmp_path)


def test_blanks_are_skipped_and_counted(table: Path) -> None:
    table.write_text(TABLE + "empty,,1\nnone,CC,\n")
    dataset = from_smiles_table(table)
    assert len(dataset) == 2
    assert dataset.notes[1:] == ("2 rows without a molecule or a class were skipped.",)


def test_classes_may_be_words(table: Path) -> None:
    table.write_text("smiles,result\nCC,active\nCN,inactive\nCO,inactive\n")
    dataset = from_smiles_table(table, accept="inactive")
    assert dataset.classes.tolist() == [0, 1, 1]
    assert dataset.class_names == ("active", "inactive")


@pytest.mark.parametrize(
    ("accept", "classes", "names"),
    [(None, [0, 1, 1], ("p < 6.5", "p ≥ 6.5")), ("lower", [1, 0, 0], ("p ≥ 6.5", "p < 6.5"))],
)
def test_classes_may_come_from_a_threshold(
    table: Path, accept: str | None, classes: list[int], names: tuple[str, str]
) -> None:
    table.write_text("p,smiles\n5,CC\n6.5,CN\n8e0,CO\n")
    dataset = from_smiles_table(table, threshold=6.5, accept=accept)
    assert dataset.classes.tolist() == classes
    assert dataset.class_names == names


def test_numbers_as_laboratories_write_them(table: Path) -> None:
    table.write_text("num;smiles;IC50\n1;CC;>10000\n2;CN;6,5\n3;CO;< 1\n4;CF;~ 200\n5;CCl;NaN\n6;CBr;n/a\n")
    dataset = from_smiles_table(table, threshold=100, accept="lower")
    assert dataset.classes.tolist() == [0, 1, 1, 0]
    assert dataset.class_names == ("IC50 ≥ 100", "IC50 < 100")
    assert dataset.notes[1:] == ("2 rows without a molecule or a class were skipped.",)


def test_a_table_may_have_no_header(table: Path) -> None:
    table.write_text("CCOC,1,1\nCCCCN,0,2\nc1ccccc1,1,3\n")
    dataset = from_smiles_table(table)
    assert [graph.num_nodes for graph in dataset] == [4, 5, 6]
    assert dataset.classes.tolist() == [1, 0, 1]
    table.write_text("SMILES,CONC\nCCOC,1\nCCCCN,0\n")  # a column may be called as a molecule is written
    assert [graph.num_nodes for graph in from_smiles_table(table)] == [4, 5]


def test_packed_and_wide_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode()))
    dataset = load_dataset(path)
    assert dataset.name == "mine"
    assert len(dataset) == 2
    path.write_bytes(gzip.compress(TABLE.encode())[:-9])
    with pytest.raises(InputError, match="must be a file that gzip"):
        from_smiles_table(path)
    path.write_bytes(TABLE.encode())
    with pytest.raises(InputError, match="must be a file that gzip"):
        from_smiles_table(path)
    (tmp_path / "wide.csv").write_bytes(TABLE.encode("utf-16"))
    assert len(from_smiles_table(tmp_path / "wide.csv")) == 2


def test_columns_are_found_by_their_contents(table: Path) -> None:
    table.write_text("num,who,p_np,structure\n1,a,1,CCOC\n2,b,0,CCCCN\n3,c,1,c1ccccc1\n")
    dataset = from_smiles_table(table)
    assert [graph.num_nodes for graph in dataset] == [4, 5, 6]
    assert dataset.classes.tolist() == [1, 0, 1]


def test_standard_forms_are_merged_and_counted(table: Path) -> None:
    table.write_text(
        "smiles,y\nCC(=O)[O-].[Na+],1\nCC(=O)O,1\nC[C@H](N)O,0\nC[C@@H](N)O,1\nC[N+](C)(C)C.[Cl-],0\nCCO,1\n[NH3+]CC,0\n"
    )
    dataset = from_smiles_table(table)
    assert [to_smiles(graph, dataset.label_names) for graph in dataset] == ["CC(=O)O", "C[N+](C)(C)C", "CCO", "CCN"]
    assert dataset.notes[1:] == (
        "Of 2 molecules in several parts (salts, solvents) the largest part was kept.",
        "2 molecules were neutralised.",
        "1 row repeated an earlier molecule, stereo apart, and was merged.",
        "2 rows of 1 molecule that appears with both classes were left out: line 4, 5.",
    )
    written = from_smiles_table(table, standardise=False)
    assert len(written) == 7
    assert to_smiles(written[0], written.label_names) == "CC(=O)[O-].[Na+]"
    assert len(from_smiles_table(table, need_classes=False)) == 7  # who applies rules wants an answer for every row


def test_sdf_files(tmp_path: Path) -> None:
    from rdkit import Chem

    path = tmp_path / "mine.sdf"
    writer = Chem.SDWriter(str(path))
    for smiles, name, value in (("CCO", "ethanol", "1"), ("c1cc[nH]c1", "pyrrole", "0"), ("C[N+](C)(C)C", "quat", "0")):
        molecule = Chem.MolFromSmiles(smiles)
        molecule.SetProp("_Name", name)
        molecule.SetProp("active", value)
        writer.write(molecule)
    writer.close()
    dataset = load_dataset(path)
    assert [to_smiles(graph, dataset.label_names) for graph in dataset] == ["CCO", "c1cc[nH]c1", "C[N+](C)(C)C"]
    assert dataset.classes.tolist() == [1, 0, 0]
    assert dataset.names == ("ethanol", "pyrrole", "quat")
    path.write_text(path.read_text().replace("$$$$\n", f"$$$$\n{BROKEN}$$$$\n", 1))
    with pytest.raises(InputError, match="record 2: Not a valid SMILES"):
        from_smiles_table(path)
    assert len(from_smiles_table(path, on_error="skip")) == 3


def test_a_column_taken_by_its_name_is_noted(tmp_path: Path) -> None:
    table = "smiles,active,toxic\nCCO,1,0\nCCN,0,1\nCCC,1,1\n"
    path = tmp_path / "two.csv"
    path.write_text(table)
    dataset = from_smiles_table(path)
    assert dataset.classes.tolist() == [1, 0, 1]
    assert dataset.notes[1:] == ("Classes are those of column 'active'; --target would take toxic instead.",)
    assert from_smiles_table(path, target="toxic").notes[1:] == ()


def test_a_target_of_names_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("smiles,name\n" + "".join(f"{'C' * k},m{k}\n" for k in range(1, 30)))
    with pytest.raises(InputError, match="column 'name' must hold classes, or accept "):
        from_smiles_table(path, target="name")


def test_a_table_of_drugs_as_it_is(data_root: Path) -> None:
    path = data_root / "BBBP.csv"
    if not path.is_file():
        pytest.skip(f"no {path}")
    with pytest.raises(InputError, match="has 11 rows that cannot be read "):
        load_dataset(path)
    dataset = load_dataset(path, reading=TableReading(on_error="skip"))
    assert len(dataset) == 1928
    assert dataset.names[0] == "Terbutylchlorambucil"
    assert {"C", "c", "[nH]", "N+", "O-"} < set(dataset.label_names)
    assert not {"Na+", "Cl-"} & set(dataset.label_names)
    for graph in dataset.graphs:
        molecule = sanitise(graph, dataset.label_names)
        assert molecule is not None
        smiles = canonical_smiles(molecule)
        assert from_smiles(smiles, dataset.label_names).num_nodes == graph.num_nodes
    whole = from_smiles_table(path, on_error="skip", standardise=False)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    with rdBase.BlockLogs():
        read = [molecule for row in rows if (molecule := Chem.MolFromSmiles(row["smiles"]))]
    assert len(read) == len(whole) == 2039
    for molecule, graph in zip(read, whole, strict=True):
        assert to_smiles(graph, whole.label_names) == canonical_smiles(molecule)


def test_the_class_to_be_reached_is_named(table: Path) -> None:
    table.write_text("smiles,toxic\nCC,1\nCN,0\nCO,0\n")
    found, other = from_smiles_table(table), from_smiles_table(table, accept=0)
    assert (found.class_names, other.class_names) == (("toxic = 0", "toxic = 1"), ("toxic = 1", "toxic = 0"))
    assert "toxic = 1" in found.notes[0]
    assert "--accept" in found.notes[0]
    assert "--accept" not in other.notes[0]


@pytest.mark.parametrize(
    ("file", "text"),
    [("a.csv", "smiles,CID,y\nCC,7,1\nCN,8,0\nCCO,9,0\n"), ("a.smi", "CC 7 1\nCN 8 0\nCCO 9 0\n"), ("b.smi", "CC 7\nCN 8\nCCO 9\n")],
)  # fmt: skip
def test_names_are_found(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    assert from_smiles_table(tmp_path / file, need_classes=False).names == ("7", "8", "9")
