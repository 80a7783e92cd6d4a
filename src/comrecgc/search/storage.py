"""A search on disk: its whole state as plain arrays, so that a killed search goes on as if nothing had happened."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from comrecgc.graphs import GraphBatch, fingerprint, path_arrays, pointers, read_paths
from comrecgc.neighbourhood import NeighbourhoodScorer
from comrecgc.search.leads import InputState, Leads
from comrecgc.search.state import Pursuit, SearchState
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

_KINDS = {
    "plan": "i2",
    "done": "i0",
    "curve": "f1",
    "ended": "b0",
    "expanded": "u1",
    "expanded_ptr": "i1",
    **{f"{name}_ptr": "i1" for name in ("found", "frontier")},
    **{f"{name}_keys": "u1" for name in ("found", "frontier")},
    **{f"{name}_sizes": "i1" for name in ("found", "frontier")},
    **{f"{name}_probabilities": "f1" for name in ("found", "frontier")},
    **{f"{name}_embeddings": "f2" for name in ("found", "frontier")},
    **{f"{name}_edits": "i2" for name in ("found", "frontier")},
    **{f"{name}_path_ptr": "i1" for name in ("found", "frontier")},
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
        "expanded_ptr": pointers(np.array([len(keys) for keys in expanded], dtype=np.int64)),
        **_lead_arrays("found", [known.found for known in state.inputs]),
        **_lead_arrays("frontier", [known.frontier for known in state.inputs]),
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
        found, frontier = (_read_leads(name, arrays, len(fresh.inputs)) for name in ("found", "frontier"))
        ends = arrays["expanded_ptr"].tolist()
        keys = arrays["expanded"].tolist()
        inputs = [
            InputState(known.graph, known.embedding, found[i], frontier[i], set(keys[ends[i] : ends[i + 1]]))
            for i, known in enumerate(fresh.inputs)
        ]
        return replace(
            fresh,
            inputs=inputs,
            plan=[Pursuit(*row) for row in arrays["plan"].tolist()],
            done=int(arrays["done"]),
            centres=arrays.get("centres"),
            curve=arrays["curve"].tolist(),
            num_found=sum(len(leads) for leads in found),
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
        require(arrays[f"{name}_keys"].shape == probabilities.shape == sizes.shape, "every lead has all its columns")
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


def _lead_arrays(name: str, leads: Sequence[Leads]) -> Arrays:
    """Leads of all inputs, end to end."""
    return {
        f"{name}_ptr": pointers(np.array([len(lead) for lead in leads], dtype=np.int64)),
        f"{name}_keys": np.concatenate([lead.keys for lead in leads]),
        f"{name}_sizes": np.concatenate([lead.sizes for lead in leads]),
        f"{name}_probabilities": np.concatenate([lead.probabilities for lead in leads]),
        f"{name}_embeddings": np.concatenate([lead.embeddings for lead in leads]),
        **path_arrays(name, [path for lead in leads for path in lead.paths]),
    }


def _read_leads(name: str, arrays: Arrays, num_inputs: int) -> list[Leads]:
    ends = arrays[f"{name}_ptr"].tolist()
    paths = read_paths(name, arrays)
    require(len(paths) == ends[-1], "every lead has a path")
    keys, sizes, probabilities, embeddings = (
        arrays[f"{name}_{column}"] for column in ("keys", "sizes", "probabilities", "embeddings")
    )
    parts = [slice(ends[i], ends[i + 1]) for i in range(num_inputs)]
    return [Leads(keys[part], sizes[part], probabilities[part], embeddings[part], tuple(paths[part])) for part in parts]
