"""Brackets of the graph edit distance: `lower <= distance <= upper`, with a node mapping that attains `upper`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, EditPath, Graph, GraphBatch, IntArray, LongArray, ordered_edge, pointers
from comrecgc.models import edit_distance_kernels

Pair = tuple[Graph, Graph]

_CHUNK = 16  # pairs handed to a thread at a time: large enough to hide the call, small enough to share work
_GROWTH = 3  # of the effort from one round to the next under a time limit


@dataclass(frozen=True, kw_only=True)
class Effort:
    """A budget in units of work, so that the same seed gives the same answer on any machine.

    The figures hold for molecules; for pairs of more than about 100 nodes they shrink, as each unit costs more.

    Args:
        sweeps: Swaps tried by the annealing, per node pair.
        ascents: Steps of the linear relaxation.
        nodes: Nodes of the exact search.
    """

    sweeps: int
    ascents: int
    nodes: int

    def __post_init__(self) -> None:
        for name in ("sweeps", "ascents", "nodes"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must be at least 0 (got {getattr(self, name)})")

    def times(self, factor: int) -> Effort:
        """The same mix, `factor` times as much."""
        return Effort(sweeps=factor * self.sweeps, ascents=factor * self.ascents, nodes=factor * self.nodes)


EFFORTS = {
    "fast": Effort(sweeps=10, ascents=60, nodes=0),
    "normal": Effort(sweeps=20, ascents=100, nodes=50),
    "thorough": Effort(sweeps=50, ascents=200, nodes=1000),
    "exact": Effort(sweeps=100, ascents=300, nodes=10_000_000),
}
"""Efforts by name. A pair stops as soon as it is closed; "exact" stops only then, or at ten million search nodes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GEDInterval:
    """Bounds on the distance from G to H.

    Args:
        lower: No edit path is shorter.
        upper: Cost of the edit path of `mapping`.
        mapping: Position in H of each node of G, -1 for a deleted one, `[n]`; nodes of H not named are inserted.
    """

    lower: int
    upper: int
    mapping: IntArray

    @property
    def is_exact(self) -> bool:
        """Whether the distance is known: the mapping is optimal."""
        return self.lower == self.upper

    @property
    def gap(self) -> float:
        """`(upper − lower) / upper`, 0 for a known distance."""
        return (self.upper - self.lower) / self.upper if self.upper else 0.0


def ged_interval(
    source: Graph, target: Graph, *, effort: str | Effort = "normal", seed: int = 0, seconds: float | None = None
) -> GEDInterval:
    """Bracket the distance of two graphs: unit costs, edge labels ignored.

    Args:
        source: The graph G that edits start from.
        target: The graph H they lead to.
        effort: A name from `EFFORTS` or an `Effort`; with a time limit, the first round's.
        seed: Seed of the annealing.
        seconds: Repeat with more effort each round until the distance is known or the next round would take too long. The
            answer then depends on the machine.
    """
    if seconds is not None and not seconds > 0:
        raise InputError(f"seconds must be positive (got {seconds})")
    pair = [(source, target)]
    start = time.perf_counter()
    result = ged_intervals(pair, effort=effort, seed=seed)[0]
    spent, budget = time.perf_counter() - start, effort_by_name(effort)
    while seconds is not None and not result.is_exact and time.perf_counter() - start + _GROWTH * spent < seconds:
        begun = time.perf_counter()
        budget, seed = budget.times(_GROWTH), seed + 1
        again = ged_intervals(pair, effort=budget, seed=seed)[0]
        best = min(result, again, key=lambda interval: interval.upper)
        result = GEDInterval(lower=max(result.lower, again.lower), upper=best.upper, mapping=best.mapping)
        spent = time.perf_counter() - begun
    return result


def ged_intervals(
    pairs: Iterable[Pair],
    *,
    effort: str | Effort = "normal",
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], object] | None = None,
) -> list[GEDInterval]:
    """Bracket the distance of many pairs; each gets what `ged_interval` alone would give it, whatever `jobs` is.

    Args:
        pairs: Pairs (G, H); a graph may appear in many.
        effort: A name from `EFFORTS` or an `Effort`.
        seed: Seed of the annealing.
        jobs: Threads to use, -1 for one per processor.
        progress: Called with the number of pairs finished since the last call.
    """
    checked = [_check_pair(index, pair) for index, pair in enumerate(pairs)]
    budget = effort_by_name(effort)
    threads = _num_threads(jobs)
    swapped = [_order(source) > _order(target) for source, target in checked]
    ordered = [(pair[1], pair[0]) if swap else pair for pair, swap in zip(checked, swapped, strict=True)]
    lower, upper, images = _bracket(ordered, budget, _check_seed(seed), threads, progress)
    return [
        GEDInterval(lower=int(low), upper=int(high), mapping=_mapping(image, source if swap else None))
        for (source, _), swap, low, high, image in zip(checked, swapped, lower, upper, images, strict=True)
    ]


def effort_by_name(effort: str | Effort) -> Effort:
    """The effort of that name; an `Effort` is returned as it is."""
    if isinstance(effort, Effort):
        return effort
    if effort not in EFFORTS:
        raise InputError(f"effort must be an Effort or one of {', '.join(EFFORTS)} (got {effort!r})")
    return EFFORTS[effort]


def _bracket(
    pairs: Sequence[Pair], effort: Effort, seed: int, threads: int, progress: Callable[[int], object] | None
) -> tuple[LongArray, LongArray, list[LongArray]]:
    """Bounds and mappings of pairs whose first graph is the smaller one."""
    distinct = {id(graph): graph for pair in pairs for graph in pair}
    place = {key: index for index, key in enumerate(distinct)}
    batch = GraphBatch.from_graphs(distinct.values())
    indices = np.array([[place[id(graph)] for graph in pair] for pair in pairs], dtype=np.int64).reshape(-1, 2)
    map_ptr = pointers([pair[0].num_nodes for pair in pairs])
    maps = np.arange(map_ptr[-1]) - np.repeat(map_ptr[:-1], np.diff(map_ptr))  # start from equal positions
    lower, upper = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=np.int64)

    def run(start: int) -> int:
        part = slice(start, start + _CHUNK)
        edit_distance_kernels.solve_pairs(
            batch.labels, batch.edges, batch.node_ptr, batch.edge_ptr, indices[part],
            maps, map_ptr[start : start + _CHUNK + 1], lower[part], upper[part],
            effort.sweeps, effort.ascents, effort.nodes, seed,
        )  # fmt: skip
        return len(indices[part])

    pool = ThreadPoolExecutor(threads)
    try:
        for future in as_completed([pool.submit(run, start) for start in range(0, len(pairs), _CHUNK)]):
            finished = future.result()
            if progress is not None:
                progress(finished)
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt must not wait for the pairs still queued
    return lower, upper, np.split(maps, map_ptr[1:-1]) if pairs else []


def _order(graph: Graph) -> tuple[int, int, bytes, bytes]:
    """Sort key that decides which graph of a pair is the smaller; by contents, so that (G, H) and (H, G) agree."""
    return graph.num_nodes, graph.num_edges, graph.labels.tobytes(), graph.edges.tobytes()


def _mapping(image: LongArray, larger: Graph | None) -> IntArray:
    """The mapping from the first graph, given where the smaller one's nodes go; `larger` if that is the first."""
    if larger is None:
        return image.astype(np.int32)
    inverse = np.full(larger.num_nodes, -1, dtype=np.int32)
    inverse[image] = np.arange(len(image))
    return inverse


def _check_pair(index: int, pair: object) -> Pair:
    match pair:
        case (Graph() as source, Graph() as target):
            return source, target
    raise InputError(f"Every pair must be two Graphs (got {type(pair).__name__} as pair {index})")


def _check_seed(seed: object) -> int:
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed must be an integer from 0 to 2^63-1 (got {seed!r})")
    return int(seed)


def _num_threads(jobs: int) -> int:
    if jobs == -1:
        return os.cpu_count() or 1
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, or -1 for all processors (got {jobs})")
    return jobs


# Edit paths: the edits behind a node mapping, one at a time.


def edit_path(
    source: Graph, target: Graph, mapping: npt.ArrayLike, *, rng: np.random.Generator | None = None
) -> EditPath:
    """Edits, in node ids of `source`, that turn it into a graph isomorphic to `target` by the given mapping.

    A new node comes with an edge, and a leaf goes with its edge, wherever possible (each costs 2). Without `rng`
    everything is added before anything is removed, so that a path between connected graphs keeps to connected ones;
    with it, edits come in random order. No graph on the way is empty.

    Args:
        source: The graph to start from.
        target: The graph to reach.
        mapping: Position in `target` of each node of `source`, -1 for a deleted one, `[n]`.
        rng: Shuffles the edits.
    """
    plan = _Plan(source, target, _check_mapping(source, target, mapping))
    path = []
    while steps := plan.steps():
        path.append(plan.take(min(steps) if rng is None else steps[int(rng.integers(len(steps)))]))
    return tuple(path)


class _Step(NamedTuple):
    """An edit that is possible now; nodes are named as in `_Plan`. Sorts additions first."""

    rank: int
    kind: EditKind
    first: int
    second: int


class _Plan:
    """The remaining edits on the way to the target.

    Nodes of the source are named by their id, new ones by -2 - (position in the target).
    """

    def __init__(self, source: Graph, target: Graph, mapping: list[int]) -> None:
        ids = source.ids.tolist()
        name_of = {k: ids[i] for i, k in enumerate(mapping) if k != -1}
        name_of |= {k: -2 - k for k in range(target.num_nodes) if k not in name_of}
        self.labels = dict(zip(ids, source.labels.tolist(), strict=True))
        self.edges = {ordered_edge(ids[i], ids[j]) for i, j in source.edges.tolist()}
        self.goal_labels = {name_of[k]: label for k, label in enumerate(target.labels.tolist())}
        self.goal_edges = {ordered_edge(name_of[i], name_of[j]) for i, j in target.edges.tolist()}
        self.ids = {node: node for node in ids}
        self.next_id = source.next_id

    def steps(self) -> list[_Step]:
        """The edits possible now, in a fixed order; none when the target is reached."""
        steps = []
        for i, j in sorted(self.goal_edges - self.edges):
            if i in self.labels and j in self.labels:
                steps.append(_Step(1, EditKind.ADD_EDGE, i, j))
            elif i in self.labels or j in self.labels:
                node, anchor = (j, i) if i in self.labels else (i, j)
                steps.append(_Step(0, EditKind.ADD_NODE, node, anchor))
        for node, label in self.goal_labels.items():
            if self.labels.get(node, label) != label:
                steps.append(_Step(2, EditKind.RELABEL, node, label))
        steps += self._removals()
        fresh = [node for node in self.goal_labels if node not in self.labels]
        if not steps and fresh:
            steps.append(_Step(0, EditKind.ADD_NODE, fresh[0], -1))
        return steps

    def take(self, step: _Step) -> Edit:
        """Do one step; returns it as an edit in ids."""
        _, kind, first, second = step
        match kind:
            case EditKind.RELABEL:
                self.labels[first] = second
                return Edit(kind, self.ids[first], second)
            case EditKind.ADD_NODE:
                return self._add_node(first, second)
            case EditKind.REMOVE_NODE:
                del self.labels[first]
                self.edges = {edge for edge in self.edges if first not in edge}
                return Edit(kind, self.ids[first])
            case EditKind.ADD_EDGE:
                self.edges.add((first, second))
            case EditKind.REMOVE_EDGE:
                self.edges.remove((first, second))
        return Edit(kind, self.ids[first], self.ids[second])

    def _removals(self) -> list[_Step]:
        doomed = [node for node in self.labels if node not in self.goal_labels]
        degree = dict.fromkeys(doomed, 0)
        for edge in self.edges:
            for node in edge:
                if node in degree:
                    degree[node] += 1
        steps = []
        if len(self.labels) > 1:
            steps += [_Step(3, EditKind.REMOVE_NODE, node, -1) for node in doomed if degree[node] <= 1]
        for i, j in sorted(self.edges - self.goal_edges):
            if degree.get(i) != 1 and degree.get(j) != 1:  # else the edge goes with its leaf
                steps.append(_Step(4, EditKind.REMOVE_EDGE, i, j))
        return steps

    def _add_node(self, node: int, anchor: int) -> Edit:
        self.labels[node] = self.goal_labels[node]
        self.ids[node] = self.next_id
        self.next_id += 1
        tied = anchor in self.labels
        if tied:
            self.edges.add(ordered_edge(node, anchor))
        return Edit(EditKind.ADD_NODE, self.ids[anchor] if tied else -1, self.labels[node])


def _check_mapping(source: Graph, target: Graph, mapping: npt.ArrayLike) -> list[int]:
    places = np.asarray(mapping)
    if places.shape != (source.num_nodes,) or not np.issubdtype(places.dtype, np.integer):
        raise InputError(f"mapping needs one position per node of the source (got shape {places.shape})")
    if places.min() < -1 or places.max() >= target.num_nodes:
        raise InputError(f"mapping must lie in -1…{target.num_nodes - 1} (got {places.min()}…{places.max()})")
    kept = places[places != -1]
    if len(np.unique(kept)) != len(kept):
        raise InputError("mapping must not send two nodes to the same place")
    return [int(place) for place in places]
