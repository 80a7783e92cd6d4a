"""Tests of comrecgc.run.files.

Also tests comrecgc.run.files, comrecgc.run.weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pytest

from comrecgc.errors import InputError
from comrecgc.run import read_json, write_atomically, write_json, write_text


def test_folders_are_made_and_contents_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    write_text(path, "one")
    write_text(path, "två")
    assert path.read_text(encoding="utf-8") == "två"
    assert [entry.name for entry in path.parent.iterdir()] == ["b.txt"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    write_text(path, "old")

    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"Cannot write .*b\.txt"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.txt"]


def test_json_round_trip_and_bad_json(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"θ": [0.1, None]})
    assert read_json(path) == {"θ": [0.1, None]}
    for text in ("{", "[" * 100_000, '{"a": 1}}'):
        path.write_text(text)
        with pytest.raises(InputError, match="is not valid JSON"):
            read_json(path)
    with pytest.raises(InputError, match="Cannot read"):
        read_json(tmp_path / "none.json")
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(path, float("nan"))
