"""Proof of every claim that `explanation.json` makes without showing a graph: `also_covers` and trivial coverage."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.files import write_atomically
from comrecgc.graphs import GraphBatch
from comrecgc.pipeline.inputs import Rejects
from comrecgc.pipeline.verification import Verified

TRIVIAL = -1
"""Stands for the recourse "change nothing"."""

_NAMES = ("labels", "edges", "node_ptr", "edge_ptr")


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
    buffer = io.BytesIO()
    np.savez_compressed(buffer, claims=witnesses.claims, **arrays)
    write_atomically(path, lambda file: file.write(buffer.getbuffer()))


def load_witnesses(path: Path) -> Witnesses:
    """Read them."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            batch = GraphBatch(**{name: stored[name] for name in stored.files if name != "claims"})
            witnesses = Witnesses(batch, stored["claims"])
            list(batch)  # graphs that are none are found here
    except InputError:
        raise
    except Exception as error:  # numpy and zipfile raise many kinds for damaged files
        raise InputError(f"{path} is damaged ({type(error).__name__})") from error
    return witnesses
