"""Goals in numbers, and what tables of numbers may hold."""

from pathlib import Path

import numpy as np
import pytest

from comrecgc.data import Goal, TableReading, from_smiles_table
from comrecgc.data.goals import read_number
from comrecgc.errors import InputError

ALCOHOLS = ["C" * length + "O" for length in range(1, 9)]


def table(folder: Path, cells: list[str], smiles: list[str] = ALCOHOLS) -> Path:
    path = folder / "numbers.csv"
    path.write_text("smiles,pKi\n" + "".join(f"{one},{cell}\n" for one, cell in zip(smiles, cells, strict=False)))
    return path


def test_thresholds_are_relative_or_fixed() -> None:
    numbers = np.array([4.0, 7.5])
    assert Goal(raise_by=0.5).thresholds(numbers).tolist() == [4.5, 8.0]
    assert Goal(lower_by=0.5).thresholds(numbers).tolist() == [3.5, 7.0]
    assert Goal(to=7).thresholds(numbers).tolist() == [7.0, 7.0]
    assert Goal(to=7).surplus(numbers, numbers).tolist() == [-3.0, 0.5]
    assert Goal(to=7, lower=True).surplus(numbers, numbers).tolist() == [3.0, -0.5]
    assert Goal(lower_by=1).surplus(numbers, numbers - 3).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "given", [{}, {"raise_by": 1, "to": 7}, {"raise_by": -1}, {"lower_by": 0}, {"to": float("nan")}]
)
def test_a_goal_is_one_sound_number(given: dict[str, float]) -> None:
    with pytest.raises(InputError, match="goal"):
        Goal(**given)  # type: ignore[arg-type]


def test_numbers_are_kept_and_classes_follow_the_goal(tmp_path: Path) -> None:
    path = table(tmp_path, ["5", "5.5", "6", "6.5", "7", "7.5", "8", "8.5"])
    dataset = from_smiles_table(path, reading=TableReading(to=7))
    assert dataset.values is not None
    assert dataset.values.tolist() == [5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5]
    assert dataset.classes.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert from_smiles_table(path, reading=TableReading(to=7, accept="lower")).classes.tolist() == [
        1,
        1,
        1,
        1,
        1,
        0,
        0,
        0,
    ]


def test_a_molecule_measured_twice_has_the_mean(tmp_path: Path) -> None:
    path = table(tmp_path, ["5", "6", "7", "8"], ["CO", "CCO", "OC", "CCCO"])
    dataset = from_smiles_table(path, reading=TableReading(raise_by=1))
    assert dataset.values is not None
    assert dataset.values.tolist() == [6, 6, 8]


@pytest.mark.parametrize(
    ("cells", "goal", "words"),
    [
        (["5", "6", "inactive", "7"], {"raise_by": 0.5}, "line 4.*must hold numbers"),
        (["5", "6", ">10000", "7"], {"raise_by": 0.5}, "line 4.*bound"),
        (["5", "6", "6.5", "7"], {"to": 9.0}, "5 to 7"),
        (["5", "6", "6.5", "7"], {"raise_by": 3.0}, "5 to 7"),
        (["5", "6", "6.5", "7", "1200"], {"raise_by": 0.5}, "mix"),
        (["5", "6", "6.5", "7", "18", "100", "7.2"], {"raise_by": 0.5}, "mix"),
        (["5", "6", "18", "100", "2000", "350"], {"raise_by": 0.5}, "mix"),
    ],
)
def test_bad_numbers_are_one_line(tmp_path: Path, cells: list[str], goal: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        from_smiles_table(table(tmp_path, cells), reading=TableReading(target="pKi", **goal))  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_bounds_can_be_skipped(tmp_path: Path) -> None:
    path = table(tmp_path, ["5", "6", ">10000", "7"])
    assert len(from_smiles_table(path, target="pKi", raise_by=0.5, on_error="skip")) == 3


def test_concentrations_alone_are_no_mix(tmp_path: Path) -> None:
    cells = ["0.5", "12", "90", "200", "1000", "20000", "5", "800"]
    path = table(tmp_path, cells)
    path.write_text(path.read_text().replace("pKi", "Ki"))
    assert len(from_smiles_table(path, target="Ki", lower_by=100)) == 8


@pytest.mark.parametrize(("cell", "number"), [(" 5.2 ", 5.2), ("5,2", 5.2), ("1e-9", 1e-9), ("-3", -3.0)])
def test_numbers_are_read_as_written(cell: str, number: float) -> None:
    assert read_number(cell, "y") == number


def test_a_threshold_and_a_goal_exclude_each_other() -> None:
    with pytest.raises(InputError, match="threshold"):
        TableReading(threshold=7, to=7)
