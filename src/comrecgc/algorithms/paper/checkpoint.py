"""A walk on disk: its whole state as plain arrays, so that a killed walk goes on as if nothing had happened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.algorithms.paper.walk import Candidate, CandidatePool, Head, WalkState
from comrecgc.graphs import Graph, apply_paths, graph_key, path_arrays, read_paths
from comrecgc.run import Arrays, check_same_facts, load_arrays, refusing_damage, require, save_arrays

_COLUMNS = {"keys": "u1", "starts": "i1", "probabilities": "f1", "edits": "i2", "path_ptr": "i1"}
_KINDS = {"rng": "U0", "step": "i0", "starts": "i1", "visited": "u1", "visits": "i1"} | {
    **{f"{name}_{column}": kind for name in ("head", "pool") for column, kind in _COLUMNS.items()},
    "head_embeddings": "f2",
    "pool_visits": "i1",
}


def save_state(state: WalkState, path: Path, facts: dict[str, Any]) -> None:
    """Write a walk's state, whole or not at all.

    Args:
        state: The walk.
        path: An `.npz` file.
        facts: What the walk is of; it is resumed only with the very same.
    """
    found = list(state.pool.in_order_of_discovery())
    arrays: Arrays = {
        "rng": np.array(json.dumps(state.rng.bit_generator.state)),
        "step": np.array(state.step),
        "starts": state.starts,
        "visited": np.array(list(state.visits.keys()), dtype=np.uint64),
        "visits": np.array(list(state.visits.values()), dtype=np.int64),
        "head_embeddings": np.stack([head.embedding for head in state.heads]),
        "pool_visits": np.array([candidate.visits for candidate in found], dtype=np.int64),
        **_arrays("head", state.heads),
        **_arrays("pool", found),
    }
    save_arrays(path, arrays, facts)


def load_state(
    path: Path,
    inputs: Sequence[Graph],
    capacity: int,
    facts: dict[str, Any],
    *,
    heads: tuple[int, int] | None = None,
) -> WalkState:
    """The walk's state as it was saved.

    Args:
        path: The `.npz` file.
        inputs: The input graphs, with fresh ids.
        capacity: Capacity of the candidate pool.
        facts: What the walk must be of.
        heads: Number of heads and width of their embeddings; None for any.
    """
    arrays, theirs = load_arrays(path, _KINDS)
    check_same_facts(path, theirs, facts)
    with refusing_damage(path):
        _check(arrays, len(inputs), heads)
        rng = np.random.default_rng()
        rng.bit_generator.state = json.loads(str(arrays["rng"]))
        columns = zip(_rows("head", arrays, inputs), arrays["head_embeddings"], strict=True)
        standing = [Head(**row, embedding=embedding) for row, embedding in columns]
        pool = CandidatePool(capacity)
        for row, count in zip(_rows("pool", arrays, inputs), arrays["pool_visits"].tolist(), strict=True):
            pool.add(Candidate(**row, visits=count))
        visits = Counter(dict(zip(arrays["visited"].tolist(), arrays["visits"].tolist(), strict=True)))
        return WalkState(rng, standing, arrays["starts"].astype(np.int64), pool, visits, int(arrays["step"]))


def _check(arrays: Arrays, num_inputs: int, heads: tuple[int, int] | None) -> None:
    """What must hold of a walk's arrays, beyond their kinds."""
    require(heads is None or arrays["head_embeddings"].shape == heads, "heads are as many and as wide as the walk's")
    require(arrays["starts"].shape == (num_inputs,), "starts are counted for every input")
    for name in ("head", "pool"):
        starts, probabilities = arrays[f"{name}_starts"], arrays[f"{name}_probabilities"]
        require(((starts >= 0) & (starts < num_inputs)).all(), "paths begin at inputs")
        require(((probabilities >= 0) & (probabilities <= 1)).all(), "probabilities lie in [0, 1]")
    for name in ("step", "starts", "visits", "pool_visits"):
        require((arrays[name] >= 0).all(), f"{name} must not be negative")


def _arrays(name: str, places: Sequence[Head] | Sequence[Candidate]) -> Arrays:
    """Where heads stand or candidates are; graphs are not stored, their paths lead to them."""
    return {
        f"{name}_keys": np.array([place.key for place in places], dtype=np.uint64),
        f"{name}_starts": np.array([place.start for place in places], dtype=np.int64),
        f"{name}_probabilities": np.array([place.probability for place in places], dtype=np.float64),
        **path_arrays(name, [place.path for place in places]),
    }


def _rows(name: str, arrays: Arrays, inputs: Sequence[Graph]) -> list[dict[str, Any]]:
    """The inverse of `_arrays`, with the graphs."""
    keys, starts, probabilities = (
        arrays[f"{name}_{column}"].tolist() for column in ("keys", "starts", "probabilities")
    )
    paths = read_paths(name, arrays)
    graphs = apply_paths(inputs, starts, paths)
    require(keys == [graph_key(graph) for graph in graphs], "keys must be those of the graphs")
    names = ("key", "start", "probability", "path", "graph")
    return [dict(zip(names, row, strict=True)) for row in zip(keys, starts, probabilities, paths, graphs, strict=True)]
