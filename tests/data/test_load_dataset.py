from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from comrecgc.data import PlantedDataset, load_dataset
from comrecgc.errors import InputError


def test_a_folder_or_archive(
    write_tu: Callable[..., Path], write_zip: Callable[[Mapping[str, str]], Path], tiny_members: dict[str, str]
) -> None:
    assert list(load_dataset(str(write_tu()))) == list(load_dataset(write_zip(tiny_members)))


def test_a_table(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="SMILES need rdkit")
    (tmp_path / "mine.csv").write_text("smiles,class\nCCO,1\nCC,0\n")
    assert load_dataset(tmp_path / "mine.csv").name == "mine"


def test_planted_in_any_case() -> None:
    assert isinstance(load_dataset("Planted"), PlantedDataset)


def test_a_benchmark_in_any_case(data_root: Path) -> None:
    assert load_dataset("AIDS", data_root).name == "aids"


def test_a_path_with_the_name_of_a_benchmark_is_a_path(
    write_tu: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_tu("planted").parent)
    assert len(load_dataset(Path("planted"))) == len(load_dataset("./planted")) == 2
    assert len(load_dataset("planted")) == 600


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mutagenity", "did you mean mutagenicity?"),
        ("imdb", "did you mean imdb-multi or imdb-binary?"),
        ("qqq", "'qqq')"),
    ],
)
def test_unknown_names_get_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=r"^A dataset is one of aids, .*, planted, or the path") as caught:
        load_dataset(name)
    assert hint in str(caught.value)
    assert ("did you mean" in str(caught.value)) == (name != "qqq")


@pytest.mark.parametrize("name", ["missing.csv", "missing.zip", "missing.smi"])
def test_missing_files_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=name):
        load_dataset(tmp_path / name)
