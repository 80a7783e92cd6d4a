"""The state of a directed search between two steps: the graphs reached from each input, bounded in number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.checkpoint import model_facts
from comrecgc.cover import FloatArray, RecoursePairs, recourse_vectors
from comrecgc.graphs import BoolArray, EditPath, Graph, IntArray, KeyArray, LongArray, path_arrays, pointers, read_paths
from comrecgc.run import Arrays, check_pointers, require
from comrecgc.scoring import Neighbourhood, NeighbourhoodScorer

if TYPE_CHECKING:
    from comrecgc.algorithms.vectors.search import DirectedSearch


@dataclass(frozen=True, eq=False)
class ReachedGraphs:
    """Graphs reached from one input."""

    keys: KeyArray  # identity of each graph, `[n]`
    sizes: IntArray  # `|H|`, `[n]`
    probabilities: FloatArray  # probability of accept, `[n]`
    embeddings: FloatArray  # `z(H)`, `[n, d]`
    paths: tuple[EditPath, ...]  # edits from the input to each graph

    @classmethod
    def none(cls, width: int) -> ReachedGraphs:
        """No graphs, of embeddings of this width."""
        empty = np.zeros(0, np.float32)
        return cls(empty.astype(np.uint64), empty.astype(np.int32), empty, np.zeros((0, width), np.float32), ())

    @classmethod
    def from_neighbourhood(
        cls, path: EditPath, neighbourhood: Neighbourhood, rows: npt.NDArray[np.intp]
    ) -> ReachedGraphs:
        """Some neighbours of the graph at the end of a path."""
        assert neighbourhood.probability is not None
        assert neighbourhood.embedding is not None
        sizes = neighbourhood.graph.size + neighbourhood.table.size_changes()[rows]
        return cls(
            neighbourhood.keys[rows],
            sizes.astype(np.int32),
            neighbourhood.probability[rows],
            neighbourhood.embedding[rows],
            tuple((*path, neighbourhood.table[int(row)]) for row in rows),
        )

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def from_columns(cls, columns: Iterable[npt.NDArray[Any]], paths: Iterable[EditPath]) -> ReachedGraphs:
        """The inverse of `columns`."""
        keys, sizes, probabilities, embeddings = columns
        return cls(keys, sizes, probabilities, embeddings, tuple(paths))

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """All but the paths."""
        return self.keys, self.sizes, self.probabilities, self.embeddings

    def __add__(self, other: ReachedGraphs) -> ReachedGraphs:
        """Both, each graph once: the first path to it stays."""
        fresh = other.select(~np.isin(other.keys, self.keys))
        joined = map(np.concatenate, zip(self.columns, fresh.columns, strict=True))
        return ReachedGraphs.from_columns(joined, self.paths + fresh.paths)

    def select(self, rows: npt.NDArray[np.intp] | BoolArray) -> ReachedGraphs:
        """The graphs under a mask or at these rows, in this order."""
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return ReachedGraphs.from_columns(
            (column[rows] for column in self.columns), (self.paths[row] for row in rows.tolist())
        )


@dataclass(eq=False)
class InputState:
    """An input and what is known around it."""

    graph: Graph  # the input `G`
    embedding: FloatArray  # `z(G)`, `[d]`
    found: ReachedGraphs  # its counterfactuals within θ
    frontier: ReachedGraphs  # graphs seen and not yet expanded
    expanded: set[int] = field(default_factory=set)  # keys of graphs whose neighbours were looked at

    def vectors(self, sizes: IntArray, embeddings: FloatArray) -> FloatArray:
        """Recourse vectors from the input to graphs of these sizes and embeddings, `[n, d]`."""
        return recourse_vectors(self.embedding, self.graph.size, embeddings, sizes)


@dataclass(frozen=True, slots=True)
class Task:
    """One input to work on in a round."""

    input: int  # index of the input
    budget: int  # graphs to expand
    num_aims: int  # how many of the centres, the first ones, to aim at; 0 looks at the input's own neighbours only


@dataclass(kw_only=True, eq=False)
class SearchState:
    """A search between two steps."""

    inputs: list[InputState]  # what is known around each input
    seed: int  # seed of all draws
    plan: list[Task]  # what to do in this round
    done: int = 0  # how much of the plan is done
    centres: FloatArray | None = None  # centres chosen last, `[R, d]`; None before the end of the sweep
    curve: list[float] = field(default_factory=list)  # share covered after the sweep and every round
    num_found: int = 0  # counterfactuals held of all inputs
    ended: bool = False  # whether the search is over
    complete: bool = False  # whether it converged; False while it runs, and when time was up

    @property
    def progress(self) -> tuple[str, int, int, str]:
        """How far it has come, as `Progress` takes it: stage, inputs done in it and in all, and a word on what was found."""
        word = f"{self.num_found} counterfactuals"
        if not self.curve:
            return "sweep", self.done, len(self.plan), word
        return f"round {len(self.curve)}", self.done, len(self.plan), f"{self.curve[-1]:.1%} covered, {word}"

    def vectors(self) -> tuple[FloatArray, LongArray]:
        """Recourse vectors of all counterfactuals found, `[n, d]`, and the input of each, `[n]`."""
        pairs = self._pairs()
        return pairs.vectors(), pairs.inputs.astype(np.int64)

    @property
    def width(self) -> int:
        return len(self.inputs[0].embedding) if self.inputs else 1

    def pairs(self) -> RecoursePairs:
        """Every input with its own counterfactuals; candidate `j` is the `j`-th of all, input after input."""
        pairs = self._pairs()
        vectors = pairs.vectors()
        squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
        return replace(pairs, norms=np.sqrt(squares).astype(np.float32))

    def _pairs(self) -> RecoursePairs:
        """The pairs, their norms not yet known."""
        none = np.zeros((0, self.width), dtype=np.float32)
        counts = np.diff(self._ends)
        return RecoursePairs(
            input_embeddings=np.concatenate([none, *(known.embedding[None, :] for known in self.inputs)]),
            input_sizes=np.array([known.graph.size for known in self.inputs], dtype=np.int32),
            candidate_embeddings=np.concatenate([none, *(known.found.embeddings for known in self.inputs)]),
            candidate_sizes=np.concatenate([np.zeros(0, np.int32), *(known.found.sizes for known in self.inputs)]),
            inputs=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
            candidates=np.arange(self._ends[-1], dtype=np.int32),
            norms=np.zeros(self._ends[-1], dtype=np.float32),
        )

    def path(self, candidate: int) -> EditPath:
        """Edits from its input to a candidate of `pairs`."""
        owner = int(np.searchsorted(self._ends, candidate, side="right")) - 1
        return self.inputs[owner].found.paths[candidate - int(self._ends[owner])]

    @cached_property
    def _ends(self) -> LongArray:
        """Where the candidates of each input begin, and the end, `[num_inputs + 1]`; every step makes a new state."""
        return pointers([len(known.found) for known in self.inputs])


# The search as the arrays of a checkpoint.


_COLUMNS = ("keys", "sizes", "probabilities", "embeddings")
SEARCH_KINDS = {"plan": "i2", "done": "i0", "curve": "f1", "ended": "b0", "expanded": "u1", "expanded_ptr": "i1"} | {
    f"{name}_{column}": kind
    for name in ("found", "frontier")
    for column, kind in zip(
        ("ptr", *_COLUMNS, "edits", "path_ptr"), ("i1", "u1", "i1", "f1", "f2", "i2", "i1"), strict=True
    )
}


def search_facts(search: DirectedSearch, scorer: NeighbourhoodScorer, state: SearchState) -> dict[str, Any]:
    """What determines a search, as JSON values."""
    facts = model_facts(scorer, [known.graph for known in state.inputs])
    return {"search": asdict(search), "seed": state.seed, **facts}


def encode_search(state: SearchState) -> Arrays:
    """A search as arrays."""
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
    return arrays


def decode_search(arrays: Arrays, fresh: SearchState) -> SearchState:
    """The inverse of `encode_search`, given the search before its first step."""
    _check(arrays, fresh)
    found, frontier = (_read_reached(name, arrays) for name in ("found", "frontier"))
    runs = pairwise(arrays["expanded_ptr"].tolist())
    expanded = [set(arrays["expanded"][start:stop].tolist()) for start, stop in runs]
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
        complete=bool(arrays["ended"]),  # a search that ran out of time is stored as it was before that
    )


def _check(arrays: Arrays, fresh: SearchState) -> None:
    """Refuse arrays that cannot be those of a search; whether edits can be applied is seen when they are."""
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
