"""A walk on disk: its whole state as plain arrays, so that a killed walk goes on as if nothing had happened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.graphs import Graph, apply_path, apply_paths, graph_key, path_arrays, read_paths
from comrecgc.storage import Arrays, check_same_facts, load_arrays, refusing_damage, require, save_arrays
from comrecgc.walk.pool import Candidate, CandidatePool
from comrecgc.walk.walk import Head, WalkState

_KINDS = {
    "rng": "U0",
    "step": "i0",
    "starts": "i1",
    "visited": "u1",
    "visits": "i1",
    **{f"{name}_keys": "u1" for name in ("head", "pool")},
    **{f"{name}_starts": "i1" for name in ("head", "pool")},
    **{f"{name}_probabilities": "f1" for name in ("head", "pool")},
    **{f"{name}_edits": "i2" for name in ("head", "pool")},
    **{f"{name}_path_ptr": "i1" for name in ("head", "pool")},
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
    arrays: Arrays = {
        "rng": np.array(json.dumps(state.rng.bit_generator.state)),
        "step": np.array(state.step),
        "starts": state.starts,
        "visited": np.array(list(state.visits.keys()), dtype=np.uint64),
        "visits": np.array(list(state.visits.values()), dtype=np.int64),
        "head_starts": np.array([head.start for head in state.heads], dtype=np.int64),
        "head_keys": np.array([head.key for head in state.heads], dtype=np.uint64),
        "head_probabilities": np.array([head.probability for head in state.heads], dtype=np.float64),
        "head_embeddings": np.stack([head.embedding for head in state.heads]),
        **path_arrays("head", [head.path for head in state.heads]),
        **pool_arrays(state.pool.in_order_of_discovery()),
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
        standing = [
            Head(start, apply_path(inputs[start], path), key, probability, embedding, path)
            for start, key, probability, embedding, path in zip(
                *(arrays[f"head_{name}"].tolist() for name in ("starts", "keys", "probabilities")),
                arrays["head_embeddings"],
                read_paths("head", arrays),
                strict=True,
            )
        ]
        pool = CandidatePool(capacity)
        candidates = read_pool(arrays, inputs)
        keyed = [(head.key, head.graph) for head in standing] + [(each.key, each.graph) for each in candidates]
        require(all(key == graph_key(graph) for key, graph in keyed), "keys must be those of the graphs")
        for candidate in candidates:
            pool.add(candidate)
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


def pool_arrays(candidates: Iterable[Candidate]) -> Arrays:
    """Candidates as arrays; graphs are not stored, their paths lead to them."""
    listed = list(candidates)
    return {
        "pool_keys": np.array([candidate.key for candidate in listed], dtype=np.uint64),
        "pool_probabilities": np.array([candidate.probability for candidate in listed], dtype=np.float64),
        "pool_starts": np.array([candidate.start for candidate in listed], dtype=np.int64),
        "pool_visits": np.array([candidate.visits for candidate in listed], dtype=np.int64),
        **path_arrays("pool", [candidate.path for candidate in listed]),
    }


def read_pool(arrays: Arrays, inputs: Sequence[Graph]) -> list[Candidate]:
    """The inverse of `pool_arrays`."""
    keys, probabilities, starts, visits = (
        arrays[f"pool_{name}"].tolist() for name in ("keys", "probabilities", "starts", "visits")
    )
    paths = read_paths("pool", arrays)
    graphs = apply_paths(inputs, starts, paths)
    columns = zip(keys, graphs, probabilities, starts, paths, visits, strict=True)
    return [Candidate(*each) for each in columns]
