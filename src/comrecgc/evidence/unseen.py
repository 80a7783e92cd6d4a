"""Unseen graphs: recourses chosen on four fifths of the rejects and measured on the rest, by chance and by scaffold.

Molecules of one scaffold are much alike, so a split by chance leaves near copies on both sides. A split by scaffold keeps all molecules of a
scaffold on one side: what holds there holds for chemistry not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules.choice import NUM_SPLITS, held_out, held_out_success
from comrecgc.evidence.subject import Subject
from comrecgc.graphs import Graph, graph_key


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """How a choice of rules fares on graphs it was not chosen on; means over five splits.

    Args:
        split: "random" or "scaffold".
        coverage: Share of unseen inputs that rules chosen on the others turn.
        seen_coverage: Share of the inputs they were chosen on.
        success: For each rule of the explanation, the share of unseen inputs it can be carried out on that it turns; None where there are none.
        seen_success: The same on the inputs seen.
    """

    split: str
    coverage: float
    seen_coverage: float
    success: tuple[float | None, ...]
    seen_success: tuple[float | None, ...]


def unseen(subject: Subject) -> list[Unseen]:
    """Figures for a split by chance and, for molecules, by scaffold; none for vectors and for fewer than ten inputs."""
    if subject.mined is None or subject.rows is None:
        return []
    graphs = subject.mined.rejects.graphs
    rng = np.random.default_rng([subject.seed, 22])
    folds = np.arange(len(graphs)) % NUM_SPLITS
    rng.shuffle(folds)
    splits = {"random": folds}
    if subject.dataset.is_molecular:
        splits["scaffold"] = scaffold_folds(graphs)
    found = []
    for name, fold in splits.items():
        whole = held_out(subject.mined.table, subject.settings.num_recourses, subject.wishes, fold)
        if whole is None:
            continue
        each = held_out_success(subject.mined.table, subject.rows.tolist(), fold)
        found.append(
            Unseen(
                split=name,
                coverage=whole.coverage,
                seen_coverage=whole.seen_coverage,
                success=tuple(None if np.isnan(held) else held for _, held in each),
                seen_success=tuple(None if np.isnan(seen) else seen for seen, _ in each),
            )
        )
    return found


def scaffold_folds(graphs: Sequence[Graph]) -> npt.NDArray[np.int64]:
    """A fold for each graph, graphs of one scaffold in one fold; large scaffolds are dealt out first, each to the smallest fold, `[n]`."""
    members: dict[int, list[int]] = {}
    for place, graph in enumerate(graphs):
        members.setdefault(scaffold_key(graph), []).append(place)
    folds = np.zeros(len(graphs), np.int64)
    sizes = [0] * NUM_SPLITS
    for places in sorted(members.values(), key=lambda places: (-len(places), places[0])):
        fold = sizes.index(min(sizes))
        folds[places] = fold
        sizes[fold] += len(places)
    return folds


def scaffold_key(graph: Graph) -> int:
    """Key of the scaffold (Bemis and Murcko 1996): rings and what links them, left when ends of chains are cut again and again."""
    around: list[set[int]] = [set() for _ in range(graph.num_nodes)]
    for i, j in graph.edges.tolist():
        around[i].add(j)
        around[j].add(i)
    ends = [node for node, others in enumerate(around) if len(others) <= 1]
    gone: set[int] = set()
    while ends:
        node = ends.pop()
        gone.add(node)
        for other in around[node]:
            around[other].discard(node)
            if len(around[other]) == 1:
                ends.append(other)
        around[node] = set()
    kept = [node for node in range(graph.num_nodes) if node not in gone]
    if not kept:
        return 0
    rank = {node: k for k, node in enumerate(kept)}
    edges = [(rank[i], rank[j]) for i, j in graph.edges.tolist() if i in rank and j in rank]
    return graph_key(Graph(graph.labels[kept], np.array(edges, np.int32).reshape(-1, 2)))
