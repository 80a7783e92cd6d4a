"""A large table, read block after block, gives the dataset that reading it whole gives; so does a Parquet file of the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from comrecgc.data import GraphDataset, load_dataset, tables
from comrecgc.data.smiles import from_smiles_table
from comrecgc.errors import InputError
from comrecgc.graphs import PackedGraphs, batch

pytest.importorskip("rdkit")

ROWS = [
    ("a", "CCO", "1"), ("b", "c1ccccc1N", "0"), ("c", "CC(=O)O", "1"), ("d", "OCC", "1"), ("e", "C[N+](=O)[O-]", "0"),
    ("f", "CCCl", "1"), ("g", "ClCC", "0"), ("h", "", "1"), ("i", "CC(C)Br.[Na+]", "1"), ("j", "c1ccsc1", "0"), ("k", "CCN", "0"),
]  # fmt: skip


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "IN_BLOCKS", 0)
    monkeypatch.setattr(batch, "MOST_UNPACKED", 0)
    monkeypatch.setattr(tables, "_BLOCK", 4)


def written(path: Path) -> Path:
    blank = " " if path.suffix == ".smi" else ","
    rows = [(name, smiles, kind) for name, smiles, kind in ROWS if smiles or blank == ","]
    path.write_text(
        "\n".join(blank.join((smiles, name, kind)) for name, smiles, kind in [("id", "smiles", "y"), *rows])
    )
    return path


def assert_same(ours: GraphDataset, theirs: GraphDataset, *, lines: str = "") -> None:
    """Equal in everything; `lines` is what the first calls the lines that the second names."""
    assert isinstance(ours.graphs, PackedGraphs) or isinstance(theirs.graphs, tuple)
    assert list(ours) == list(theirs)
    for name in ("label_names", "class_names", "edge_label_names", "names"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.notes == tuple(note.replace("line 7, 8", lines or "line 7, 8") for note in theirs.notes)
    assert ours.classes.tolist() == theirs.classes.tolist()


@pytest.mark.parametrize("ending", [".csv", ".smi"])
@pytest.mark.parametrize("need_classes", [True, False])
def test_blocks_give_the_same_dataset(
    tmp_path: Path, ending: str, need_classes: bool, request: pytest.FixtureRequest
) -> None:
    path = written(tmp_path / f"mine{ending}")
    whole = from_smiles_table(path, need_classes=need_classes)
    request.getfixturevalue("in_blocks")
    assert_same(from_smiles_table(path, need_classes=need_classes), whole)
    assert len(whole) == (7 if need_classes else 10)


@pytest.mark.parametrize("large", [False, True])
def test_a_parquet_file_is_a_table(tmp_path: Path, large: bool, request: pytest.FixtureRequest) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    whole = load_dataset(written(tmp_path / "mine.csv"))
    columns = {name: [row[place] for row in ROWS] for place, name in ((1, "smiles"), (0, "id"))}
    parquet.write_table(pa.table(columns | {"y": [int(row[2]) for row in ROWS]}), tmp_path / "mine.parquet")
    if large:
        request.getfixturevalue("in_blocks")
    assert_same(load_dataset(tmp_path / "mine.parquet"), whole, lines="row 6, 7")  # it has no line of names
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no, it is not")
    with pytest.raises(InputError, match=r"Cannot read .*bad\.parquet as a Parquet file"):
        load_dataset(tmp_path / "bad.parquet")


@pytest.mark.usefixtures("in_blocks")
@pytest.mark.parametrize(
    ("line", "text", "message"),
    [(9, "C1CC,x,1", r"mine.csv line 10: .*"), (9, "CCC,x,7", "mine.csv line 10"), (9, "CCC,x", "mine.csv line 10")],
)
def test_a_bad_row_is_named(tmp_path: Path, line: int, text: str, message: str) -> None:
    path = written(tmp_path / "mine.csv")
    lines = path.read_text().splitlines()
    lines[line] = text
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=message):
        from_smiles_table(path)
