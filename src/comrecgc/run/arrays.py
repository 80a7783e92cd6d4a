"""Arrays on disk: `.npz` files with JSON facts, read without pickle, and only if every array is what it must be.

Unfinished walks, searches and trainings and the witnesses of finished runs are all stored this way.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.run.files import reason_of, write_atomically

Arrays = dict[str, npt.NDArray[Any]]

RESTART = ": start anew without resuming"

_FACTS = "facts"
_TYPES = {"b": ("b1",), "i": ("i1", "i2", "i4", "i8"), "u": ("u1", "u8"), "f": ("f4", "f8")}
_LARGEST = 2**53
_LARGEST_UNPACKED = 1 << 30  # bytes


def save_arrays(
    path: Path, arrays: Mapping[str, npt.NDArray[Any]], facts: Any = None, *, compress: bool = False
) -> None:
    """Write arrays to an `.npz` file, whole or not at all.

    Args:
        path: The file.
        arrays: Arrays by name.
        facts: Anything JSON can say about them; it is stored with the names of the arrays. None stores neither.
        compress: Whether to trade time for space.
    """
    stored = dict(arrays)
    if facts is not None:
        stored[_FACTS] = np.array(json.dumps([sorted(arrays), facts], sort_keys=True))
    buffer = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(buffer, **stored)  # type: ignore[arg-type]
    write_atomically(path, lambda file: file.write(buffer.getbuffer()))


def load_arrays(
    path: Path,
    kinds: Mapping[str, str] | None = None,
    *,
    optional: Mapping[str, str] | None = None,
    compressed: bool = False,
    advice: str = RESTART,
) -> tuple[Arrays, Any]:
    """The arrays and facts of a file written by `save_arrays`; None where there are no facts.

    Args:
        path: The `.npz` file.
        kinds: Kind (`b`, `i`, `u`, `f` or text, `U`) and number of axes of every array: `u1`, `f2`. None takes whatever
            numbers the file holds, if it has facts.
        optional: The same of arrays that may be missing.
        compressed: Whether the file may unpack to more than its size.
        advice: What to do about a damaged file, the end of the message.
    """
    with refusing_damage(path, advice):
        contents = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(contents)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            require(size <= (_LARGEST_UNPACKED if compressed else len(contents)), "it unpacks to more than its size")
        with np.load(io.BytesIO(contents), allow_pickle=False) as stored:
            arrays = dict(stored)
        facts = None
        if _FACTS in arrays or kinds is None:
            text = arrays.pop(_FACTS)
            _check(_FACTS, text, "U0")
            names, facts = json.loads(str(text))
            require(names == sorted(arrays), "some arrays are missing")
        expected = dict.fromkeys(arrays, "") if kinds is None else kinds
        for name, kind in {**expected, **(optional or {})}.items():
            if name in expected or name in arrays:
                _check(name, arrays[name], kind)
        return arrays, facts


def check_same_facts(path: Path, theirs: Any, ours: Any) -> None:
    """Refuse to go on from a file that was made with other parameters, models or data."""
    if theirs != json.loads(json.dumps(ours)):
        raise InputError(f"{path} was made with other parameters, models or data{RESTART}")


@contextmanager
def refusing_damage(path: Path, advice: str = RESTART) -> Iterator[None]:
    """Whatever goes wrong while the block makes sense of a file is told as one line that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error
    except Exception as error:  # numpy and zipfile raise many kinds for damaged files
        raise InputError(f"{path} is damaged ({type(error).__name__}){advice}") from error


def check_pointers(ptr: npt.NDArray[np.int64], num_runs: int, total: int) -> None:
    """Refuse what does not cut `total` rows into `num_runs` runs."""
    ends = len(ptr) == num_runs + 1 and ptr[0] == 0 and ptr[-1] == total
    require(ends and not (np.diff(ptr) < 0).any(), "pointers must increase from 0 to the number of rows")


def require(condition: bool | np.bool_, rule: str) -> None:
    """Refuse a file that breaks a rule."""
    if not condition:
        raise ValueError(rule)


def _check(name: str, array: npt.NDArray[Any], kind: str) -> None:
    letter = array.dtype.kind
    types = [np.dtype(each) for each in _TYPES.get(letter, ())]
    require(array.dtype in types or (letter == "U" and kind == "U0"), f"{name} is of another type")
    require(kind in ("", f"{letter}{array.ndim}"), f"{name} is of another kind")
    if letter == "f":  # which NaN is not either
        require((np.abs(array) < _LARGEST).all(), f"{name} must be finite and below 2**53, so that squares are too")
    if letter == "i" and array.size:
        require(max(-int(array.min()), int(array.max())) < _LARGEST, f"{name} must be below 2**53")
