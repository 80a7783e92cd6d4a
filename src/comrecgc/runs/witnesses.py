"""Proof of every claim that `explanation.json` makes without showing a graph: `also_covers` and trivial coverage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import GraphBatch
from comrecgc.pipeline.inputs import Rejects
from comrecgc.pipeline.verification import Verified
from comrecgc.storage import load_arrays, refusing_damage, save_arrays

TRIVIAL = -1
"""Stands for the recourse "change nothing"."""

_NAMES = ("labels", "edges", "node_ptr", "edge_ptr")
_KINDS = {"claims": "i2", "labels": "i1", "edges": "i2", "node_ptr": "i1", "edge_ptr": "i1"}


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Counterfactuals, and what each is a witness of.

    Args:
        graphs: The counterfactuals.
        claims: Rows (recourse, index of the input in the dataset, place in `graphs`), `[n, 3]`.
    """

    graphs: GraphBatch
    claims: npt.NDArray[np.int64]


def witnesses_of(verified: Verified, rejects: Rejects) -> Witnesses:
    """The counterfactuals by which recourses, and "change nothing", cover inputs."""
    recourses, inputs = np.nonzero(verified.cover.covers)
    rows = verified.cover.pairs[recourses, inputs]
    trivial = np.flatnonzero(verified.trivial >= 0)
    graphs = verified.pairs.candidates[np.concatenate([rows, verified.trivial[trivial]])]
    used, place = np.unique(graphs, return_inverse=True)
    claims = np.stack(
        [
            np.concatenate([recourses, np.full(len(trivial), TRIVIAL)]),
            rejects.indices[np.concatenate([inputs, trivial])],
            place,
        ],
        axis=1,
    )
    return Witnesses(GraphBatch.from_graphs(verified.graphs[i] for i in used), claims.astype(np.int64))


def save_witnesses(witnesses: Witnesses, path: Path) -> None:
    """Write them as plain arrays."""
    arrays = {name: getattr(witnesses.graphs, name) for name in _NAMES}
    if witnesses.graphs.edge_labels is not None:
        arrays["edge_labels"] = witnesses.graphs.edge_labels
    save_arrays(path, {"claims": witnesses.claims, **arrays}, compress=True)


def load_witnesses(path: Path) -> Witnesses:
    """Read them."""
    arrays, _ = load_arrays(path, _KINDS, optional={"edge_labels": "i1"}, compressed=True, advice="")
    with refusing_damage(path, advice=""):
        claims = arrays.pop("claims")
        graphs = GraphBatch(**arrays)
        list(graphs)  # graphs that are none are found here
        return Witnesses(graphs, claims)
