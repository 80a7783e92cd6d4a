"""Zip archives with the tricks that archives play."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

from fuzz.choices import Choices
from fuzz.mutation import mutated_bytes

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_KINDS = (stat.S_IFREG, stat.S_IFREG, 0, stat.S_IFLNK, stat.S_IFCHR, stat.S_IFDIR)
_CENTRAL = b"PK\x01\x02"
_LARGEST_LZMA = b"\xff\xff\xff\xff"  # a dictionary of 4 GB


def hostile_archive(choices: Choices, files: Mapping[str, bytes], outside: Path) -> bytes:
    """The files as an archive, perhaps with strange names, kinds, sizes or contents.

    Args:
        choices: Source of decisions.
        files: Contents by name.
        outside: A file that reading must not make.
    """
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # of names given twice
        for name, content in files.items():
            prefix = choices.one_of(("", "", "", "T/", "../", f"{outside}/", "a\\", "C:", "__MACOSX/", "./"))
            member = zipfile.ZipInfo(prefix + name if choices.chance(0.1) else name)
            member.compress_type = choices.one_of(_METHODS) if choices.chance(0.3) else zipfile.ZIP_DEFLATED
            member.external_attr = choices.one_of(_KINDS if choices.chance(0.1) else _KINDS[:3]) << 16
            archive.writestr(member, content)
    return _patched(choices, buffer.getvalue())


def _patched(choices: Choices, data: bytes) -> bytes:
    """One header of the archive changed, or its bytes, or nothing."""
    match choices.below(6):
        case 0 | 1:
            place = data.find(_CENTRAL, choices.below(len(data)))
            offset, size = choices.one_of(((8, 2), (10, 2), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4)))
            value = choices.one_of((0, 1, 12, 14, 9, 0x2001, 0xFFFF, 0xFFFFFFFF, 1 << 20)) & (1 << 8 * size) - 1
            return data if place < 0 else _at(data, place + offset, struct.pack("<Q", value)[:size])
        case 2:
            return mutated_bytes(choices, data)
        case 3 if b"\x09\x04\x05\x00\x5d" in data:  # the header of an LZMA member
            return _at(data, data.index(b"\x09\x04\x05\x00\x5d") + 5, _LARGEST_LZMA)
    return data


def _at(data: bytes, place: int, part: bytes) -> bytes:
    return data[:place] + part + data[place + len(part) :]
