"""Measures of recourses beyond coverage: success on unseen graphs, plausibility of the results, and the names that reviewers know."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules.choice import NUM_SPLITS, held_out, held_out_success
from comrecgc.errors import InputError
from comrecgc.evidence.other_models import accepts
from comrecgc.evidence.subject import Subject
from comrecgc.evidence.verdict import Figures, RecourseEvidence
from comrecgc.explanation import CoveredInput, Explanation
from comrecgc.graphs import Familiarity, Graph, GraphBatch, Rung, apply_path, graph_key

if TYPE_CHECKING:
    from scipy.sparse import csr_array


MOST_COUNTERFACTUALS = 400
"""Counterfactuals that are looked at, of all recourses together; at least five of each."""

_TYPICAL = 0.9  # of real accepted graphs lie as near to another


def plausibility(subject: Subject) -> tuple[list[dict[str, float | int | None]], dict[str, float | int | None]]:
    """Figures of each recourse, and of them all.

    `share_connected`, `share_plausible`: counterfactuals on that rung or above. `share_valid`: valid molecules. `nearest`: median distance to the
    nearest real accepted graph, one less the share of nodes that find a partner of the same surroundings there. `share_typical`: counterfactuals no farther from
    one than nine in ten of the real ones are. `share_minimal`: counterfactuals from which no single edit can be left out.
    """
    explanation = subject.explanation
    shown = [_sampled(subject, place) for place in range(len(explanation.recourses))]
    flat = [member for members in shown for member in members]
    if not flat:
        return [{} for _ in shown], {}
    before = [explanation.inputs[member.input].graph for member in flat]
    after = [member.counterfactual for member in flat]
    rungs = subject.plausibility.judge(before, after, np.zeros(len(flat), bool)).rungs
    near, usual = _nearest(subject, after)
    spare = minimal(subject, flat, before)
    columns = {
        "share_connected": rungs >= Rung.CONNECTED,
        "share_plausible": rungs >= Rung.PLAUSIBLE,
        "share_typical": near <= np.quantile(usual, _TYPICAL) if len(usual) else np.zeros(len(near), bool),
        "share_minimal": spare,
    }
    ends = np.cumsum([len(members) for members in shown])
    figures = []
    for recourse, start, end in zip(explanation.recourses, ends - [len(it) for it in shown], ends, strict=True):
        part = slice(int(start), int(end))
        figures.append(
            {
                **{name: _mean(values[part]) for name, values in columns.items()},
                "share_valid": recourse.share_valid,
                "nearest": float(np.median(near[part])) if end > start else None,
            }
        )
    whole: dict[str, float | int | None] = {name: _mean(values) for name, values in columns.items()}
    whole |= {
        "nearest": float(np.median(near)),
        "nearest_of_real_graphs": float(np.median(usual)) if len(usual) else None,
        "diversity": diversity(explanation),
    }
    return figures, whole


def diversity(explanation: Explanation) -> float | None:
    """Mean over pairs of recourses of one less the share of inputs that both cover, of those that either does."""
    sets = [{member.input for member in it.covered} | set(it.also_covers) for it in explanation.recourses]
    unlike = [1 - len(a & b) / len(a | b) for a, b in itertools.combinations(sets, 2) if a | b]
    return float(np.mean(unlike)) if unlike else None


def _sampled(subject: Subject, place: int) -> list[CoveredInput]:
    covered = subject.explanation.recourses[place].covered
    rng = np.random.default_rng([subject.seed, 25, place])
    most = max(5, MOST_COUNTERFACTUALS // len(subject.explanation.recourses))
    return [covered[k] for k in np.sort(rng.permutation(len(covered))[:most]).tolist()]


def _nearest(subject: Subject, graphs: Sequence[Graph]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Distance of graphs to the nearest real accepted graph, and of real accepted graphs to the nearest other."""
    real = [graph for graph, label in zip(subject.dataset.graphs, subject.dataset.classes, strict=True) if label == 1]
    if len(real) < 2:
        return np.ones(len(graphs)), np.zeros(0)
    batch = GraphBatch.from_graphs([*real, *graphs])
    shapes = _shapes(batch, subject.plausibility.ladder.familiarity)
    sizes = batch.node_counts()
    found = []
    for rows, own in ((np.arange(len(real), len(batch)), False), (np.arange(len(real)), True)):
        least = np.ones(len(rows))
        for start in range(0, len(rows), 500):
            part = rows[start : start + 500]
            shared = (shapes[part] @ shapes[: len(real)].T).toarray()
            gaps = 1 - 2 * shared / (sizes[part][:, None] + sizes[None, : len(real)])
            if own:
                gaps[np.arange(len(part)), part] = 2.0
            least[start : start + 500] = gaps.min(axis=1)
        found.append(least)
    return found[0], found[1]


def _shapes(batch: GraphBatch, familiarity: Familiarity) -> csr_array:
    """The surroundings of each graph's nodes, the k-th of a kind being a column of its own; products count what two graphs share."""
    from scipy.sparse import csr_array

    owners, hashes = batch.graph_of_node(), familiarity.hashes(batch)
    order = np.lexsort((hashes, owners))
    owner, name = owners[order], hashes[order]
    starts = np.r_[True, (owner[1:] != owner[:-1]) | (name[1:] != name[:-1])]
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    rank = np.arange(len(order)) - first
    _, column = np.unique(np.stack([name, rank.astype(np.uint64)], axis=1), axis=0, return_inverse=True)
    column = column.ravel()
    return csr_array((np.ones(len(order)), (owner, column)), shape=(len(batch), int(column.max()) + 1))


def minimal(subject: Subject, members: Sequence[CoveredInput], before: Sequence[Graph]) -> npt.NDArray[np.bool_]:
    """Counterfactuals from which no single edit can be left out: what is left is rejected, off the rung, or cannot be done."""
    owners, made = list[int](), list[Graph]()
    for place, (member, graph) in enumerate(zip(members, before, strict=True)):
        path = member.edits
        for k in range(len(path)) if len(path) > 1 else ():
            try:
                made.append(apply_path(graph, (*path[:k], *path[k + 1 :])))
            except InputError:
                continue
            owners.append(place)
    needed = np.ones(len(members), bool)
    if made:
        accepted = subject.classifier.accept_probability(GraphBatch.from_graphs(made)) > 0.5
        kept = np.flatnonzero(accepted).tolist()
        rungs = subject.plausibility.judge(
            [before[owners[k]] for k in kept], [made[k] for k in kept], np.zeros(len(kept), bool)
        ).rungs
        least = min(Rung.parse(subject.explanation.changes), Rung.PLAUSIBLE)
        for k, rung in zip(kept, rungs.tolist(), strict=True):
            if rung >= least:
                needed[owners[k]] = False
    return needed


def _mean(values: npt.NDArray[np.bool_]) -> float | None:
    return float(values.mean()) if len(values) else None


# Our figures under the names that papers on counterfactual and graph explanations use; `docs/trust.md` says whose names they are.


def reviewers_figures(
    subject: Subject, figures: Figures, plausible: Figures, recourses: Sequence[RecourseEvidence]
) -> Mapping[str, float | int | None]:
    """Figures of the whole, of how much counterfactuals look like the data, and of each recourse by those names; means over the counterfactuals shown."""
    explanation = subject.explanation
    members = [member for recourse in explanation.recourses for member in recourse.covered]
    if not members:
        return {}
    sizes = np.array([explanation.inputs[member.input].graph.size for member in members])
    edits = np.array([member.num_edits for member in members])
    is_indexed = all(index < len(subject.dataset) for index in explanation.inputs)
    labels = subject.dataset.classes[[member.input for member in members]] if is_indexed else None
    accepted = accepts(subject.classifier, [member.counterfactual for member in members])
    shares = [
        answer.share_turned for it in recourses for answer in it.answers if not answer.chosen_with and answer.share_turned is not None
    ]  # fmt: skip
    successes = [it.success for it in recourses if it.success is not None]
    return {
        "validity": float(accepted.mean()),
        "coverage": explanation.coverage,
        "proximity": float(np.mean([member.distance for member in members])),
        "edit_distance": float(edits.mean()),
        "sparsity": float(np.mean(1 - np.minimum(edits / sizes, 1.0))),
        "plausibility": plausible.get("share_plausible"),
        "typicality": plausible.get("share_typical"),
        "robustness": float(np.mean(shares)) if shares else None,
        "stability": figures.get("held_out_coverage_random"),
        "sufficiency": float(np.mean(successes)) if successes else None,
        "necessity": plausible.get("share_minimal"),
        "fidelity": None if labels is None else float(np.mean(np.where(labels == 0, 1.0, -1.0))),
        "diversity": plausible.get("diversity"),
        "runtime_seconds": sum(explanation.facts.seconds.values()) or None,
        "oracle_calls": explanation.metrics.get("oracle_calls"),
    }


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """Coverage and success of rules on graphs they were not chosen on, "random" ones or whole scaffolds, and on those they were; means over five splits.

    `success` has the share of each rule of the explanation, None where it can be carried out nowhere.
    """

    split: str
    coverage: float
    seen_coverage: float
    success: tuple[float | None, ...]
    seen_success: tuple[float | None, ...]


def unseen(subject: Subject) -> list[Unseen]:
    """Coverage and success on unseen graphs, for a random split and, for molecules, a split by scaffold.

    Molecules of one scaffold are alike, so a random split leaves near copies on both sides; a split by scaffold keeps them on one. Nothing for vectors and for
    fewer than ten inputs.
    """
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
        whole = held_out(subject.mined.table, subject.task.num_recourses, subject.wishes, fold)
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
