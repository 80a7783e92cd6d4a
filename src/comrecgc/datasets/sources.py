"""Where benchmark archives are found: a given folder, `$COMRECGC_DATA`, the user's cache, and last the network."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from platformdirs import user_cache_path

from comrecgc.errors import InputError
from comrecgc.storage import write_atomically

DATA_VARIABLE = "COMRECGC_DATA"
_TIMEOUT = 30.0  # seconds without a byte
_MAX_DOWNLOAD = 64 << 20  # the largest benchmark is below 1 MB


def find_archive(name: str, root: str | Path | None = None) -> Path:
    """Folder or zip archive of a dataset of the TU collection; downloaded into the cache if nowhere at hand.

    Args:
        name: Name in the collection, in any case.
        root: Folder to look in first.
    """
    if root is not None and not Path(root).is_dir():
        raise InputError(f"root must be an existing folder (got {str(root)!r})")
    cache = user_cache_path("comrecgc") / "datasets"
    roots = [Path(place) for place in (root, os.environ.get(DATA_VARIABLE), cache) if place]
    for place in roots:
        for candidate in _candidates(place, name):
            return candidate
    return _download(name, cache, roots)


def _candidates(root: Path, name: str) -> Iterator[Path]:
    """What under a root may be the dataset: `NAME/`, `NAME/raw/` (PyG's layout), `NAME.zip`, or the root itself."""
    entries = _entries(root)
    folders = [root / entry for entry in entries if entry.lower() == name.lower()]
    archives = [root / entry for entry in entries if entry.lower() == f"{name}.zip".lower()]
    for folder in (*folders, *(folder / "raw" for folder in folders), root):
        if f"{name}_A.txt".lower() in (entry.lower() for entry in _entries(folder)):
            yield folder
    yield from (archive for archive in archives if archive.is_file())


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def _download(name: str, cache: Path, looked_in: list[Path]) -> Path:
    from http.client import HTTPException

    from torch_geometric.datasets import TUDataset  # seconds to import, and only needed for the address

    url, target = f"{TUDataset.url}/{name}.zip", cache / f"{name}.zip"
    try:
        contents = _fetch(url)
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        places = ", ".join(map(str, looked_in))
        advice = f"put {name}.zip in a folder and set {DATA_VARIABLE} to that folder"
        raise InputError(f"{name} is not in {places} and cannot be had from {url} ({reason}): {advice}") from error
    write_atomically(target, lambda file: file.write(contents))
    return target


def _fetch(url: str) -> bytes:
    """The zip archive at the address."""
    import urllib.request

    with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
        size = int(response.headers.get("Content-Length") or 0)
        contents: bytes = response.read(_MAX_DOWNLOAD + 1)
    if len(contents) > _MAX_DOWNLOAD:
        raise ValueError(f"it is larger than {_MAX_DOWNLOAD} bytes")
    if size and len(contents) != size:
        raise ValueError(f"the connection ended after {len(contents)} of {size} bytes")
    if not zipfile.is_zipfile(io.BytesIO(contents)):
        raise ValueError("what came is not a zip archive")
    return contents
