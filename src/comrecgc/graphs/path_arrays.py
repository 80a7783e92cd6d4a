"""Edit paths as flat arrays, for files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.graphs.batch import pointers
from comrecgc.graphs.edits import Edit, EditKind
from comrecgc.graphs.paths import EditPath
from comrecgc.storage import check_pointers


def path_arrays(name: str, paths: Sequence[EditPath]) -> dict[str, npt.NDArray[Any]]:
    """Paths end to end: every edit as three numbers, and where each path begins."""
    edits = np.array([edit for path in paths for edit in path], dtype=np.int32).reshape(-1, 3)
    return {f"{name}_edits": edits, f"{name}_path_ptr": pointers([len(path) for path in paths])}


def read_paths(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> list[EditPath]:
    """The inverse of `path_arrays`."""
    edits = [Edit(EditKind(kind), first, second) for kind, first, second in arrays[f"{name}_edits"].tolist()]
    ptr = arrays[f"{name}_path_ptr"]
    check_pointers(ptr, len(ptr) - 1, len(edits))
    return [tuple(edits[start:stop]) for start, stop in pairwise(ptr.tolist())]
