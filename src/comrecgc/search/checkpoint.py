"""A search on disk: its whole state as plain arrays, so that a killed search goes on as if nothing had happened."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from comrecgc.graphs import GraphBatch, fingerprint, path_arrays, pointers, read_paths
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.search.state import InputState, ReachedGraphs, SearchState, Task
from comrecgc.storage import (
    Arrays,
    check_pointers,
    check_same_facts,
    load_arrays,
    refusing_damage,
    require,
    save_arrays,
)

if TYPE_CHECKING:
    from comrecgc.search.search import DirectedSearch

_COLUMNS = ("keys", "sizes", "probabilities", "embeddings")
_KINDS = {"plan": "i2", "done": "i0", "curve": "f1", "ended": "b0", "expanded": "u1", "expanded_ptr": "i1"} | {
    f"{name}_{column}": kind
    for name in ("found", "frontier")
    for column, kind in zip(
        ("ptr", *_COLUMNS, "edits", "path_ptr"), ("i1", "u1", "i1", "f1", "f2", "i2", "i1"), strict=True
    )
}


def search_facts(search: DirectedSearch, scorer: NeighbourhoodScorer, state: SearchState) -> dict[str, Any]:
    """What determines a search: its parameters, the inputs, and what the models and the constraint say of them."""
    said = b"".join(known.embedding.tobytes() for known in state.inputs)
    if scorer.classifier is not None and state.inputs:
        graphs = GraphBatch.from_graphs(known.graph for known in state.inputs)
        said += np.asarray(scorer.classifier.accept_probability(graphs), dtype=np.float64).tobytes()
        weights: dict[str, Any] = getattr(scorer.classifier, "state_dict", dict)()
        said += b"".join(tensor.detach().cpu().numpy().tobytes() for tensor in weights.values())
    return {
        "search": asdict(search),
        "seed": state.seed,
        "inputs": fingerprint([known.graph for known in state.inputs]),
        "models": hashlib.sha256(said).hexdigest()[:16],
        "num_labels": scorer.num_labels,
        "constraint": repr(scorer.constraint),
    }


def save_search(path: Path, state: SearchState, facts: dict[str, Any]) -> None:
    """Write a search, whole or not at all.

    Args:
        path: An `.npz` file.
        state: The search.
        facts: What the search is of; it is resumed only with the very same.
    """
    expanded = [sorted(known.expanded) for known in state.inputs]
    arrays: Arrays = {
        "plan": np.array([(p.input, p.budget, p.num_aims) for p in state.plan], dtype=np.int64).reshape(-1, 3),
        "done": np.array(state.done),
        "curve": np.array(state.curve, dtype=np.float64),
        "ended": np.array(state.ended),
        "expanded": np.array([key for keys in expanded for key in keys], dtype=np.uint64),
        "expanded_ptr": pointers([len(keys) for keys in expanded]),
        **_reached_arrays("found", [known.found for known in state.inputs]),
        **_reached_arrays("frontier", [known.frontier for known in state.inputs]),
    }
    if state.centres is not None:
        arrays["centres"] = state.centres
    save_arrays(path, arrays, facts)


def load_search(path: Path, fresh: SearchState, facts: dict[str, Any]) -> SearchState:
    """The search as it was saved.

    Args:
        path: The `.npz` file.
        fresh: The search as it began.
        facts: What the search must be of.
    """
    arrays, theirs = load_arrays(path, _KINDS, optional={"centres": "f2"})
    check_same_facts(path, theirs, facts)
    with refusing_damage(path):
        _check(arrays, fresh)
        found, frontier = (_read_reached(name, arrays) for name in ("found", "frontier"))
        expanded = [
            set(arrays["expanded"][start:stop].tolist()) for start, stop in pairwise(arrays["expanded_ptr"].tolist())
        ]
        inputs = [
            InputState(known.graph, known.embedding, found[i], frontier[i], expanded[i])
            for i, known in enumerate(fresh.inputs)
        ]
        return replace(
            fresh,
            inputs=inputs,
            plan=[Task(*row) for row in arrays["plan"].tolist()],
            done=int(arrays["done"]),
            centres=arrays.get("centres"),
            curve=arrays["curve"].tolist(),
            num_found=sum(len(graphs) for graphs in found),
            ended=bool(arrays["ended"]),
            complete=bool(arrays["ended"]),  # a search cut short is kept as it was before that
        )


def _check(arrays: Arrays, fresh: SearchState) -> None:
    """What must hold of a search's arrays, beyond their kinds; whether edits can be made is seen when they are."""
    num_inputs = len(fresh.inputs)
    for name in ("found", "frontier"):
        sizes, probabilities = arrays[f"{name}_sizes"], arrays[f"{name}_probabilities"]
        check_pointers(arrays[f"{name}_ptr"], num_inputs, len(sizes))
        require(
            arrays[f"{name}_embeddings"].shape == (len(sizes), fresh.width), "embeddings are as wide as the inputs'"
        )
        require(arrays[f"{name}_keys"].shape == probabilities.shape == sizes.shape, "every graph has all its columns")
        require((sizes > 0).all(), "sizes are positive")
        require(((probabilities >= 0) & (probabilities <= 1)).all(), "probabilities lie in [0, 1]")
    check_pointers(arrays["expanded_ptr"], num_inputs, len(arrays["expanded"]))
    centres, plan, curve = arrays.get("centres", np.zeros((0, fresh.width))), arrays["plan"], arrays["curve"]
    require(centres.shape[1] == fresh.width, "centres are as wide as the inputs' embeddings")
    require(plan.shape[1] == 3 and (plan >= 0).all(), "plans have three numbers each")
    require(len(np.unique(plan[:, 0])) == len(plan), "plans are of different inputs")
    require(0 <= int(arrays["done"]) <= len(plan), "done is within the plan")
    require((plan < [max(1, num_inputs), np.inf, len(centres) + 1]).all(), "plans are of inputs and centres")
    require(((curve >= 0) & (curve <= 1)).all(), "coverage lies in [0, 1]")


def _reached_arrays(name: str, graphs: Sequence[ReachedGraphs]) -> Arrays:
    """Graphs reached from all inputs, end to end."""
    columns = map(np.concatenate, zip(*(reached.columns for reached in graphs), strict=True))
    return {
        f"{name}_ptr": pointers([len(reached) for reached in graphs]),
        **{f"{name}_{column}": values for column, values in zip(_COLUMNS, columns, strict=True)},
        **path_arrays(name, [path for reached in graphs for path in reached.paths]),
    }


def _read_reached(name: str, arrays: Arrays) -> list[ReachedGraphs]:
    paths, columns = read_paths(name, arrays), [arrays[f"{name}_{column}"] for column in _COLUMNS]
    require(len(paths) == len(columns[0]), "every graph has a path")
    return [
        ReachedGraphs.from_columns((column[start:stop] for column in columns), paths[start:stop])
        for start, stop in pairwise(arrays[f"{name}_ptr"].tolist())
    ]
