"""Plain arrays on disk: `.npz` files read without pickle, and only if every array is what it must be."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]

_TYPES = {"b": ("b1",), "i": ("i4", "i8"), "u": ("u8",), "f": ("f4", "f8")}
_LARGEST = 2**53


def read_arrays(path: Path, kinds: Mapping[str, str], optional: Mapping[str, str] | None = None) -> Arrays:
    """The arrays of a file written by `numpy.savez`.

    Args:
        path: The `.npz` file.
        kinds: Kind (`b`, `i`, `u`, `f` or text, `U`) and number of axes of every array: `u1`, `f2`.
        optional: The same of arrays that may be missing.

    Raises:
        Exception: Of many kinds, where the file is damaged or an array is not what it must be; the caller names the file.
    """
    contents = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        if sum(member.file_size for member in archive.infolist()) > len(contents):
            raise ValueError("it unpacks to more than its size")
    with np.load(io.BytesIO(contents), allow_pickle=False) as stored:
        arrays = dict(stored)
    for name, kind in {**kinds, **(optional or {})}.items():
        if name in kinds or name in arrays:
            _check(name, arrays[name], kind)
    return arrays


def _check(name: str, array: npt.NDArray[Any], kind: str) -> None:
    letter, axes = kind[0], int(kind[1])
    types = [np.dtype(each) for each in _TYPES.get(letter, ())] or [array.dtype]
    if array.dtype.kind != letter or array.dtype not in types or array.ndim != axes:
        raise ValueError(f"{name} is of another kind")
    if letter == "f" and not (np.abs(array) < _LARGEST).all():  # which NaN is not either
        raise ValueError(f"{name} must be finite and below 2**53, so that squares are finite too")
    if letter == "i" and array.size and max(-int(array.min()), int(array.max())) >= _LARGEST:
        raise ValueError(f"{name} must be below 2**53")


def check_pointers(ptr: npt.NDArray[np.int64], num_runs: int, total: int) -> None:
    """Refuse what does not cut `total` rows into `num_runs` runs."""
    if len(ptr) != num_runs + 1 or ptr[0] != 0 or ptr[-1] != total or (np.diff(ptr) < 0).any():
        raise ValueError("pointers must increase from 0 to the number of rows")


def require(condition: bool | np.bool_, rule: str) -> None:
    """Refuse a file that breaks a rule."""
    if not condition:
        raise ValueError(rule)
