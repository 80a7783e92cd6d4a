"""A flat set of small files, read from a folder or straight out of a zip archive.

Archives may be hostile, so nothing is ever extracted: members are read in memory by their last name, and an
archive with a member that could write outside its folder, or that unpacks to an absurd size, is refused as a whole.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from platformdirs import user_cache_path

from comrecgc.errors import InputError
from comrecgc.run import write_atomically

MAX_BYTES = 2 << 30
"""Largest file that is read whole, in bytes."""

MAX_UNPACKED = 1 << 40
"""Largest unpacked size of an archive, in bytes."""

MAX_RATIO = 500
"""Largest compression factor of a large archive; real label files stay below it."""

_SMALL = 8 << 20  # a tiny archive of one repeated digit may well exceed MAX_RATIO
_ENCRYPTED = 0x1
_BUFFER = 1 << 20
# What zipfile raises on a damaged archive, depending on the damaged part.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError)


@dataclass(frozen=True, kw_only=True)
class FileSet:
    """Files by their plain names."""

    path: Path  # the folder or the zip archive
    members: Mapping[str, str]  # where each file is: its path below the folder, or its name in the archive
    zipped: bool  # whether `path` is an archive

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def where(self, name: str) -> str:
        """Name of a file for error messages."""
        return f"{self.path}:{name}" if self.zipped else str(self.path / name)

    def read(self, name: str) -> bytes:
        """Contents of a file."""
        if name not in self.members:
            raise InputError(f"{self.path} must hold a file {name}")
        with reading_archive(self.where(name)):
            if self.size(name) > MAX_BYTES:
                raise InputError(f"{self.where(name)} must be at most {MAX_BYTES} bytes (got {self.size(name)})")
            with self.open(name) as file:
                return file.read()

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading in blocks."""
        if name not in self.members:
            raise InputError(f"{self.path} must hold a file {name}")
        with reading_archive(self.where(name)):
            if not self.zipped:
                return (self.path / self.members[name]).open("rb")
            # Lines of a member are read byte by byte in Python unless buffered.
            member = zipfile.ZipFile(self.path).open(self.members[name])  # noqa: SIM115
            return io.BufferedReader(member, _BUFFER)  # type: ignore[type-var]

    def size(self, name: str) -> int:
        """Bytes of a file, unpacked."""
        with reading_archive(self.where(name)):
            if not self.zipped:
                return (self.path / self.members[name]).stat().st_size
            with zipfile.ZipFile(self.path) as archive:
                return archive.getinfo(self.members[name]).file_size


@contextmanager
def reading_archive(where: str) -> Iterator[None]:
    """Turn what a damaged archive raises into a one-line `InputError`."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"Cannot read {where}: {_one_line(error)}") from error


def open_files(path: Path) -> FileSet:
    """The files directly in a folder, or all members of a zip archive that is neither damaged, encrypted, too large nor unsafe."""
    try:
        if path.is_dir():
            return FileSet(path=path, members={f.name: f.name for f in path.iterdir() if f.is_file()}, zipped=False)
        if not path.is_file():
            raise InputError(f"{path} must be an existing folder or zip archive")
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"Cannot read {path} as a folder or zip archive: {_one_line(error)}") from error
    _check_size(path, members)
    return FileSet(path=path, members=_by_plain_name(path, members), zipped=True)


def _check_size(path: Path, members: list[zipfile.ZipInfo]) -> None:
    # zipfile never hands out more than the declared size, so the declared sizes bound what reading can take.
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED:
        raise InputError(f"{path} must unpack to at most {MAX_UNPACKED} bytes (got {unpacked})")
    packed = max(path.stat().st_size, 1)
    if unpacked > _SMALL and unpacked > MAX_RATIO * packed:
        raise InputError(f"{path} must not unpack to more than {MAX_RATIO} times its size (got {unpacked // packed})")


def _by_plain_name(path: Path, members: list[zipfile.ZipInfo]) -> dict[str, str]:
    names: dict[str, str] = {}
    for member in members:
        _check_member(path, member)
        name = PurePosixPath(member.filename).name
        if name.startswith(".") or "__MACOSX" in member.filename:  # left there by macOS
            continue
        if name in names:
            raise InputError(f"{path} must hold each file once (got {name} twice)")
        names[name] = member.filename
    return names


def _check_member(path: Path, member: zipfile.ZipInfo) -> None:
    name = member.orig_filename
    parts = name.split("/")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if not name or name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0] or "\0" in name:
        raise InputError(f"{path} must hold only plain relative names (got {name[:80]!r})")
    if kind not in (0, stat.S_IFREG):
        raise InputError(f"{path} must hold only regular files, no links or devices (got {name[:80]!r})")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may ask for gigabytes to unpack
        raise InputError(
            f"{path} must hold members stored or deflated (got method {member.compress_type} of {name[:80]!r})"
        )
    if member.flag_bits & _ENCRYPTED:
        raise InputError(f"{path} must not be encrypted (got an encrypted member {name[:80]!r})")


def _one_line(error: BaseException) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(reason).split())[:200]


# Where benchmark archives are found: a given folder, `$COMRECGC_DATA`, the user's cache, and last the network.


DATA_VARIABLE = "COMRECGC_DATA"
_TIMEOUT = 30.0  # seconds without a byte
_MAX_DOWNLOAD = 64 << 20  # the largest benchmark is below 1 MB


def find_archive(name: str, root: str | Path | None = None) -> Path:
    """Folder or zip archive of a dataset of the TU collection, looked for in `root` first; downloaded into the cache if it is not found."""
    if root is not None and not Path(root).is_dir():
        raise InputError(f"root must be an existing folder (got {str(root)!r})")
    cache = user_cache_path("comrecgc") / "datasets"
    roots = [Path(place) for place in (root, os.environ.get(DATA_VARIABLE), cache) if place]
    for place in roots:
        for candidate in _candidates(place, name):
            return candidate
    return _download(name, cache, roots)


def _candidates(root: Path, name: str) -> Iterator[Path]:
    """Places under a root where the dataset may be: `NAME/`, `NAME/raw/` (PyG's layout), `NAME.zip`, or the root itself."""
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
        raise InputError(
            f"{name} is not in {places} and cannot be downloaded from {url} ({reason}): {advice}"
        ) from error
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
        raise ValueError("the answer is not a zip archive")
    return contents
