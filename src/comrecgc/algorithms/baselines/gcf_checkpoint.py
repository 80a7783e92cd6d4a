"""An unfinished walk of GCFExplainer as a file: every graph visited, by its edits, and what is known of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.algorithms.baselines.frequencies import FrequencyTable
from comrecgc.algorithms.baselines.gcf_walk import GcfState, GcfWalker, Visited
from comrecgc.graphs import apply_paths, path_arrays, pointers, read_paths
from comrecgc.run import check_pointers, check_same_facts, load_arrays, refusing_damage, require, save_arrays

_KINDS = {
    "rng": "U0", "step": "i0", "current": "u0", "keys": "u1", "frequencies": "i1", "starts": "i1",
    "probabilities": "f1", "embeddings": "f2", "edits": "i2", "path_ptr": "i1", "covers": "i1", "cover_ptr": "i1",
}  # fmt: skip


def save_walk(path: Path, state: GcfState, facts: dict[str, Any]) -> None:
    """Keep a walk in a file.

    Args:
        path: The file.
        state: The walk.
        facts: What it depends on.
    """
    rows = [state.seen[key] for key in state.table.keys]
    paths = path_arrays("seen", [row.path for row in rows])
    save_arrays(
        path,
        {
            "rng": np.array(json.dumps(state.rng.bit_generator.state)),
            "step": np.array(state.step),
            "current": np.array(state.current.key, dtype=np.uint64),
            "keys": np.array(state.table.keys, dtype=np.uint64),
            "frequencies": state.table.frequencies,
            "starts": np.array([row.start for row in rows], dtype=np.int64),
            "probabilities": np.array([row.probability for row in rows], dtype=np.float64),
            "embeddings": np.stack([row.embedding for row in rows]),
            "edits": paths["seen_edits"],
            "path_ptr": paths["seen_path_ptr"],
            "covers": np.concatenate([np.zeros(0, np.int32), *(row.covers for row in rows)]),
            "cover_ptr": pointers([len(row.covers) for row in rows]),
        },
        facts,
    )


def load_walk(path: Path, walker: GcfWalker, facts: dict[str, Any]) -> GcfState:
    """The walk that a file keeps, checked.

    Args:
        path: The file.
        walker: Goes on with it.
        facts: What it must depend on.
    """
    arrays, theirs = load_arrays(path, _KINDS)
    check_same_facts(path, theirs, facts)
    inputs = walker.subject.inputs
    with refusing_damage(path):
        keys, starts, covers, ptr = arrays["keys"].tolist(), arrays["starts"], arrays["covers"], arrays["cover_ptr"]
        paths = read_paths("seen", {f"seen_{name}": arrays[name] for name in ("edits", "path_ptr")})
        rows = {len(arrays[name]) for name in ("keys", "frequencies", "starts", "probabilities", "embeddings")}
        require(rows == {len(paths)}, "every graph has all its facts")
        check_pointers(ptr, len(keys), len(covers))
        require(((starts >= 0) & (starts < len(inputs))).all(), "paths begin at inputs")
        require(((covers >= 0) & (covers < len(inputs))).all(), "graphs cover inputs")
        require((np.diff(arrays["frequencies"]) <= 0).all(), "the most visited come first")
        graphs = apply_paths(inputs, starts.tolist(), paths)
        seen = {
            key: Visited(key, graph, start, edits, p, z, covers[begin:end].astype(np.int32))
            for key, graph, start, edits, p, z, begin, end in zip(
                keys, graphs, starts.tolist(), paths, arrays["probabilities"].tolist(), arrays["embeddings"],
                ptr[:-1], ptr[1:], strict=True,
            )
        }  # fmt: skip
        require(arrays["embeddings"].shape[1] == walker.embeddings.shape[1], "embeddings are as wide as the embedder's")
        require(int(arrays["current"]) in seen, "the head stands on a graph it has seen")
        table = FrequencyTable(walker.walk.capacity)
        table.restore(keys, arrays["frequencies"].tolist())
        counts = np.zeros(len(inputs), np.int64)
        for key in keys[: len(inputs)]:
            if seen[key].accepted:
                counts[seen[key].covers] += 1
        rng = np.random.default_rng()
        rng.bit_generator.state = json.loads(str(arrays["rng"]))
        return GcfState(rng, seen[int(arrays["current"])], table, seen, counts, int(arrays["step"]))
