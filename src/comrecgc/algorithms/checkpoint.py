"""Checkpoints of unfinished searches: plain arrays and the facts that determine the answer, in one `.npz` file.

A search that is killed and resumed gives the same answer as without the interruption. Graphs are stored as an input and the edits
that lead to them, random generators as their state.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from comrecgc.cover import FloatArray
from comrecgc.graphs import EditPath, Graph, GraphBatch, apply_paths, fingerprint, path_arrays, read_paths
from comrecgc.run import Arrays, check_same_facts, load_arrays, refusing_damage, require, save_arrays
from comrecgc.scoring import NeighbourhoodScorer

SECONDS = 10.0
"""Seconds between two checkpoints."""

State = TypeVar("State")

_COLUMNS = {"keys": "u1", "starts": "i1", "probabilities": "f1", "embeddings": "f2", "edits": "i2", "path_ptr": "i1"}


@dataclass(eq=False)
class Checkpoint:
    """A file that holds an unfinished search."""

    path: Path | None = None  # an `.npz` file; None keeps nothing
    facts: Any = None  # what determines the answer, as JSON values. A file with other facts is refused
    resume: bool = False  # whether to continue from the file, if there is one
    seconds: float | None = None  # time between two checkpoints; None for `SECONDS`
    _saved: float = field(default_factory=time.monotonic)

    def load(
        self, kinds: Mapping[str, str], decode: Callable[[Arrays], State], *, optional: Mapping[str, str] | None = None
    ) -> State | None:
        """The stored search, rebuilt by `decode`; None if there is nothing to resume. `kinds` is as for `load_arrays`.

        Any error that `decode` raises means that the file is damaged.
        """
        if not self.resume or self.path is None or not self.path.exists():
            return None
        arrays, facts = load_arrays(self.path, kinds, optional=optional)
        check_same_facts(self.path, facts, self.facts)
        with refusing_damage(self.path):
            return decode(arrays)

    @property
    def is_due(self) -> bool:
        """Whether it is time to save again."""
        seconds = SECONDS if self.seconds is None else self.seconds
        return self.path is not None and time.monotonic() - self._saved >= seconds

    def save(self, encode: Callable[[], Arrays]) -> None:
        """Write the arrays, whole or not at all."""
        if self.path is not None:
            save_arrays(self.path, encode(), self.facts)
            self._saved = time.monotonic()


def model_facts(scorer: NeighbourhoodScorer, inputs: Sequence[Graph]) -> dict[str, Any]:
    """Fingerprints of the inputs, of the models (their answers on the inputs, and weights) and of the allowed edits, as JSON values."""
    digest = hashlib.sha256()
    if inputs:
        batch = GraphBatch.from_graphs(inputs)
        if scorer.classifier is not None:
            digest.update(np.asarray(scorer.classifier.accept_probability(batch), dtype=np.float64).tobytes())
        if scorer.embedder is not None:
            digest.update(np.asarray(scorer.embedder.embed(batch), dtype=np.float32).tobytes())
    weights: dict[str, Any] = getattr(scorer.classifier, "state_dict", dict)()
    for tensor in weights.values():
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return {
        "inputs": fingerprint(inputs),
        "models": digest.hexdigest()[:16],
        "num_labels": scorer.num_labels,
        "constraint": repr(scorer.constraint),
    }


def encode_rng(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """The state of a random generator as an array that holds one text."""
    return np.array(json.dumps(rng.bit_generator.state))


def decode_rng(array: np.ndarray[Any, Any]) -> np.random.Generator:
    """The inverse of `encode_rng`."""
    rng = np.random.default_rng()
    rng.bit_generator.state = json.loads(str(array))
    return rng


@dataclass(frozen=True, eq=False, slots=True)
class Reached:
    """A graph and the edits that lead to it."""

    start: int  # index of the input that the edits begin at
    graph: Graph  # the graph; its ids are those of the input
    key: int  # identity of the graph
    probability: float  # probability of accept
    embedding: FloatArray  # `z`, `[d]`
    path: EditPath = ()  # edits from the input to the graph, as first walked


def reached_kinds(name: str) -> dict[str, str]:
    """Dtype and number of axes of the arrays that `encode_reached` makes."""
    return {f"{name}_{column}": kind for column, kind in _COLUMNS.items()}


def encode_reached(name: str, rows: Sequence[Reached], width: int) -> Arrays:
    """Reached graphs as arrays whose names begin with `name`; `width` is that of the embeddings."""
    return {
        f"{name}_keys": np.array([row.key for row in rows], dtype=np.uint64),
        f"{name}_starts": np.array([row.start for row in rows], dtype=np.int64),
        f"{name}_probabilities": np.array([row.probability for row in rows], dtype=np.float64),
        f"{name}_embeddings": np.array([row.embedding for row in rows]).reshape(len(rows), width),
        **path_arrays(name, [row.path for row in rows]),
    }


def decode_reached(name: str, arrays: Arrays, inputs: Sequence[Graph], width: int) -> list[Reached]:
    """The inverse of `encode_reached`; inputs have fresh ids."""
    keys, starts, probabilities, embeddings = (arrays[f"{name}_{column}"] for column in list(_COLUMNS)[:4])
    paths = read_paths(name, arrays)
    require(len(keys) == len(starts) == len(probabilities) == len(paths), "every graph must have all its columns")
    require(embeddings.shape == (len(keys), width), "embeddings must be as wide as the embedder's")
    require(((starts >= 0) & (starts < len(inputs))).all(), "paths must begin at inputs")
    require(((probabilities >= 0) & (probabilities <= 1)).all(), "probabilities must lie in [0, 1]")
    graphs = apply_paths(inputs, starts.tolist(), paths)
    columns = zip(starts.tolist(), graphs, keys.tolist(), probabilities.tolist(), embeddings, paths, strict=True)
    return [Reached(*row) for row in columns]
