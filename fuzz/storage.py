"""The readers of unfinished walks and searches."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.stubs import AvoidsLabel, Histogram, small_dataset

from comrecgc.algorithms.checkpoint import Checkpoint
from comrecgc.algorithms.paper.walk import MultiHeadWalk, Walker
from comrecgc.algorithms.vectors.search import (
    SEARCH_KINDS,
    DirectedSearch,
    Searcher,
    SearchState,
    decode_search,
    encode_search,
)
from comrecgc.cover import BallCover
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, apply_path
from comrecgc.scoring import NeighbourhoodScorer
from fuzz.choices import Choices
from fuzz.contract import emptied
from fuzz.mutation import NUMBERS, TEXTS, json_bytes, mutated_bytes, mutated_json
from fuzz.validity import check_graph

NAMES_FILE = True
MAX_SECONDS = 5.0
FACTS = {"of": 1}

_LABELS = 3
_WALK = MultiHeadWalk(num_heads=2, num_steps=40, teleport=0.1, capacity=50)
_SEARCH = DirectedSearch(
    theta=0.3, cover=BallCover(delta=0.05, num_recourses=2, num_starts=2), max_rounds=2, effort=0.5
)
_DTYPES = ("bool", "i1", "u1", "f2", "f4", "f8", "c8", "U3", "S3", "M8[s]", ">i8", "i8", "u8", "V4", "O")


@functools.cache
def inputs() -> list[Graph]:
    """The rejected graphs of a small dataset."""
    return [graph for graph in small_dataset(12) if (graph.labels == 2).any()]


@functools.cache
def scorer() -> NeighbourhoodScorer:
    return NeighbourhoodScorer(AvoidsLabel(2, _LABELS), Histogram(_LABELS), _LABELS, num_threads=1)


@functools.cache
def seeds() -> list[tuple[str, dict[str, npt.NDArray[Any]]]]:
    """Arrays of a walk under way, and of a search before and after its first centres."""
    walker = Walker(_WALK, scorer(), inputs())
    searcher = Searcher(_SEARCH, scorer())
    search = searcher.begin(inputs(), 0)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        walker.run(np.random.default_rng(0), Checkpoint(Path(folder) / "walk.npz", FACTS))
        for stop in ("swept", "planned"):
            search = searcher.step(search)
            Checkpoint(Path(folder) / f"search-{stop}.npz", FACTS).save(partial(encode_search, search))
        for name in ("walk", "search-swept", "search-planned"):
            with np.load(Path(folder) / f"{name}.npz") as arrays:
                found.append((name.split("-")[0], dict(arrays)))
    return found


def write(choices: Choices, folder: Path) -> None:
    """A checkpoint with an array that does not belong there, or other bytes."""
    name, arrays = choices.one_of(seeds())
    arrays = dict(arrays)
    for _ in range(choices.below(3)):
        key = choices.one_of(list(arrays))
        arrays[key] = hostile_array(choices, arrays[key])
    if choices.chance(0.1):
        del arrays[choices.one_of(list(arrays))]
    parts = {key: npy(array) for key, array in arrays.items()}
    key = choices.one_of(list(parts))
    match choices.below(12):
        case 0:
            parts[key] = mutated_bytes(choices, parts[key])
        case 1:  # a shape that its bytes do not fill
            parts[key] = parts[key].replace(b"'shape': (", b"'shape': (%d, " % choices.one_of((0, 7, 10**6, 10**12)), 1)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", choices.one_of((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for key, content in parts.items():
            archive.writestr(f"{key}.npy", content)
    data = buffer.getvalue()
    (folder / f"{name}.npz").write_bytes(mutated_bytes(choices, data) if choices.chance(0.1) else data)


def npy(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def hostile_array(choices: Choices, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of another type, shape or size, or with other values."""
    if array.dtype.kind == "U" and choices.chance(0.7):
        with contextlib.suppress(ValueError):  # it may be hostile already
            document = mutated_json(choices, json.loads(str(array)))
            return np.array(json_bytes(choices, document).decode("utf-8", "replace"))
    match choices.below(7):
        case 0:
            with np.errstate(all="ignore"):
                kind = choices.one_of(_DTYPES)
                try:
                    return array.astype(kind)
                except (TypeError, ValueError):
                    return np.zeros(array.shape, kind)
        case 1:
            return array[None] if choices.chance(0.5) else array.reshape(-1)
        case 2 if array.ndim:
            start, stop = choices.span(len(array))
            return np.delete(array, slice(start, stop), axis=0)
        case 3 if array.ndim and len(array):
            return np.repeat(array, 2, axis=0)
        case 4:
            return np.array(choices.one_of((*TEXTS, 0, -1, 10**6, float("nan"), True)))
    if array.dtype.kind not in "iuf" or not array.size:
        return array
    array = array.copy()
    value = choices.one_of(NUMBERS if array.dtype.kind == "f" else (0, 1, 2, 3, 4, 5, 7, 100, 2**31 - 1, 2**63 - 1))
    sign = -1 if array.dtype.kind != "u" and choices.chance(0.3) else 1
    with np.errstate(all="ignore"):
        limit = np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).max
        array.flat[choices.below(array.size)] = sign * (value if abs(value) <= min(limit, 1e308) else 9)
    return array


def read(folder: Path) -> None:
    """Load the checkpoint, go on from it, and load it again after writing it."""
    path = next(folder.iterdir())
    again = emptied(folder.parents[1] / "again") / path.name
    (_read_walk if path.stem == "walk" else _read_search)(path, again)


def _read_walk(path: Path, again: Path) -> None:
    walker = Walker(_WALK, scorer(), inputs())
    state = walker.load(Checkpoint(path, FACTS, resume=True))
    assert state is not None
    for reached in (*state.heads, *state.found.values()):
        check_graph(reached.graph, _LABELS)
        assert reached.graph == apply_path(inputs()[reached.start], reached.path)
    walker.save(state, Checkpoint(again, FACTS))
    twin = walker.load(Checkpoint(again, FACTS, resume=True))
    assert twin is not None
    for _ in range(2):
        walker.step(state)
        walker.step(twin)
    assert [head.key for head in state.heads] == [head.key for head in twin.heads]
    assert list(state.visits.items()) == list(twin.visits.items())


def _load_search(path: Path, searcher: Searcher) -> SearchState:
    fresh = searcher.begin(inputs(), 0)
    decode = partial(decode_search, fresh=fresh)
    state = Checkpoint(path, FACTS, resume=True).load(SEARCH_KINDS, decode, optional={"centres": "f2"})
    assert state is not None
    return state


def _read_search(path: Path, again: Path) -> None:
    searcher = Searcher(_SEARCH, scorer())
    state = _load_search(path, searcher)
    Checkpoint(again, FACTS).save(partial(encode_search, state))
    twin = _load_search(again, searcher)
    try:
        for _ in range(2):
            if not state.ended:
                state, twin = searcher.step(state), searcher.step(twin)
    except InputError:  # edits that cannot be made, which are found when they are wanted
        return
    assert state.curve == twin.curve
    pairs = state.pairs()
    assert len(pairs) == len(twin.pairs()) == state.num_found
    assert np.isfinite(pairs.vectors()).all()
