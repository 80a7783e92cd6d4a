"""A tiny dataset in the TU format, to be spoilt in one place by each test."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

WriteTU = Callable[..., Path]

# A path C-O-C with bonds 1 and 2, and a single N.
TINY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n",
    "edge_labels": "0\n0\n1\n1\n",
    "graph_indicator": "1\n1\n1\n2\n",
    "graph_labels": "7\n3\n",
    "node_labels": "5\n6\n5\n8\n",
}


@pytest.fixture
def write_tu(tmp_path: Path) -> WriteTU:
    """Writes the tiny dataset to a folder, with some files replaced (None: left out), and returns the folder."""

    def write(name: str = "TINY", /, **replaced: str | None) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for part, text in (TINY | replaced).items():
            if text is not None:
                (folder / f"{name}_{part}.txt").write_text(text)
        return folder

    return write


@pytest.fixture
def write_zip(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Writes a zip archive of the given members."""

    def write(members: Mapping[str, str]) -> Path:
        path = tmp_path / "archive.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        return path

    return write


@pytest.fixture
def tiny_members() -> dict[str, str]:
    """The tiny dataset as members of an archive, nested the way the collection does it."""
    return {f"TINY//TINY_{part}.txt": text for part, text in TINY.items()}
